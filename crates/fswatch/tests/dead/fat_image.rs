//! FAT images built by hand, so that a test can set any field.

use crate::disk::{SECTOR, Sector};

/// Ends a chain, truncated to the width of an entry.
pub const END: u32 = 0x0fff_ffff;

/// A volume's layout, in sectors of the device.
#[derive(Clone, Copy, Debug)]
pub struct Fat {
    pub begin: u64,
    pub reserved: u16,
    pub copies: u8,
    pub table_sectors: u32,
    pub per_cluster: u8,
    pub clusters: u32,
    pub flags: u16,
    pub root: u32,
    /// Bits of an entry: 12, 16 or 32.
    pub bits: u32,
}

impl Fat {
    /// Two copies of a table of minimum length.
    pub fn new(begin: u64, clusters: u32, per_cluster: u8) -> Self {
        Self {
            begin,
            reserved: 32,
            copies: 2,
            table_sectors: (clusters + 2).div_ceil(128),
            per_cluster,
            clusters,
            flags: 0,
            root: 2,
            bits: 32,
        }
    }

    /// A volume with entries of 12 or 16 bits, and a fixed root directory of 512 entries.
    pub fn narrow(begin: u64, clusters: u32, per_cluster: u8, bits: u32) -> Self {
        let table_sectors = ((clusters + 2) * bits).div_ceil(8 * SECTOR as u32);
        let fat = Self::new(begin, clusters, per_cluster);
        Self { reserved: 1, table_sectors, root: 0, bits, ..fat }
    }

    /// The first cluster that may belong to a file.
    pub fn first_free(&self) -> u32 {
        self.root.max(1) + 1
    }

    fn root_sectors(&self) -> u64 {
        if self.bits == 32 { 0 } else { 512 * 32 / SECTOR as u64 }
    }

    /// The sectors of the table's first copy that contain a cluster's entry.
    pub fn described(&self, cluster: u32) -> std::ops::RangeInclusive<u32> {
        let (first, bits) = (cluster * self.bits, 8 * SECTOR as u32);
        first / bits..=(first + self.bits - 1) / bits
    }

    pub fn table(&self, copy: u8, index: u32) -> u64 {
        let first = self.begin + u64::from(self.reserved);
        first + u64::from(copy) * u64::from(self.table_sectors) + u64::from(index)
    }

    pub fn heap(&self) -> u64 {
        self.table(self.copies, 0) + self.root_sectors()
    }

    pub fn cluster(&self, cluster: u32) -> std::ops::Range<u64> {
        let per_cluster = u64::from(self.per_cluster);
        let first = self.heap() + u64::from(cluster - 2) * per_cluster;
        first..first + per_cluster
    }

    pub fn total(&self) -> u64 {
        self.heap() - self.begin + u64::from(self.clusters) * u64::from(self.per_cluster)
    }

    pub fn boot(&self) -> Sector {
        let mut s = [0; SECTOR];
        s[..11].copy_from_slice(b"\xeb\x58\x90mkfs.fat");
        s[11..13].copy_from_slice(&(SECTOR as u16).to_le_bytes());
        s[13] = self.per_cluster;
        s[14..16].copy_from_slice(&self.reserved.to_le_bytes());
        s[16] = self.copies;
        s[21] = 0xf8;
        s[32..36].copy_from_slice(&(self.total() as u32).to_le_bytes());
        if self.bits < 32 {
            s[17..19].copy_from_slice(&512u16.to_le_bytes());
            s[22..24].copy_from_slice(&(self.table_sectors as u16).to_le_bytes());
            s[510..].copy_from_slice(&[0x55, 0xaa]);
            return s;
        }
        s[36..40].copy_from_slice(&self.table_sectors.to_le_bytes());
        s[40..42].copy_from_slice(&self.flags.to_le_bytes());
        s[44..48].copy_from_slice(&self.root.to_le_bytes());
        s[48..50].copy_from_slice(&1u16.to_le_bytes());
        s[50..52].copy_from_slice(&6u16.to_le_bytes());
        s[66] = 0x29;
        s[82..90].copy_from_slice(b"FAT32   ");
        s[510..].copy_from_slice(&[0x55, 0xaa]);
        s
    }

    pub fn information(&self) -> Sector {
        let mut s = [0; SECTOR];
        s[..4].copy_from_slice(b"RRaA");
        s[484..488].copy_from_slice(b"rrAa");
        s[488..492].copy_from_slice(&self.clusters.to_le_bytes());
        s[508..].copy_from_slice(&[0, 0, 0x55, 0xaa]);
        s
    }

    /// A sector of the table with the volume's entries in order.
    pub fn table_sector(&self, entries: &[u32], index: u32) -> Sector {
        let mut s = [0; SECTOR];
        let begins = index * 8 * SECTOR as u32;
        for bit in 0..8 * SECTOR as u32 {
            let (number, of_entry) = ((begins + bit) / self.bits, (begins + bit) % self.bits);
            let entry = entries.get(number as usize).copied().unwrap_or(0);
            s[bit as usize / 8] |= ((entry >> of_entry & 1) as u8) << (bit % 8);
        }
        s
    }

    /// The entries of an empty volume.
    pub fn empty(&self) -> Vec<u32> {
        let mut entries = vec![0; self.clusters as usize + 2];
        entries[0] = 0x0fff_fff8;
        entries[1] = END;
        if self.bits == 32 {
            entries[self.root as usize] = END;
        }
        entries
    }

    /// What a formatter writes, boot sector last.
    pub fn format(&self) -> Vec<(u64, Sector)> {
        let mut image = Vec::new();
        let empty = self.empty();
        for copy in 0..self.copies {
            for index in 0..self.table_sectors {
                image.push((self.table(copy, index), self.table_sector(&empty, index)));
            }
        }
        if self.bits == 32 {
            image.extend(self.cluster(self.root).map(|sector| (sector, [0; SECTOR])));
            image.push((self.begin + 1, self.information()));
        } else {
            let heap = self.heap();
            image.extend((heap - self.root_sectors()..heap).map(|sector| (sector, [0; SECTOR])));
        }
        if self.reserved > 7 {
            image.push((self.begin + 7, self.information()));
            image.push((self.begin + 6, self.boot()));
        }
        image.push((self.begin, self.boot()));
        image
    }
}
