//! ext2, ext3 and ext4: the block bitmaps of the groups.
//!
//! A block whose bit falls from one to zero is free. The guard is, as on exFAT, that its sector of the bitmap was written
//! twice since the data. Linux sets the bit in its copy of a bitmap before it writes data to a block, so a bitmap whose
//! write began after the data were written has the bit.
//!
//! With a journal that is not enough. A bitmap comes to its place after its transaction is committed, but a host that
//! recovers the journal writes the images of all its transactions there, one after another. Two of them may be older than
//! the data of the block's new owner, which only a later image mentions. So frees count when the journal's superblock
//! moves its tail: a recovery does so after the last image, and in daily use the kernel does so when the oldest
//! transactions are in their places.
//!
//! Group descriptors say where the bitmaps are. They change with every allocation, and only what they say of places is
//! compared. Volumes whose bitmaps mean something else are not watched: clusters of several blocks (`bigalloc`),
//! descriptors that are spread (`meta_bg`), and features that came later.

mod layout;

use alloc::{vec, vec::Vec};
use core::ops::Range;

use thermocline_ftl::{FtlError, Layer};

use crate::{
    clusters::Clusters,
    config::Guards,
    sectors::{Sectors, are_set, is_set, overlap},
    verdict::{Found, Verdict},
};
pub(crate) use layout::Layout;
use layout::{is_journal, tail};

/// A watched volume.
pub(crate) struct Ext {
    layout: Layout,
    /// The bitmaps in the order of their sectors, each with its group.
    bitmaps: Vec<(u64, u32)>,
    /// Groups whose frees wait for the journal.
    waiting: Vec<u32>,
    /// The blocks, counted from the first that bitmaps speak of.
    clusters: Clusters,
}

impl Ext {
    /// Looks for a volume at the start of a partition.
    pub fn recognise<L: Layer + ?Sized>(
        partition: &Range<u64>,
        sectors: &mut Sectors<'_, L>,
    ) -> Found<Self> {
        let Some(superblock) = Layout::read_superblock(partition, sectors) else {
            return Found::Nothing;
        };
        let (begin, size) = (partition.start, sectors.shape.sector_size);
        let decisive = Layout::decisive(begin, &superblock, size);
        let Some(layout) = Layout::read(begin, superblock, sectors) else {
            return Found::Incomplete(decisive);
        };
        let (first, count) = layout.blocks();
        let clusters = Clusters::new(layout.sector(first), layout.block_shift, count);
        let volume = Self { bitmaps: layout.bitmaps(), layout, waiting: vec![], clusters };
        if volume.layout.missing.is_empty() && volume.has_own_blocks(sectors) {
            Found::Complete(volume)
        } else {
            let mut decisive = volume.decisive();
            decisive.extend(volume.layout.missing);
            Found::Incomplete(decisive)
        }
    }

    /// Whether the first bitmap says that the volume's own blocks are in use.
    fn has_own_blocks<L: Layer + ?Sized>(&self, sectors: &mut Sectors<'_, L>) -> bool {
        let blocks = self.layout.blocks_of(0, 0);
        sectors.read(self.first_bitmap()).is_some_and(|bits| self.is_own_set(&blocks, bits))
    }

    /// The first sector of the first group's bitmap.
    fn first_bitmap(&self) -> u64 {
        self.bitmaps.iter().find(|(_, group)| *group == 0).map_or(0, |(start, _)| *start)
    }

    /// Whether the volume's own ones among `blocks` have their bits.
    fn is_own_set(&self, blocks: &Range<u32>, bits: &[u8]) -> bool {
        let (first, _) = self.layout.blocks();
        are_set(bits, &(blocks.start + first..blocks.end + first), &self.layout.own)
    }

    /// The sectors that may make it a volume again after it is released.
    pub fn decisive(&self) -> Vec<Range<u64>> {
        let head = Layout::head(self.layout.begin, self.sector_size());
        let bitmap = self.first_bitmap();
        let journal = self.layout.journal.map(|sector| sector..sector + 1);
        [head, self.layout.descriptors(), bitmap..bitmap + 1].into_iter().chain(journal).collect()
    }

    fn sector_size(&self) -> usize {
        self.layout.sector_size()
    }

    pub const fn clusters(&mut self) -> &mut Clusters {
        &mut self.clusters
    }

    pub fn memory(&self) -> usize {
        self.clusters.memory()
            + self.bitmaps.capacity() * size_of::<(u64, u32)>()
            + self.layout.own.capacity() * size_of::<Range<u32>>()
            + self.waiting.capacity() * size_of::<u32>()
    }

    /// Whether any of `sectors` holds what decides about the volume.
    #[inline]
    pub fn is_metadata(&self, sectors: &Range<u64>) -> bool {
        let length = 1 << self.layout.block_shift;
        let behind = self.bitmaps.partition_point(|(start, _)| start + length <= sectors.start);
        self.bitmaps.get(behind).is_some_and(|(start, _)| *start < sectors.end)
            || overlap(sectors, &Layout::head(self.layout.begin, self.sector_size()))
            || overlap(sectors, &self.layout.descriptors())
            || self.layout.journal.is_some_and(|sector| sectors.contains(&sector))
    }

    /// The blocks of a sector of a bitmap.
    fn blocks_in(&self, sector: u64) -> Option<Range<u32>> {
        let length = 1 << self.layout.block_shift;
        let behind = self.bitmaps.partition_point(|(start, _)| start + length <= sector);
        let (start, group) = *self.bitmaps.get(behind)?;
        (start <= sector).then(|| self.layout.blocks_of(group, sector - start))
    }

    /// A sector of the volume was written. Applies its allocations at once, and informs the guard.
    pub fn written<L: Layer + ?Sized>(
        &mut self,
        sector: u64,
        new: &[u8],
        sectors: &mut Sectors<'_, L>,
    ) -> Result<Verdict, FtlError> {
        if let Some(blocks) = self.blocks_in(sector) {
            if !self.is_own_set(&blocks, new) {
                return Ok(Verdict::Implausible);
            }
            self.clusters.bitmap_written(blocks, new, sectors)?;
            return Ok(Verdict::Keep);
        }
        let (home, _) = Layout::home(self.layout.begin, self.sector_size());
        let is_same = match sector {
            _ if sector == home => self.layout.is_same(new),
            _ if self.layout.journal == Some(sector) => is_journal(new),
            _ if sector < home => new.iter().all(|&byte| byte == 0),
            _ if self.layout.descriptors().contains(&sector) => self.layout.is_told_by(sector, new),
            _ => true,
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
        if self.layout.journal == Some(sector) {
            return if tail(old) == tail(new) { Ok(()) } else { self.settled(guards, sectors) };
        }
        let Some(blocks) = self.blocks_in(sector) else { return Ok(()) };
        // As the thesis believes every zero.
        let waits = self.layout.journal.is_some() && guards.mirror;
        let mut is_waiting = false;
        for block in blocks.clone() {
            let bit = block - blocks.start;
            let was_used = is_set(old, bit) || self.clusters.is_suspect(block);
            if !was_used || is_set(new, bit) {
                continue;
            }
            if waits {
                self.clusters.suspected(block);
                is_waiting = true;
            } else {
                self.clusters.freed(block, guards.twice, sectors)?;
            }
        }
        let group = self.layout.group_of(blocks.start);
        if is_waiting && !self.waiting.contains(&group) {
            self.waiting.push(group);
        }
        Ok(())
    }

    /// The journal's tail moved: zeros that are in the bitmaps now are no images of a recovery that goes on.
    fn settled<L: Layer + ?Sized>(
        &mut self,
        guards: Guards,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        while let Some(group) = self.waiting.pop() {
            for block in self.layout.group(group) {
                if self.clusters.is_suspect(block) {
                    self.clusters.freed(block, guards.twice, sectors)?;
                }
            }
        }
        Ok(())
    }
}
