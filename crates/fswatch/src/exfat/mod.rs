//! exFAT: its layout, and its allocation bitmap.
//!
//! There is one bitmap and no mirror, so the only guard is that a sector of the bitmap was written
//! twice since the data. It keeps what a host that reorders writes has reused. What it cannot see is
//! the directory: if power fails after a bitmap that frees a file's clusters and before the
//! directory entry that forgets the file, the file is still there, and where FAT32's chain would
//! have been gone its extent reads as zeros. The host wanted it deleted, or had it moved; the
//! standard has hosts write the directory entry first (exFAT specification §8.1).

mod bitmap;
mod layout;

pub(crate) use layout::Layout;

use alloc::vec::Vec;
use core::ops::Range;

use thermocline_ftl::{FtlError, Layer};

use crate::{
    clusters::Clusters,
    config::Guards,
    sectors::{Sectors, le32, overlap},
    verdict::{Found, Verdict},
};
use bitmap::Bitmap;
use layout::{BOOT_REGION, is_daily, is_first_of_fat, is_whole};

/// A volume that is watched.
pub(crate) struct ExFat {
    layout: Layout,
    bitmap: Bitmap,
    clusters: Clusters,
}

impl ExFat {
    /// Looks for a volume at the beginning of a partition.
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

    /// Where to look again, should it be let go.
    pub fn decisive(&self) -> Vec<Range<u64>> {
        self.layout.decisive()
    }

    pub const fn clusters(&mut self) -> &mut Clusters {
        &mut self.clusters
    }

    pub fn memory(&self) -> usize {
        self.clusters.memory() + self.bitmap.root.capacity() * size_of::<u32>()
    }

    /// Whether any of `sectors` describes the others.
    #[inline]
    pub fn is_metadata(&self, sectors: &Range<u64>) -> bool {
        overlap(sectors, &(self.layout.begin..self.layout.heap))
            || overlap(sectors, &self.bitmap.sectors)
            || self.bitmap.root.iter().any(|&c| overlap(sectors, &self.layout.cluster(c)))
    }

    /// A sector of the volume was written: what it says of clusters in use is taken from it at once,
    /// and the guard is informed.
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

    /// A sector of the FAT was written. It does not show which clusters are free: a file in one piece is not in
    /// it. But it links the root directory, and strange entries are somebody else's.
    fn fat_written(&self, index: u64, old: &[u8], new: &[u8]) -> Verdict {
        if index == 0 && !is_first_of_fat(new) {
            return Verdict::Implausible;
        }
        let first = index * (new.len() as u64 / 4);
        let skipped = if index == 0 { 2 } else { 0 };
        let pairs = old.chunks_exact(4).zip(new.chunks_exact(4));
        // Entries of no chain may be anything since before the volume was made.
        let changed = (first..).zip(pairs).skip(skipped).filter(|(_, (a, b))| a != b);
        for (cluster, (_, after)) in changed {
            let after = le32(after, 0);
            if !self.layout.is_plausible(after) {
                return Verdict::Implausible;
            }
            let Ok(cluster) = u32::try_from(cluster) else { continue };
            // The root directory may grow behind the part that is watched.
            let is_tail = self.bitmap.root.last() == Some(&cluster) && after != 0;
            let is_link = self.bitmap.root.contains(&cluster) || self.bitmap.holds(cluster);
            if is_link && !is_tail {
                return Verdict::LookAgain;
            }
        }
        Verdict::Keep
    }

    /// A sector of the bitmap was written: ones are clusters in use.
    fn bitmap_written<L: Layer + ?Sized>(
        &mut self,
        index: u64,
        old: &[u8],
        new: &[u8],
        sectors: &mut Sectors<'_, L>,
    ) -> Result<Verdict, FtlError> {
        let numbers = self.clusters_of(index, new.len());
        // The bitmap's own clusters and the root directory's are in use as long as there is a volume.
        let here = numbers.start + 2..numbers.end + 2;
        let own = self.bitmap.first.max(here.start)
            ..(self.bitmap.first + self.bitmap.clusters).min(here.end);
        let root = self.bitmap.root.iter().copied().filter(|cluster| here.contains(cluster));
        let is_short_of_own = own.chain(root).any(|cluster| !is_set(new, cluster - here.start));
        let mut beyond = numbers.len() as u32..new.len() as u32 * 8;
        if is_short_of_own || beyond.any(|bit| is_set(new, bit) && !is_set(old, bit)) {
            return Ok(Verdict::Implausible);
        }
        self.clusters.table_written(numbers.clone(), 0);
        for cluster in numbers.clone() {
            if is_set(new, cluster - numbers.start) {
                self.clusters.allocated(cluster, sectors)?;
            }
        }
        Ok(Verdict::Keep)
    }

    /// That sector again, when the whole page was looked at: zeros that were ones are freed.
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

    /// The clusters, counted from 0, that a sector of the bitmap describes.
    fn clusters_of(&self, index: u64, sector_size: usize) -> Range<u32> {
        let bits = sector_size as u64 * 8;
        let count = u64::from(self.clusters.count());
        (index * bits).min(count) as u32..((index + 1) * bits).min(count) as u32
    }
}

fn is_set(bits: &[u8], bit: u32) -> bool {
    bits[(bit / 8) as usize] >> (bit % 8) & 1 != 0
}
