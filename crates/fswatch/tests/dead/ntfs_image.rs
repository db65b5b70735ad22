//! NTFS images built from descriptions of the format: boot sector and its copy, records of the master
//! file table, bitmap, restart pages.

use crate::disk::{SECTOR, Sector};

/// Records of the master file table: of the table, of the log, of the bitmap.
pub const MFT: u32 = 0;
pub const LOG: u32 = 2;
pub const BITMAP: u32 = 6;
const RECORD: usize = 1024;

/// A volume's layout: one part after another from its beginning.
#[derive(Clone, Debug)]
pub struct NtfsImage {
    pub begin: u64,
    pub clusters: u32,
    pub per_cluster: u32,
    /// Number of runs of the bitmap. There is a free cluster between two.
    pub bitmap_runs: u32,
    /// Whether the driver keeps a log.
    pub has_log: bool,
}

/// What a restart page says.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    pub current: u64,
    pub checkpoint: u64,
    pub oldest: u64,
    pub is_clean: bool,
}

impl NtfsImage {
    pub fn new(begin: u64, clusters: u32, per_cluster: u32, has_log: bool) -> Self {
        Self { begin, clusters, per_cluster, bitmap_runs: 1, has_log }
    }

    fn bytes(&self) -> u32 {
        self.per_cluster * SECTOR as u32
    }

    /// The sector behind the volume has the copy of the boot sector.
    pub fn total(&self) -> u64 {
        u64::from(self.clusters) * u64::from(self.per_cluster) + 1
    }

    pub fn cluster(&self, cluster: u32) -> std::ops::Range<u64> {
        let first = self.begin + u64::from(cluster) * u64::from(self.per_cluster);
        first..first + u64::from(self.per_cluster)
    }

    fn mft(&self) -> u32 {
        8192u32.div_ceil(self.bytes())
    }

    fn log(&self) -> std::ops::Range<u32> {
        let first = self.mft() + (16 * RECORD as u32).div_ceil(self.bytes());
        first..first + 0x1_0000u32.div_ceil(self.bytes())
    }

    /// The runs of the bitmap: first cluster and length.
    fn bitmap(&self) -> Vec<(u32, u32)> {
        let count = (self.clusters.div_ceil(64) * 8).div_ceil(self.bytes());
        let (mut first, mut left) = (self.log().end, count);
        let mut runs = vec![];
        for run in 0..self.bitmap_runs {
            let length = left / (self.bitmap_runs - run);
            runs.push((first, length));
            (first, left) = (first + length + 1, left - length);
        }
        // The last part of the bitmap comes first.
        let starts: Vec<u32> = runs.iter().map(|run| run.0).rev().collect();
        let mut at = starts.last().copied().unwrap_or_default();
        for run in runs.iter_mut().rev() {
            run.0 = at;
            at += run.1 + 1;
        }
        runs
    }

    /// The sectors of the bitmap in its order.
    pub fn bitmap_sectors(&self) -> Vec<u64> {
        let clusters = self.bitmap().into_iter().flat_map(|(first, length)| first..first + length);
        let sectors = clusters.flat_map(|cluster| self.cluster(cluster));
        sectors.take(self.clusters.div_ceil(4096) as usize).collect()
    }

    pub fn bitmap_sector(&self, cluster: u32) -> u64 {
        self.bitmap_sectors()[cluster as usize / 4096]
    }

    /// Which clusters of an empty volume are in use.
    pub fn empty(&self) -> Vec<bool> {
        let mut used = vec![false; self.clusters as usize];
        used[..self.log().end as usize].fill(true);
        for (first, length) in self.bitmap() {
            used[first as usize..(first + length) as usize].fill(true);
        }
        used
    }

    pub fn bitmap_content(&self, used: &[bool], sector: u64) -> Sector {
        let at = self.bitmap_sectors().iter().position(|s| *s == sector).expect("of the bitmap");
        let mut s = [0; SECTOR];
        for bit in 0..4096 {
            let cluster = at * 4096 + bit;
            // What is left of the last eight bytes is in use.
            let is_padding = cluster < self.clusters.next_multiple_of(64) as usize;
            let is_used = used.get(cluster).copied().unwrap_or(is_padding);
            s[bit / 8] |= u8::from(is_used) << (bit % 8);
        }
        s
    }

    pub fn boot(&self) -> Sector {
        let mut s = [0; SECTOR];
        s[..11].copy_from_slice(b"\xeb\x52\x90NTFS    ");
        s[11..13].copy_from_slice(&(SECTOR as u16).to_le_bytes());
        let shift = self.per_cluster.trailing_zeros() as u8;
        s[13] = if shift > 7 { shift.wrapping_neg() } else { 1 << shift };
        s[21] = 0xf8;
        s[36..40].copy_from_slice(&[0x80, 0, 0x80, 0]);
        s[40..48].copy_from_slice(&(self.total() - 1).to_le_bytes());
        s[48..56].copy_from_slice(&u64::from(self.mft()).to_le_bytes());
        s[56..64].copy_from_slice(&u64::from(self.clusters / 2).to_le_bytes());
        s[64] = if self.per_cluster == 1 { 2 } else { 0xf6 };
        s[68] = 1;
        s[510..].copy_from_slice(&[0x55, 0xaa]);
        s
    }

    /// The first sector of a record.
    pub fn record_sector(&self, number: u32) -> u64 {
        self.cluster(self.mft()).start + u64::from(number) * 2
    }

    /// A record whose unnamed data have these runs.
    pub fn record_with(
        &self,
        runs: &[(u32, u32)],
        size: u64,
        change: impl FnOnce(&mut [u8]),
    ) -> Vec<Sector> {
        let mut list = vec![];
        let mut before = 0i64;
        for (first, length) in runs {
            list.push(0x34);
            list.extend(length.to_le_bytes());
            let distance = i64::from(*first) - before;
            list.extend(&distance.to_le_bytes()[..3]);
            before = i64::from(*first);
        }
        list.push(0);
        let count: u64 = runs.iter().map(|run| u64::from(run.1)).sum();
        let mut r = [0; RECORD];
        let mut put = |at: usize, bytes: &[u8]| r[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"FILE");
        put(4, &48u16.to_le_bytes());
        put(6, &3u16.to_le_bytes());
        put(20, &56u16.to_le_bytes());
        put(22, &1u16.to_le_bytes());
        put(28, &(RECORD as u32).to_le_bytes());
        put(48, &7u16.to_le_bytes());
        // Standard information, resident.
        put(56, &0x10u32.to_le_bytes());
        put(60, &96u32.to_le_bytes());
        let data = 56 + 96;
        let length = (64 + list.len()).next_multiple_of(8);
        put(data, &0x80u32.to_le_bytes());
        put(data + 4, &(length as u32).to_le_bytes());
        put(data + 8, &[1, 0, 64]);
        put(data + 24, &count.wrapping_sub(1).to_le_bytes());
        put(data + 32, &64u16.to_le_bytes());
        put(data + 40, &(count * u64::from(self.bytes())).to_le_bytes());
        put(data + 48, &size.to_le_bytes());
        put(data + 56, &size.to_le_bytes());
        put(data + 64, &list);
        put(data + length, &0xffff_ffffu32.to_le_bytes());
        put(24, &((data + length + 8) as u32).to_le_bytes());
        change(&mut r);
        for stride in 1..=2 {
            let end = stride * 512 - 2;
            r.copy_within(end..end + 2, 48 + 2 * stride);
            r.copy_within(48..50, end);
        }
        r.chunks_exact(SECTOR).map(|s| s.try_into().expect("a sector")).collect()
    }

    pub fn record(&self, number: u32) -> Vec<Sector> {
        self.record_changed(number, |_| {})
    }

    /// The same with other bytes, and sequence numbers that fit.
    pub fn record_changed(&self, number: u32, change: impl FnOnce(&mut [u8])) -> Vec<Sector> {
        let log = self.log();
        let (runs, size) = match number {
            MFT => (vec![(self.mft(), log.start - self.mft())], 16 * RECORD as u64),
            LOG => (vec![(log.start, log.len() as u32)], 0x1_0000),
            _ => (self.bitmap(), u64::from(self.clusters.div_ceil(64)) * 8),
        };
        self.record_with(&runs, size, change)
    }

    /// The first sector of a restart page.
    pub fn restart_sector(&self, copy: u64) -> u64 {
        self.cluster(self.log().start).start + copy * 8
    }

    pub fn restart(&self, restart: Restart) -> Sector {
        let mut s = [0; SECTOR];
        let mut put = |at: usize, bytes: &[u8]| s[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"RSTR");
        put(4, &[30, 0, 9, 0]);
        put(16, &4096u32.to_le_bytes());
        put(20, &4096u32.to_le_bytes());
        put(24, &[0x30, 0, 1, 0, 1, 0]);
        let area = 0x30;
        put(area, &restart.current.to_le_bytes());
        put(area + 8, &[1, 0, 0xff, 0xff]);
        put(area + 14, &[if restart.is_clean { 2 } else { 0 }, 0]);
        put(area + 22, &[0x40, 0]);
        put(area + 0x40, &restart.oldest.to_le_bytes());
        put(area + 0x48, &restart.checkpoint.to_le_bytes());
        s
    }

    /// What a formatter writes, boot sector last.
    pub fn format(&self) -> Vec<(u64, Sector)> {
        let mut image = vec![];
        for number in [MFT, LOG, BITMAP] {
            image.extend((self.record_sector(number)..).zip(self.record(number)));
        }
        let first = Restart { current: 100, checkpoint: 100, oldest: 100, is_clean: false };
        for copy in 0..2 {
            let content = if self.has_log { self.restart(first) } else { [0xff; SECTOR] };
            image.push((self.restart_sector(copy), content));
        }
        let used = self.empty();
        for sector in self.bitmap_sectors() {
            image.push((sector, self.bitmap_content(&used, sector)));
        }
        image.push((self.begin + self.total() - 1, self.boot()));
        image.push((self.begin, self.boot()));
        image
    }
}
