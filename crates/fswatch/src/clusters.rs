//! State of each cluster: whether it is dead, and whether the table can be trusted about it.
//!
//! The guard asks whether the table's sector was written twice since the cluster's data. Sequence
//! numbers would need 4 bytes a page and 16 a sector of the table for that. A count up to two,
//! reset by a write of the data, is sufficient and needs two bits for each copy of the table. With
//! the marks this is a byte a cluster.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use thermocline_ftl::{FtlError, Layer};

use crate::sectors::{Sectors, Shape, is_set, overlap};

/// Number of writes of the table's sector since the data, at most two; for the first copy, and for
/// the second.
const WRITES: [u8; 2] = [0b0011, 0b1100];
const ONE: [u8; 2] = [0b0001, 0b0100];
const TWO: [u8; 2] = [0b0010, 0b1000];
/// The table says that the cluster is free, but the entry may be older than the data.
const SUSPECT: u8 = 1 << 4;
/// Free. Its pages are marked, except those shared with a cluster in use.
const DEAD: u8 = 1 << 5;
/// For how many rounds of a log the cluster has been suspect without being written, at most three.
const ROUNDS: u8 = 0b1100_0000;
const ROUND: u8 = 0b0100_0000;

/// The clusters of a volume, numbered from 0: the file system's number minus 2.
pub(crate) struct Clusters {
    /// The sectors of the clusters.
    heap: Range<u64>,
    /// Sectors of a cluster, as a power of two.
    shift: u32,
    state: Vec<u8>,
}

impl Clusters {
    pub fn new(heap: u64, shift: u32, count: u32) -> Self {
        let end = heap + (u64::from(count) << shift);
        Self { heap: heap..end, shift, state: vec![0; count as usize] }
    }

    pub const fn heap(&self) -> &Range<u64> {
        &self.heap
    }

    pub fn count(&self) -> u32 {
        self.state.len() as u32
    }

    pub fn memory(&self) -> usize {
        self.state.capacity()
    }

    /// The host wrote a page. Until the table is written again, it does not cover these data.
    #[inline]
    pub fn data_written(&mut self, page: &Range<u64>) {
        let Some((first, last)) = self.clusters_in(page) else { return };
        if first == last {
            // The write itself revives the page. The rest of its cluster keeps its state.
            self.state[first] &= !(WRITES[0] | WRITES[1] | ROUNDS);
            return;
        }
        for state in &mut self.state[first..=last] {
            // Of several clusters in a page the host may have changed only one. The others were
            // written along without being allocated, and become dead again when the table says so.
            let suspect = if *state & DEAD == 0 { *state & SUSPECT } else { SUSPECT };
            *state = suspect;
        }
    }

    /// The first and the last cluster with a sector in `page`.
    fn clusters_in(&self, page: &Range<u64>) -> Option<(usize, usize)> {
        if !overlap(page, &self.heap) {
            return None;
        }
        let first = page.start.saturating_sub(self.heap.start) >> self.shift;
        let last = (page.end.min(self.heap.end) - 1 - self.heap.start) >> self.shift;
        Some((first as usize, last as usize))
    }

    /// The table's sector for these clusters was written, in the first or the second copy.
    pub fn table_written(&mut self, clusters: Range<u32>, copy: usize) {
        let range = clusters.start as usize..(clusters.end as usize).min(self.state.len());
        for state in self.state.get_mut(range).unwrap_or_default() {
            if *state & TWO[copy] == 0 {
                *state += ONE[copy];
            }
        }
    }

    /// A sector with the bits of these clusters was written. Ones are clusters in use.
    pub fn bitmap_written<L: Layer + ?Sized>(
        &mut self,
        clusters: Range<u32>,
        bits: &[u8],
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        self.table_written(clusters.clone(), 0);
        for cluster in clusters.clone() {
            if is_set(bits, cluster - clusters.start) {
                self.allocated(cluster, sectors)?;
            }
        }
        Ok(())
    }

    /// The table says that a cluster is free, and is not believed yet.
    pub fn suspected(&mut self, cluster: u32) {
        let state = &mut self.state[cluster as usize];
        *state = *state & !ROUNDS | SUSPECT;
    }

    /// A round of the log is over. Whether the suspicion has lasted for at least `rounds`, of three.
    pub fn outlives(&mut self, cluster: u32, rounds: u8) -> bool {
        let state = &mut self.state[cluster as usize];
        *state = state.checked_add(ROUND).unwrap_or(*state);
        *state / ROUND >= rounds
    }

    /// Whether a cluster was freed at an unknown time.
    pub fn is_suspect(&self, cluster: u32) -> bool {
        self.state[cluster as usize] & SUSPECT != 0
    }

    /// The table says that a cluster is free. With `twice` this counts only if the table was
    /// written twice since the data.
    pub fn freed<L: Layer + ?Sized>(
        &mut self,
        cluster: u32,
        twice: bool,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        let state = &mut self.state[cluster as usize];
        if twice && *state & (TWO[0] | TWO[1]) == 0 {
            *state |= SUSPECT;
            return Ok(());
        }
        *state = *state & !SUSPECT | DEAD;
        for page in sectors.shape.pages(&self.sectors_of(cluster)) {
            if self.is_all_dead(page, &sectors.shape) {
                sectors.mark(page)?;
            }
        }
        Ok(())
    }

    /// The table says that a cluster is in use.
    pub fn allocated<L: Layer + ?Sized>(
        &mut self,
        cluster: u32,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        let state = &mut self.state[cluster as usize];
        // A suspect cluster may have been dead before, with pages that are still marked.
        if *state & (SUSPECT | DEAD) != 0 {
            *state &= !(SUSPECT | DEAD);
            for page in sectors.shape.pages(&self.sectors_of(cluster)) {
                sectors.revive(page)?;
            }
        }
        Ok(())
    }

    /// Revives whatever can be revived, because the table is no longer trusted.
    pub fn revive_all<L: Layer + ?Sized>(
        &mut self,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        (0..self.count()).try_for_each(|cluster| self.allocated(cluster, sectors))
    }

    fn sectors_of(&self, cluster: u32) -> Range<u64> {
        let first = self.heap.start + (u64::from(cluster) << self.shift);
        first..first + (1 << self.shift)
    }

    /// Whether all sectors of a page belong to dead clusters.
    fn is_all_dead(&self, page: u32, shape: &Shape) -> bool {
        let page = shape.of(thermocline_flash::Lpn(page));
        page.start >= self.heap.start
            && page.end <= self.heap.end
            && self.clusters_in(&page).is_some_and(|(first, last)| {
                self.state[first..=last].iter().all(|state| state & DEAD != 0)
            })
    }
}
