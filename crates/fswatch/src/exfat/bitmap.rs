//! Finds the allocation bitmap of an exFAT volume.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use super::layout::{END, Layout};
use thermocline_ftl::Layer;

use crate::sectors::{Sectors, le32, le64};

/// Type of the bitmap's entry in the root directory, and the length of an entry.
const BITMAP: u8 = 0x81;
const ENTRY: usize = 32;
/// Number of sectors of the root directory searched for that entry. All formatters put it among the
/// first three entries.
const MAX_ROOT: u32 = 1024;
/// Maximum number of the bitmap's clusters followed in the FAT.
const MAX_BITMAP: u64 = 1 << 16;

/// The location of the bitmap, and the entry that gives it.
pub struct Bitmap {
    /// The clusters of the root directory up to that entry.
    pub root: Vec<u32>,
    /// The sector of the entry, its offset there, and its content.
    entry_sector: u64,
    entry_at: usize,
    entry: [u8; ENTRY],
    pub first: u32,
    pub clusters: u32,
    /// The sectors with the bits of clusters.
    pub sectors: Range<u64>,
}

impl Bitmap {
    /// Searches the root directory for the bitmap.
    pub fn find<L: Layer + ?Sized>(layout: &Layout, sectors: &mut Sectors<'_, L>) -> Option<Self> {
        let mut root = vec![layout.root];
        let mut left = MAX_ROOT;
        loop {
            for sector in layout.cluster(*root.last()?) {
                left = left.checked_sub(1)?;
                for (at, entry) in sectors.read(sector)?.chunks_exact(ENTRY).enumerate() {
                    match entry[0] {
                        0 => return None,
                        BITMAP => {
                            let entry = *entry.first_chunk()?;
                            let found = (sector, at * ENTRY, entry);
                            return Self::check(root, found, layout, sectors);
                        }
                        _ => {}
                    }
                }
            }
            let next = layout.next(*root.last()?, sectors)?;
            if !layout.contains(next) {
                return None;
            }
            root.push(next);
        }
    }

    /// Follows the entry. A fragmented bitmap is refused: no formatter creates one, and Linux does
    /// not read it either.
    fn check<L: Layer + ?Sized>(
        root: Vec<u32>,
        (entry_sector, entry_at, entry): (u64, usize, [u8; ENTRY]),
        layout: &Layout,
        sectors: &mut Sectors<'_, L>,
    ) -> Option<Self> {
        let (first, length) = (le32(&entry, 20), le64(&entry, 24));
        let sector_size = sectors.shape.sector_size as u64;
        let needed = u64::from(layout.clusters).div_ceil(8);
        let clusters = length.div_ceil(sector_size << layout.cluster_shift);
        if entry[1] & 1 != 0 || length < needed || clusters > MAX_BITMAP || first < 2 {
            return None;
        }
        let clusters = clusters as u32;
        let last = first.checked_add(clusters - 1)?;
        if !layout.contains(last) || root.iter().any(|c| (first..=last).contains(c)) {
            return None;
        }
        for cluster in first..=last {
            let expected = if cluster == last { END } else { cluster + 1 };
            if layout.next(cluster, sectors)? != expected {
                return None;
            }
        }
        let start = layout.cluster(first).start;
        let sectors = start..start + needed.div_ceil(sector_size);
        Some(Self { root, entry_sector, entry_at, entry, first, clusters, sectors })
    }

    pub fn holds(&self, cluster: u32) -> bool {
        (self.first..self.first + self.clusters).contains(&cluster)
    }

    /// Whether a sector of the root directory still names this bitmap and no other.
    pub fn is_told_by(&self, sector: u64, new: &[u8]) -> bool {
        let is_known = |at: usize| sector == self.entry_sector && at == self.entry_at;
        let entries = new.chunks_exact(ENTRY).enumerate();
        let others = entries.filter(|(i, entry)| entry[0] == BITMAP && !is_known(i * ENTRY));
        let known = new.get(self.entry_at..self.entry_at + ENTRY);
        others.count() == 0 && (sector != self.entry_sector || known == Some(self.entry.as_slice()))
    }
}
