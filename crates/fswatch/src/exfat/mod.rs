//! exFAT: its layout and its allocation bitmap.
//!
//! There is one bitmap without a mirror, so the only guard is that a sector of the bitmap was
//! written twice since the data. That protects clusters that a host with reordered writes has
//! reused. It does not cover the directory. Power may fail after the bitmap that frees a file's
//! clusters and before the directory entry that removes the file. Then the file still exists, and
//! its extent reads as zeros, where on FAT32 its chain would have been gone. The host wanted it
//! deleted or moved; the standard requires the directory entry to be written first (exFAT
//! specification §8.1).

mod bitmap;
mod layout;

pub(crate) use layout::Layout;

use alloc::vec::Vec;
use core::ops::Range;

use thermocline_ftl::{FtlError, Layer};

use crate::{
    clusters::Clusters,
    config::Guards,
    sectors::{Sectors, is_set, le32, overlap},
    verdict::{Found, Verdict},
};
use bitmap::Bitmap;
use layout::{BOOT_REGION, is_daily, is_first_of_fat, is_whole};

/// A watched volume.
pub(crate) struct ExFat {
    layout: Layout,
    bitmap: Bitmap,
    clusters: Clusters,
}

impl ExFat {
    /// Looks for a volume at the start of a partition.
    pub fn recognise<L: Layer + ?Sized>(
        partition: &Range<u64>,
        sectors: &mut Sectors<'_, L>,
    ) -> Found<Self> {
        let sector_size = sectors.shape.sector_size;
        let layout = sectors
            .read(partition.start)
            .and_then(|sector| Layout::read(sector, partition, sector_size));
        let Some(layout) = layout else { return Found::Nothing };
        let is_sound = is_whole(layout.begin, sectors)
            && sectors.read(layout.fat.start).is_some_and(is_first_of_fat);
        let bitmap = if is_sound { Bitmap::find(&layout, sectors) } else { None };
        let Some(bitmap) = bitmap else { return Found::Incomplete(layout.decisive()) };
        let clusters = Clusters::new(layout.heap, layout.cluster_shift, layout.clusters);
        Found::Complete(Self { layout, bitmap, clusters })
    }

    /// The sectors that may make it a volume again after it is released.
    pub fn decisive(&self) -> Vec<Range<u64>> {
        self.layout.decisive()
    }

    pub const fn clusters(&mut self) -> &mut Clusters {
        &mut self.clusters
    }

    pub fn memory(&self) -> usize {
        self.clusters.memory() + self.bitmap.root.capacity() * size_of::<u32>()
    }

    /// Whether any of `sectors` is metadata.
    #[inline]
    pub fn is_metadata(&self, sectors: &Range<u64>) -> bool {
        overlap(sectors, &(self.layout.begin..self.layout.heap))
            || overlap(sectors, &self.bitmap.sectors)
            || self.bitmap.root.iter().any(|&c| overlap(sectors, &self.layout.cluster(c)))
    }

    /// A sector of the volume was written. Applies its allocations at once, and informs the guard.
    pub fn written<L: Layer + ?Sized>(
        &mut self,
        sector: u64,
        old: &[u8],
        new: &[u8],
        sectors: &mut Sectors<'_, L>,
    ) -> Result<Verdict, FtlError> {
        let layout = &self.layout;
        if sector < layout.heap {
            let index = sector - layout.begin;
            return Ok(if layout.fat.contains(&sector) {
                self.fat_written(sector - layout.fat.start, old, new)
            } else if index.is_multiple_of(BOOT_REGION)
                && index <= BOOT_REGION
                && is_daily(old, new)
            {
                Verdict::Keep
            } else {
                Verdict::LookAgain
            });
        }
        if self.bitmap.sectors.contains(&sector) {
            let index = sector - self.bitmap.sectors.start;
            return self.bitmap_written(index, old, new, sectors);
        }
        let is_in_root = self.bitmap.root.iter().any(|&c| layout.cluster(c).contains(&sector));
        let tells_the_same = !is_in_root || self.bitmap.is_told_by(sector, new);
        Ok(if tells_the_same { Verdict::Keep } else { Verdict::LookAgain })
    }

    /// Checks a written sector of the FAT. It does not show which clusters are free, because
    /// contiguous files are not in it. But it links the root directory, and invalid entries
    /// indicate another owner.
    fn fat_written(&self, index: u64, old: &[u8], new: &[u8]) -> Verdict {
        if index == 0 && !is_first_of_fat(new) {
            return Verdict::Implausible;
        }
        let first = index * (new.len() as u64 / 4);
        let skipped = if index == 0 { 2 } else { 0 };
        let pairs = old.chunks_exact(4).zip(new.chunks_exact(4));
        // Entries outside chains may be older than the volume.
        let changed = (first..).zip(pairs).skip(skipped).filter(|(_, (a, b))| a != b);
        for (cluster, (_, after)) in changed {
            let after = le32(after, 0);
            if !self.layout.is_plausible(after) {
                return Verdict::Implausible;
            }
            let Ok(cluster) = u32::try_from(cluster) else { continue };
            // The root directory may grow beyond the watched part.
            let is_tail = self.bitmap.root.last() == Some(&cluster) && after != 0;
            let is_link = self.bitmap.root.contains(&cluster) || self.bitmap.holds(cluster);
            if is_link && !is_tail {
                return Verdict::LookAgain;
            }
        }
        Verdict::Keep
    }

    /// A sector of the bitmap was written. Ones are clusters in use.
    fn bitmap_written<L: Layer + ?Sized>(
        &mut self,
        index: u64,
        old: &[u8],
        new: &[u8],
        sectors: &mut Sectors<'_, L>,
    ) -> Result<Verdict, FtlError> {
        let numbers = self.clusters_of(index, new.len());
        // The clusters of the bitmap and of the root directory are in use as long as the volume
        // exists.
        let here = numbers.start + 2..numbers.end + 2;
        let own = self.bitmap.first.max(here.start)
            ..(self.bitmap.first + self.bitmap.clusters).min(here.end);
        let root = self.bitmap.root.iter().copied().filter(|cluster| here.contains(cluster));
        let is_short_of_own = own.chain(root).any(|cluster| !is_set(new, cluster - here.start));
        let mut beyond = numbers.len() as u32..new.len() as u32 * 8;
        if is_short_of_own || beyond.any(|bit| is_set(new, bit) && !is_set(old, bit)) {
            return Ok(Verdict::Implausible);
        }
        self.clusters.bitmap_written(numbers, new, sectors)?;
        Ok(Verdict::Keep)
    }

    /// Applies the frees in the same sector, after the whole page was checked: zeros that were
    /// ones.
    pub fn freed<L: Layer + ?Sized>(
        &mut self,
        sector: u64,
        old: &[u8],
        new: &[u8],
        guards: Guards,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        if !self.bitmap.sectors.contains(&sector) {
            return Ok(());
        }
        let numbers = self.clusters_of(sector - self.bitmap.sectors.start, new.len());
        for cluster in numbers.clone() {
            let bit = cluster - numbers.start;
            let was_used = is_set(old, bit) || self.clusters.is_suspect(cluster);
            if was_used && !is_set(new, bit) {
                self.clusters.freed(cluster, guards.twice, sectors)?;
            }
        }
        Ok(())
    }

    /// The clusters, counted from 0, of a sector of the bitmap.
    fn clusters_of(&self, index: u64, sector_size: usize) -> Range<u32> {
        let bits = sector_size as u64 * 8;
        let count = u64::from(self.clusters.count());
        (index * bits).min(count) as u32..((index + 1) * bits).min(count) as u32
    }
}
