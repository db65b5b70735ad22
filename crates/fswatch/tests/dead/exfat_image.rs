//! exFAT images built from Microsoft's specification: boot regions, FAT, bitmap, root directory.

use crate::disk::{SECTOR, Sector};

const END: u32 = 0xffff_ffff;

/// A volume's layout, in sectors of the device.
#[derive(Clone, Copy, Debug)]
pub struct ExFatImage {
    pub begin: u64,
    pub clusters: u32,
    pub per_cluster: u8,
    /// Number of initial clusters of the root directory.
    pub root_clusters: u32,
    pub fats: u8,
    /// The sector size in the boot sector, as a power of two.
    pub sector_shift: u8,
}

impl ExFatImage {
    pub fn new(begin: u64, clusters: u32, per_cluster: u8) -> Self {
        Self { begin, clusters, per_cluster, root_clusters: 1, fats: 1, sector_shift: 9 }
    }

    pub fn fat(&self) -> u64 {
        self.begin + 24
    }

    fn fat_sectors(&self) -> u32 {
        (self.clusters + 2).div_ceil(128)
    }

    /// At a multiple of 64 sectors, as formatters for flash choose it.
    pub fn heap(&self) -> u64 {
        self.begin + (24 + u64::from(self.fat_sectors())).next_multiple_of(64)
    }

    pub fn total(&self) -> u64 {
        self.heap() + u64::from(self.clusters) * u64::from(self.per_cluster)
    }

    pub fn cluster(&self, cluster: u32) -> std::ops::Range<u64> {
        let per_cluster = u64::from(self.per_cluster);
        let first = self.heap() + u64::from(cluster - 2) * per_cluster;
        first..first + per_cluster
    }

    fn bitmap_sectors(&self) -> u32 {
        self.clusters.div_ceil(4096)
    }

    fn bitmap_clusters(&self) -> u32 {
        self.bitmap_sectors().div_ceil(u32::from(self.per_cluster))
    }

    /// The bitmap has the first clusters, the up-case table the next one. The root directory
    /// follows.
    pub fn root(&self) -> u32 {
        2 + self.bitmap_clusters() + 1
    }

    pub fn first_free(&self) -> u32 {
        self.root() + self.root_clusters
    }

    /// The sector of the bitmap that holds a cluster's bit.
    pub fn bitmap_sector(&self, cluster: u32) -> u64 {
        self.cluster(2).start + u64::from((cluster - 2) / 4096)
    }

    /// Which clusters of an empty volume are in use.
    pub fn empty(&self) -> Vec<bool> {
        (0..self.clusters + 2).map(|cluster| cluster < self.first_free()).collect()
    }

    pub fn bitmap_content(&self, used: &[bool], sector: u64) -> Sector {
        let mut s = [0; SECTOR];
        let first = 2 + (sector - self.cluster(2).start) as usize * 4096;
        for (bit, is_used) in used.iter().skip(first).take(4096).enumerate() {
            s[bit / 8] |= u8::from(*is_used) << (bit % 8);
        }
        s
    }

    pub fn boot(&self) -> Sector {
        let mut s = [0; SECTOR];
        s[..11].copy_from_slice(b"\xeb\x76\x90EXFAT   ");
        s[64..72].copy_from_slice(&self.begin.to_le_bytes());
        s[72..80].copy_from_slice(&(self.total() - self.begin).to_le_bytes());
        s[80..84].copy_from_slice(&24u32.to_le_bytes());
        s[84..88].copy_from_slice(&self.fat_sectors().to_le_bytes());
        s[88..92].copy_from_slice(&((self.heap() - self.begin) as u32).to_le_bytes());
        s[92..96].copy_from_slice(&self.clusters.to_le_bytes());
        s[96..100].copy_from_slice(&self.root().to_le_bytes());
        s[100..104].copy_from_slice(&0x1234_5678u32.to_le_bytes());
        s[105] = 1;
        s[108] = self.sector_shift;
        s[109] = self.per_cluster.trailing_zeros() as u8;
        s[110] = self.fats;
        s[111] = 0x80;
        s[112] = 0xff;
        s[510..].copy_from_slice(&[0x55, 0xaa]);
        s
    }

    /// Twelve sectors, the last full of their checksum.
    pub fn boot_region(&self) -> Vec<Sector> {
        let mut region = vec![self.boot()];
        let mut extended = [0; SECTOR];
        extended[508..].copy_from_slice(&[0, 0, 0x55, 0xaa]);
        region.extend([extended; 8]);
        region.extend([[0; SECTOR]; 2]);
        let bytes = region.concat();
        let counted = bytes.iter().enumerate().filter(|(i, _)| !matches!(i, 106 | 107 | 112));
        let sum = counted.fold(0u32, |sum, (_, byte)| {
            (if sum & 1 != 0 { 0x8000_0000u32 } else { 0 })
                .wrapping_add(sum >> 1)
                .wrapping_add(u32::from(*byte))
        });
        let mut last = [0; SECTOR];
        last.chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&sum.to_le_bytes()));
        region.push(last);
        region
    }

    /// The FAT of an empty volume.
    pub fn entries(&self) -> Vec<u32> {
        let mut entries = vec![0; self.clusters as usize + 2];
        entries[0] = 0xffff_fff8;
        entries[1] = END;
        let mut chain = |first: u32, clusters: u32| {
            for cluster in first..first + clusters {
                let is_last = cluster + 1 == first + clusters;
                entries[cluster as usize] = if is_last { END } else { cluster + 1 };
            }
        };
        chain(2, self.bitmap_clusters());
        chain(2 + self.bitmap_clusters(), 1);
        chain(self.root(), self.root_clusters);
        entries
    }

    pub fn fat_sector(&self, entries: &[u32], index: usize) -> Sector {
        let mut s = [0; SECTOR];
        for (bytes, entry) in s.chunks_exact_mut(4).zip(entries.iter().skip(index * 128)) {
            bytes.copy_from_slice(&entry.to_le_bytes());
        }
        s
    }

    /// The first sector of the root directory: volume label, bitmap, up-case table.
    pub fn root_sector(&self) -> Sector {
        let mut s = [0; SECTOR];
        s[0] = 0x83;
        s[32] = 0x81;
        s[52..56].copy_from_slice(&2u32.to_le_bytes());
        s[56..64].copy_from_slice(&u64::from(self.clusters.div_ceil(8)).to_le_bytes());
        s[64] = 0x82;
        s[84..88].copy_from_slice(&(2 + self.bitmap_clusters()).to_le_bytes());
        s[88..96].copy_from_slice(&60u64.to_le_bytes());
        s
    }

    /// What a formatter writes, main boot region last.
    pub fn format(&self) -> Vec<(u64, Sector)> {
        let mut image = vec![];
        let entries = self.entries();
        for index in 0..self.fat_sectors() {
            let sector = self.fat_sector(&entries, index as usize);
            image.push((self.fat() + u64::from(index), sector));
        }
        let used = self.empty();
        for index in 0..self.bitmap_sectors() {
            let sector = self.cluster(2).start + u64::from(index);
            image.push((sector, self.bitmap_content(&used, sector)));
        }
        for cluster in self.root()..self.first_free() {
            image.extend(self.cluster(cluster).map(|sector| (sector, [0; SECTOR])));
        }
        image.push((self.cluster(self.root()).start, self.root_sector()));
        for region in [12, 0] {
            let sectors = (self.begin + region..).zip(self.boot_region());
            image.extend(sectors);
        }
        image
    }
}
