//! FAT12, FAT16 and FAT32: their layout and their tables.

mod layout;

pub(crate) use layout::Layout;

use alloc::vec::Vec;
use core::ops::Range;

use thermocline_ftl::{FtlError, Layer};

use crate::{
    clusters::Clusters,
    config::Guards,
    sectors::{Sectors, overlap},
    verdict::{Found, Verdict},
};
use layout::{has_its_backup, is_foreign, is_information, is_marked};

/// A watched volume.
pub(crate) struct Fat {
    layout: Layout,
    clusters: Clusters,
}

impl Fat {
    /// Looks for a volume at the start of a partition.
    pub fn recognise<L: Layer + ?Sized>(
        partition: &Range<u64>,
        small_media: bool,
        sectors: &mut Sectors<'_, L>,
    ) -> Found<Self> {
        let sector_size = sectors.shape.sector_size;
        let layout = sectors
            .read(partition.start)
            .and_then(|sector| Layout::read(sector, partition, sector_size, small_media));
        let Some(layout) = layout else { return Found::Nothing };
        let is_informed = layout.information.is_none_or(|information| {
            (1..layout.reserved).contains(&information)
                && sectors.read(layout.begin + u64::from(information)).is_some_and(is_information)
        });
        let is_complete =
            is_informed && has_its_backup(&layout, sectors) && !is_foreign(&layout, sectors);
        let mut has_table = |copy| {
            let first = sectors.read(layout.table(copy).start);
            first.is_some_and(|sector| layout.is_first_of_table(sector))
        };
        if !is_complete || !layout.kept().all(&mut has_table) {
            return Found::Incomplete(layout.decisive());
        }
        let clusters = Clusters::new(layout.heap(), layout.cluster_shift, layout.clusters);
        Found::Complete(Self { layout, clusters })
    }

    /// The sectors that may make it a volume again after it is released.
    pub fn decisive(&self) -> Vec<Range<u64>> {
        self.layout.decisive()
    }

    pub const fn clusters(&mut self) -> &mut Clusters {
        &mut self.clusters
    }

    pub fn memory(&self) -> usize {
        self.clusters.memory()
    }

    /// Whether any of `sectors` is metadata.
    #[inline]
    pub fn is_metadata(&self, sectors: &Range<u64>) -> bool {
        overlap(sectors, &(self.layout.begin..self.clusters.heap().start))
    }

    /// A sector of the volume was written. Applies its allocations at once, and informs the guards.
    pub fn written<L: Layer + ?Sized>(
        &mut self,
        sector: u64,
        old: &[u8],
        new: &[u8],
        guards: Guards,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<Verdict, FtlError> {
        let layout = &self.layout;
        if layout.reserved().contains(&sector) {
            let index = (sector - layout.begin) as u32;
            let is_update = layout.is_information(index) && is_information(new)
                || index == 0 && layout.is_daily(old, new);
            return Ok(if is_update { Verdict::Keep } else { Verdict::LookAgain });
        }
        if is_marked(sector - layout.begin, new) {
            return Ok(Verdict::Implausible);
        }
        let Some((copy, index)) = self.place(sector, guards) else { return Ok(Verdict::Keep) };
        if !layout.is_plausible(index, new) {
            return Ok(Verdict::Implausible);
        }
        let width = layout.width;
        let told = width.entries_in(index, new.len());
        // Clusters are numbered from 2.
        let numbers = told.start.saturating_sub(2)..told.end.saturating_sub(2);
        self.clusters.table_written(numbers, copy as usize);
        for (cluster, entry) in width.entries(index, new) {
            if entry != 0 && self.is_ordinary(cluster) {
                self.clusters.allocated(cluster - 2, sectors)?;
            }
        }
        Ok(Verdict::Keep)
    }

    /// Applies the frees in the same sector, after the whole page was checked.
    pub fn freed<L: Layer + ?Sized>(
        &mut self,
        sector: u64,
        old: &[u8],
        new: &[u8],
        guards: Guards,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        let Some((copy, index)) = self.place(sector, guards) else { return Ok(()) };
        // Few writes of the table free anything, and only those need to read the other copy.
        let mut is_agreed = !guards.mirror;
        let width = self.layout.width;
        let before = width.entries(index, old).map(|(_, entry)| entry);
        for ((cluster, after), before) in width.entries(index, new).zip(before) {
            if after != 0 || !self.is_ordinary(cluster) || !self.is_freed(cluster, before) {
                continue;
            }
            is_agreed = is_agreed || self.copies_agree(copy, index, new, sectors);
            if !is_agreed {
                return Ok(());
            }
            self.clusters.freed(cluster - 2, guards.twice, sectors)?;
        }
        Ok(())
    }

    /// The copy of the table that a sector belongs to, among those that are read, and its index
    /// there.
    fn place(&self, sector: u64, guards: Guards) -> Option<(u32, u32)> {
        let mut watched = self.layout.kept();
        if !guards.mirror {
            watched.end = watched.start + 1;
        }
        let copy = watched.into_iter().find(|&copy| self.layout.table(copy).contains(&sector))?;
        let index = (sector - self.layout.table(copy).start) as u32;
        Some((copy, index))
    }

    /// Whether a number is that of a cluster that may belong to a file.
    fn is_ordinary(&self, cluster: u32) -> bool {
        (2..self.clusters.count() + 2).contains(&cluster) && Some(cluster) != self.layout.root
    }

    /// Whether a cluster whose entry is now zero was in use until now, or is suspect.
    fn is_freed(&self, cluster: u32, before: u32) -> bool {
        (before != 0 && before != self.layout.width.bad()) || self.clusters.is_suspect(cluster - 2)
    }

    fn copies_agree<L: Layer + ?Sized>(
        &self,
        written: u32,
        index: u32,
        new: &[u8],
        sectors: &mut Sectors<'_, L>,
    ) -> bool {
        self.layout.kept().filter(|&copy| copy != written).all(|copy| {
            let sector = self.layout.table(copy).start + u64::from(index);
            sectors.read(sector) == Some(new)
        })
    }
}
