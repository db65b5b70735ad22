//! The layout of an exFAT volume.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use thermocline_ftl::Layer;

use crate::sectors::{Sectors, is_signed, le32, le64};

/// Sectors of a boot region. There are two.
pub const BOOT_REGION: u64 = 12;
/// Offsets in the boot sector that change in daily use: the volume's flags, and the percentage in
/// use.
const VOLATILE: [usize; 3] = [106, 107, 112];
const BAD: u32 = 0xffff_fff7;
pub const END: u32 = 0xffff_ffff;

/// The checked content of the boot sector.
#[derive(Clone, Debug)]
pub struct Layout {
    pub begin: u64,
    pub fat: Range<u64>,
    pub heap: u64,
    pub clusters: u32,
    pub root: u32,
    pub cluster_shift: u32,
}

impl Layout {
    /// Parses a boot sector. `None` if a field is invalid for exFAT or exceeds the partition.
    pub fn read(sector: &[u8], partition: &Range<u64>, sector_size: usize) -> Option<Self> {
        let is_sane = is_signed(sector)
            && sector.starts_with(b"\xeb\x76\x90EXFAT   ")
            && sector[11..64].iter().all(|&byte| byte == 0)
            && sector[105] == 1
            // One FAT and one bitmap. TexFAT has two of each and alternates between them.
            && sector[110] == 1
            && sector[106] & 1 == 0
            && (9..=12).contains(&sector[108])
            && 1 << sector[108] == sector_size
            && sector[109] <= 25 - sector[108];
        let length = le64(sector, 72);
        if !is_sane || length > partition.end - partition.start {
            return None;
        }
        let (fat, fat_sectors) = (u64::from(le32(sector, 80)), u64::from(le32(sector, 84)));
        let (heap, clusters) = (u64::from(le32(sector, 88)), le32(sector, 92));
        let cluster_shift = u32::from(sector[109]);
        let entries = fat_sectors * (sector_size as u64 / 4);
        let root = le32(sector, 96);
        let fits = fat >= 2 * BOOT_REGION
            && fat + fat_sectors <= heap
            && heap + (u64::from(clusters) << cluster_shift) <= length
            && entries >= u64::from(clusters) + 2
            && (1..=u32::MAX - 10).contains(&clusters)
            && (2..clusters + 2).contains(&root);
        let begin = partition.start;
        fits.then(|| Self {
            begin,
            fat: begin + fat..begin + fat + fat_sectors,
            heap: begin + heap,
            clusters,
            root,
            cluster_shift,
        })
    }

    pub fn contains(&self, cluster: u32) -> bool {
        (2..self.clusters + 2).contains(&cluster)
    }

    /// The sectors of a cluster.
    pub fn cluster(&self, cluster: u32) -> Range<u64> {
        let first = self.heap + (u64::from(cluster - 2) << self.cluster_shift);
        first..first + (1 << self.cluster_shift)
    }

    pub fn is_plausible(&self, entry: u32) -> bool {
        entry == 0 || entry == BAD || entry == END || self.contains(entry)
    }

    pub fn next<L: Layer + ?Sized>(
        &self,
        cluster: u32,
        sectors: &mut Sectors<'_, L>,
    ) -> Option<u32> {
        let per_sector = (sectors.shape.sector_size / 4) as u32;
        let sector = sectors.read(self.fat.start + u64::from(cluster / per_sector))?;
        Some(le32(sector, (cluster % per_sector) as usize * 4))
    }

    /// The sectors that decide whether this is a volume.
    pub fn decisive(&self) -> Vec<Range<u64>> {
        let boot = self.begin..self.begin + 2 * BOOT_REGION;
        vec![boot, self.fat.start..self.fat.start + 1, self.cluster(self.root)]
    }
}

/// Whether the main boot region is intact: its checksum fills its last sector.
pub fn is_whole<L: Layer + ?Sized>(begin: u64, sectors: &mut Sectors<'_, L>) -> bool {
    let mut sum = 0u32;
    for index in 0..BOOT_REGION - 1 {
        let Some(sector) = sectors.read(begin + index) else { return false };
        for (at, &byte) in sector.iter().enumerate() {
            if index != 0 || !VOLATILE.contains(&at) {
                sum = sum.rotate_right(1).wrapping_add(u32::from(byte));
            }
        }
    }
    let last = sectors.read(begin + BOOT_REGION - 1);
    last.is_some_and(|sector| sector.chunks_exact(4).all(|word| le32(word, 0) == sum))
}

pub fn is_first_of_fat(sector: &[u8]) -> bool {
    le32(sector, 0) | 0xff == END && sector[0] >= 0xf0 && le32(sector, 4) == END
}

/// Whether two boot sectors differ only in what changes in daily use.
pub fn is_daily(old: &[u8], new: &[u8]) -> bool {
    let mut pairs = old.iter().zip(new).enumerate();
    new[106] & 1 == 0 && pairs.all(|(at, (a, b))| a == b || VOLATILE.contains(&at))
}
