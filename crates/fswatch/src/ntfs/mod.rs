//! NTFS: its bitmap of clusters, and what its log says about it.
//!
//! Windows logs a change before it writes it. A zero in the bitmap on the medium may belong to a
//! deletion that a crash undoes. A recovery repeats the log's changes one after another, so it may
//! write zeros that are older than the data of a cluster's new file. Nothing in the bitmap shows
//! which. But the restart pages of the log name the oldest record that a recovery needs, and a host
//! may move it only when all older changes are in their places and their transactions have ended.
//!
//! So a zero is only a suspicion at first. It is believed when three rounds of the [`log`] ended
//! since it was written and since the cluster was written. The first round may have begun before.
//! The second ends when the transaction that cleared the bit has ended. If that undid the change,
//! the bit is set in the host's memory by then, and on the medium when the third round ends.
//! Two restart pages in succession that call the volume clean are as good: the second was made when
//! the first was on the medium, and all that was done then was in its place. In addition the sector
//! of the bitmap must have been written twice since the data, as on exFAT.
//!
//! This takes for granted that a host writes one restart page at a time, and finishes one checkpoint
//! before it begins the next. What Windows does is known from descriptions of its log only; no volume
//! was watched under Windows. If it moves its oldest record later than thought, or never, frees are
//! found later, or never.
//!
//! Linux' drivers keep no log: `ntfs-3g` fills it with ones before it changes a volume, and `ntfs3`
//! when it has replayed it. Then the rule is exFAT's, and what it does not cover is the same: power may fail between the
//! bitmap and the record of the file that the host deletes, which then reads as zeros.
//!
//! Shadow copies of Windows need the content that clusters had before they were freed. A volume that
//! has ever had any is not watched, nor one whose bitmap is sparse, or is listed in several records.
//! A bitmap of several runs is watched: Windows makes one when it extends a volume.

mod layout;
mod log;
mod record;

use alloc::{vec, vec::Vec};
use core::ops::Range;

use thermocline_ftl::{FtlError, Layer};

use crate::{
    clusters::Clusters,
    config::Guards,
    sectors::{Sectors, are_set, is_set, overlap},
    verdict::{Found, Verdict},
};
pub(crate) use layout::Boot;
use layout::Layout;
use log::{Log, Page, Progress};

/// Rounds that a suspicion must outlive, and how many if the volume is clean.
const ROUNDS: u8 = 3;
const ROUNDS_IF_CLEAN: u8 = 2;

/// A watched volume.
pub(crate) struct Ntfs {
    partition: Range<u64>,
    layout: Layout,
    /// The sectors outside the bitmap that decide about the volume.
    decisive: Vec<Range<u64>>,
    /// `None` if the driver keeps no log.
    log: Option<Log>,
    /// Sectors of the bitmap with zeros that wait for the log, by their numbers.
    waiting: Vec<u32>,
    clusters: Clusters,
}

impl Ntfs {
    /// Looks for a volume at the start of a partition.
    pub fn recognise<L: Layer + ?Sized>(
        partition: &Range<u64>,
        sectors: &mut Sectors<'_, L>,
    ) -> Found<Self> {
        let size = sectors.shape.sector_size;
        let boot =
            sectors.read(partition.start).and_then(|sector| Boot::read(sector, partition, size));
        let Some(boot) = boot else { return Found::Nothing };
        let mut decisive = boot.decisive(partition);
        let Some(layout) = Layout::read(boot, partition, false, sectors) else {
            return Found::Incomplete(decisive);
        };
        decisive.extend(layout.restarts.map(|sector| sector..sector + 1));
        let pages = layout.restarts.map(|sector| sectors.read(sector).map(Page::read));
        let log = match pages {
            [Some(Page::Empty), Some(Page::Empty)] => Some(None),
            [Some(first), Some(second)] => Log::new([first, second]).map(Some),
            _ => None,
        };
        let clusters =
            Clusters::new(layout.boot.begin(), layout.boot.cluster_shift, layout.boot.clusters);
        let partition = partition.clone();
        let mut volume = Self { partition, layout, decisive, log: None, waiting: vec![], clusters };
        match log {
            Some(log) if volume.has_own_clusters(sectors) => {
                volume.log = log;
                Found::Complete(volume)
            }
            _ => Found::Incomplete(volume.decisive()),
        }
    }

    /// The sectors of the bitmap with the volume's own clusters.
    fn own_sectors(&self, sector_size: usize) -> Vec<u64> {
        let bits = sector_size as u32 * 8;
        let own = &self.layout.own;
        let mut indices: Vec<u32> =
            own.iter().flat_map(|range| range.start / bits..range.end.div_ceil(bits)).collect();
        indices.dedup();
        indices.into_iter().filter_map(|index| self.layout.sector(index)).collect()
    }

    /// Whether the bitmap says that the volume's own clusters are in use.
    fn has_own_clusters<L: Layer + ?Sized>(&mut self, sectors: &mut Sectors<'_, L>) -> bool {
        let own = self.own_sectors(sectors.shape.sector_size);
        self.decisive.extend(own.iter().map(|sector| *sector..*sector + 1));
        own.into_iter().all(|sector| {
            let index = self.layout.index(sector);
            let bits = sectors.read(sector);
            index.zip(bits).is_some_and(|(index, bits)| self.is_own_set(index, bits))
        })
    }

    fn is_own_set(&self, index: u32, bits: &[u8]) -> bool {
        are_set(bits, &self.clusters_of(index, bits.len()), &self.layout.own)
    }

    /// The sectors that may make it a volume again after it is released.
    pub fn decisive(&self) -> Vec<Range<u64>> {
        self.decisive.clone()
    }

    pub const fn clusters(&mut self) -> &mut Clusters {
        &mut self.clusters
    }

    pub fn memory(&self) -> usize {
        self.clusters.memory()
            + self.decisive.capacity() * size_of::<Range<u64>>()
            + self.layout.bitmap.capacity() * size_of::<layout::Piece>()
            + self.layout.own.capacity() * size_of::<Range<u32>>()
            + self.waiting.capacity() * size_of::<u32>()
    }

    /// Whether any of `sectors` holds what decides about the volume.
    #[inline]
    pub fn is_metadata(&self, sectors: &Range<u64>) -> bool {
        let bitmap = &self.layout.bitmap;
        let behind = bitmap.partition_point(|piece| piece.sectors.end <= sectors.start);
        bitmap.get(behind).is_some_and(|piece| piece.sectors.start < sectors.end)
            || self.decisive.iter().any(|range| overlap(range, sectors))
    }

    /// A sector of the volume was written. Applies its allocations at once, and informs the guard.
    pub fn written<L: Layer + ?Sized>(
        &mut self,
        sector: u64,
        new: &[u8],
        sectors: &mut Sectors<'_, L>,
    ) -> Result<Verdict, FtlError> {
        if let Some(index) = self.layout.index(sector) {
            if !self.is_own_set(index, new) {
                return Ok(Verdict::Implausible);
            }
            let clusters = self.clusters_of(index, new.len());
            self.clusters.bitmap_written(clusters, new, sectors)?;
            return Ok(Verdict::Keep);
        }
        let is_same = if self.layout.restarts.contains(&sector) {
            let page = Page::read(new);
            self.log.map_or(page == Page::Empty, |log| log.goes_on_with(&page))
        } else {
            let first = sectors.read(self.partition.start);
            let boot = first.and_then(|first| Boot::read(first, &self.partition, new.len()));
            boot.and_then(|boot| Layout::read(boot, &self.partition, true, sectors)).as_ref()
                == Some(&self.layout)
        };
        Ok(if is_same { Verdict::Keep } else { Verdict::LookAgain })
    }

    /// Applies the frees in the same sector, after the whole page was checked: zeros that were ones.
    pub fn freed<L: Layer + ?Sized>(
        &mut self,
        sector: u64,
        old: &[u8],
        new: &[u8],
        guards: Guards,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        let Some(index) = self.layout.index(sector) else {
            let is_restart = self.layout.restarts.contains(&sector);
            return match self.log.as_mut().filter(|_| is_restart) {
                Some(log) => {
                    let progress = log.written(Page::read(new));
                    self.settle(progress, guards, sectors)
                }
                None => Ok(()),
            };
        };
        // As the thesis believes every zero.
        let waits = self.log.is_some() && guards.mirror;
        let mut is_waiting = false;
        let clusters = self.clusters_of(index, new.len());
        for cluster in clusters.clone() {
            let bit = cluster - clusters.start;
            let is_suspect = self.clusters.is_suspect(cluster);
            if is_set(new, bit) || !is_suspect && !is_set(old, bit) {
                continue;
            }
            is_waiting |= waits;
            match waits {
                true if is_set(old, bit) => self.clusters.suspected(cluster),
                // Its rounds go on.
                true => {}
                false => self.clusters.freed(cluster, guards.twice, sectors)?,
            }
        }
        if is_waiting && !self.waiting.contains(&index) {
            self.waiting.push(index);
        }
        Ok(())
    }

    /// A restart page was written: believes what has waited long enough.
    fn settle<L: Layer + ?Sized>(
        &mut self,
        progress: Progress,
        guards: Guards,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        let rounds = match progress {
            Progress::Nothing => return Ok(()),
            Progress::Round => ROUNDS,
            Progress::Clean => ROUNDS_IF_CLEAN,
        };
        let size = sectors.shape.sector_size;
        for index in core::mem::take(&mut self.waiting) {
            let mut is_waiting = false;
            for cluster in self.clusters_of(index, size) {
                if !self.clusters.is_suspect(cluster) {
                    continue;
                }
                if self.clusters.outlives(cluster, rounds) {
                    self.clusters.freed(cluster, guards.twice, sectors)?;
                } else {
                    is_waiting = true;
                }
            }
            // What waits only for the bitmap's second write is told by that.
            if is_waiting {
                self.waiting.push(index);
            }
        }
        Ok(())
    }

    /// The clusters of a sector of the bitmap.
    fn clusters_of(&self, index: u32, sector_size: usize) -> Range<u32> {
        let bits = sector_size as u64 * 8;
        let (first, count) = (u64::from(index) * bits, u64::from(self.layout.boot.clusters));
        first.min(count) as u32..(first + bits).min(count) as u32
    }
}
