//! A host that caches sectors and writes them back in any order, with at most one write of each
//! buffer in flight (conformance vector 8). Every marked page is dropped at once.

use thermocline_fswatch::Guards;

use thermocline_testing::Draws;

use crate::{
    disk::{Disk, Drops, Sector, stamp},
    exfat_image::ExFatImage,
    fat_image::{END, Fat},
    tables_image::mbr,
};

/// The content of the disk, as far as the host must know it.
enum Volume {
    Fat(Fat, Vec<u32>),
    ExFat(ExFatImage, Vec<bool>),
}

impl Volume {
    fn fat(per_cluster: u8) -> Self {
        let fat = Fat::new(64, 380, per_cluster);
        let entries = fat.empty();
        Self::Fat(fat, entries)
    }

    fn narrow(clusters: u32, per_cluster: u8, bits: u32) -> Self {
        let fat = Fat::narrow(64, clusters, per_cluster, bits);
        let entries = fat.empty();
        Self::Fat(fat, entries)
    }

    fn format(&self) -> Vec<(u64, Sector)> {
        match self {
            Self::Fat(fat, _) => {
                let mut image = fat.format();
                image.push((0, mbr(&[(0x0c, fat.begin, fat.total())])));
                image
            }
            Self::ExFat(image, _) => image.format(),
        }
    }

    fn end(&self) -> u64 {
        match self {
            Self::Fat(fat, _) => fat.begin + fat.total() + 64,
            Self::ExFat(image, _) => image.total(),
        }
    }

    fn clusters(&self) -> std::ops::Range<u32> {
        match self {
            Self::Fat(fat, _) => fat.first_free()..fat.clusters + 2,
            Self::ExFat(image, _) => image.first_free()..image.clusters + 2,
        }
    }

    fn cluster(&self, cluster: u32) -> std::ops::Range<u64> {
        match self {
            Self::Fat(fat, _) => fat.cluster(cluster),
            Self::ExFat(image, _) => image.cluster(cluster),
        }
    }

    /// The sectors, one in each copy of the table, that describe a cluster.
    fn records(&self, cluster: u32) -> Vec<u64> {
        match self {
            Self::Fat(fat, _) => {
                let in_copy =
                    |copy| fat.described(cluster).map(move |index| fat.table(copy, index));
                (0..fat.copies).flat_map(in_copy).collect()
            }
            Self::ExFat(image, _) => vec![image.bitmap_sector(cluster)],
        }
    }

    /// A sector of the table as in the host's memory.
    fn image(&self, sector: u64) -> Sector {
        match self {
            Self::Fat(fat, entries) => {
                let index = (sector - fat.table(0, 0)) as u32 % fat.table_sectors;
                fat.table_sector(entries, index)
            }
            Self::ExFat(image, used) => image.bitmap_content(used, sector),
        }
    }

    fn set(&mut self, cluster: u32, is_used: bool) {
        match self {
            Self::Fat(_, entries) => entries[cluster as usize] = if is_used { END } else { 0 },
            Self::ExFat(_, used) => used[cluster as usize] = is_used,
        }
    }

    /// Whether a sector of the table on the medium says that a cluster is in use.
    fn is_used_in(&self, sector: u64, record: &Sector, cluster: u32) -> bool {
        match self {
            Self::Fat(fat, _) => {
                // An entry may begin in one sector and end in the next.
                let index = (sector - fat.table(0, 0)) as u32 % fat.table_sectors;
                let begins = index * 8 * 512;
                let bits = cluster * fat.bits..(cluster + 1) * fat.bits;
                let here =
                    bits.filter_map(|bit| bit.checked_sub(begins).filter(|at| *at < 8 * 512));
                here.into_iter().any(|at| record[at as usize / 8] >> (at % 8) & 1 != 0)
            }
            Self::ExFat(..) => {
                let bit = (cluster as usize - 2) % 4096;
                record[bit / 8] >> (bit % 8) & 1 != 0
            }
        }
    }
}

/// A buffer of the host's cache, named by its first sector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Buffer {
    Record(u64),
    Data(u32),
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Losses {
    /// Dropped clusters that belonged to a file whose data were on the medium.
    live: u64,
    /// Dropped clusters that a table on the medium called in use.
    used_on_medium: u64,
    dropped: u64,
}

struct Host {
    disk: Disk,
    volume: Volume,
    draws: Draws,
    /// The file that owns a cluster, by a number that is never reused.
    owner: Vec<u64>,
    files: Vec<(u64, Vec<u32>)>,
    free: Vec<u32>,
    dirty: Vec<Buffer>,
    /// Writes in flight, with their data.
    flight: Vec<(Buffer, Vec<(u64, Sector)>)>,
    names: u64,
    losses: Losses,
}

impl Host {
    fn new(volume: Volume, per_page: usize, guards: Guards, seed: u64) -> Self {
        let sectors = volume.end().next_multiple_of(per_page as u64);
        let mut disk = Disk::with(sectors, per_page, Drops::AtOnce, |c| c.guards = guards);
        disk.write_all(&volume.format());
        assert!(disk.is_watched());
        Self {
            disk,
            owner: vec![0; volume.clusters().end as usize],
            free: volume.clusters().collect(),
            volume,
            draws: Draws(seed),
            files: vec![],
            dirty: vec![],
            flight: vec![],
            names: 0,
            losses: Losses::default(),
        }
    }

    fn soil(&mut self, buffer: Buffer) {
        if !self.dirty.contains(&buffer) {
            self.dirty.push(buffer);
        }
    }

    fn set(&mut self, cluster: u32, owner: u64) {
        self.owner[cluster as usize] = owner;
        self.volume.set(cluster, owner != 0);
        for sector in self.volume.records(cluster) {
            self.soil(Buffer::Record(sector));
        }
    }

    fn create(&mut self) {
        let length = 1 + self.draws.below(8) as usize;
        if self.free.len() < length + 40 {
            return self.delete();
        }
        self.names += 1;
        let mut clusters = vec![];
        for _ in 0..length {
            let at = self.draws.below(self.free.len() as u32) as usize;
            let cluster = self.free.swap_remove(at);
            self.set(cluster, self.names);
            self.soil(Buffer::Data(cluster));
            clusters.push(cluster);
        }
        self.files.push((self.names, clusters));
    }

    /// Deletes or truncates a file.
    fn delete(&mut self) {
        if self.files.is_empty() {
            return;
        }
        let at = self.draws.below(self.files.len() as u32) as usize;
        let keeps = self.draws.below(2 * self.files[at].1.len() as u32) as usize;
        let keeps = if keeps < self.files[at].1.len() { keeps } else { 0 };
        let cut = self.files[at].1.split_off(keeps);
        if keeps == 0 {
            self.files.swap_remove(at);
        }
        for cluster in cut {
            self.set(cluster, 0);
            // Dirty data need not be written; writes in flight will arrive.
            self.dirty.retain(|buffer| *buffer != Buffer::Data(cluster));
            self.free.push(cluster);
        }
    }

    fn overwrite(&mut self) {
        if self.files.is_empty() {
            return;
        }
        let at = self.draws.below(self.files.len() as u32) as usize;
        let file = &self.files[at].1;
        let cluster = file[self.draws.below(file.len() as u32) as usize];
        self.soil(Buffer::Data(cluster));
    }

    /// Issues the write of a dirty buffer that is not in flight, with its current content.
    fn issue(&mut self) {
        if self.dirty.is_empty() {
            return;
        }
        let at = self.draws.below(self.dirty.len() as u32) as usize;
        let buffer = self.dirty[at];
        if self.flight.iter().any(|(other, _)| *other == buffer) {
            return;
        }
        self.dirty.swap_remove(at);
        let content = match buffer {
            Buffer::Record(sector) => vec![(sector, self.volume.image(sector))],
            Buffer::Data(cluster) => {
                let owner = self.owner[cluster as usize];
                self.volume
                    .cluster(cluster)
                    .map(|s| (s, stamp(u64::from(cluster), owner)))
                    .collect()
            }
        };
        self.flight.push((buffer, content));
    }

    fn complete(&mut self) {
        if self.flight.is_empty() {
            return;
        }
        let at = self.draws.below(self.flight.len() as u32) as usize;
        let (_, content) = self.flight.swap_remove(at);
        for (sector, content) in content {
            self.disk.write(sector, &content);
        }
        for (_, page) in std::mem::take(&mut self.disk.layer.inner_mut().dropped) {
            for sector in page.chunks_exact(512) {
                self.lost(sector);
            }
        }
    }

    fn lost(&mut self, sector: &[u8]) {
        let word = |at| u64::from_le_bytes(sector[at..at + 8].try_into().expect("eight"));
        let (cluster, owner) = (word(0), word(8));
        if owner == 0 {
            return;
        }
        self.losses.dropped += 1;
        self.losses.live += u64::from(self.owner[cluster as usize] == owner);
        let cluster = cluster as u32;
        self.losses.used_on_medium +=
            u64::from(self.volume.records(cluster).into_iter().any(|r| {
                let record = self.disk.read(r);
                self.volume.is_used_in(r, &record, cluster)
            }));
    }

    fn step(&mut self) {
        match self.draws.below(20) {
            0 => self.create(),
            1 => self.delete(),
            2 => self.overwrite(),
            3..=10 => self.issue(),
            _ => self.complete(),
        }
    }

    /// Writes everything back, and reads all files from the medium.
    fn finish(mut self) -> Losses {
        while !self.dirty.is_empty() || !self.flight.is_empty() {
            self.issue();
            self.complete();
        }
        let mut unreadable = 0;
        for (owner, clusters) in std::mem::take(&mut self.files) {
            for cluster in clusters {
                let expected = stamp(u64::from(cluster), owner);
                unreadable +=
                    u64::from(self.volume.cluster(cluster).any(|s| self.disk.read(s) != expected));
            }
        }
        assert!(unreadable == 0 || self.losses.live > 0, "{unreadable} lost and nobody noticed");
        self.losses
    }
}

fn fuzz(volume: impl Fn() -> Volume, per_page: usize, guards: Guards, runs: u64) -> Losses {
    let mut all = Losses::default();
    for seed in 0..runs {
        let mut host = Host::new(volume(), per_page, guards, seed);
        for _ in 0..40_000 {
            host.step();
        }
        assert!(host.disk.is_watched(), "the host did nothing that its file system does not");
        let losses = host.finish();
        all.live += losses.live;
        all.used_on_medium += losses.used_on_medium;
        all.dropped += losses.dropped;
    }
    eprintln!("{guards:?}, {per_page} sectors a page: {all:?}");
    all
}

#[test]
fn no_live_cluster_is_lost_in_any_order_of_writes() {
    let losses = fuzz(|| Volume::fat(1), 1, Guards::FULL, 40);
    assert_eq!((losses.live, losses.used_on_medium), (0, 0));
    assert!(losses.dropped > 100_000, "{losses:?}");
    for (clusters, bits, least) in [(380, 12, 15_000), (4200, 16, 7_000)] {
        let losses = fuzz(|| Volume::narrow(clusters, 1, bits), 1, Guards::FULL, 6);
        assert_eq!((losses.live, losses.used_on_medium), (0, 0), "FAT{bits}");
        assert!(losses.dropped > least, "FAT{bits}: {losses:?}");
    }
}

#[test]
fn no_live_page_is_lost_where_clusters_and_pages_differ() {
    // If a page holds several clusters, all must be free at once, which is rare here.
    for (per_cluster, per_page, least) in
        [(4, 1, 10_000), (4, 4, 5000), (8, 4, 5000), (1, 4, 50), (2, 8, 50)]
    {
        let losses = fuzz(|| Volume::fat(per_cluster), per_page, Guards::FULL, 4);
        assert_eq!((losses.live, losses.used_on_medium), (0, 0));
        assert!(losses.dropped > least, "{losses:?}");
    }
}

#[test]
fn every_guard_is_needed() {
    let thesis = fuzz(|| Volume::fat(1), 1, Guards::THESIS, 10);
    assert!(thesis.live > 0, "{thesis:?}");
    assert!(thesis.used_on_medium > 0, "{thesis:?}");
    let mirror = fuzz(|| Volume::fat(1), 1, Guards { mirror: true, twice: false }, 10);
    assert!(mirror.live > 0, "{mirror:?}");
    assert_eq!(mirror.used_on_medium, 0);
    let twice = fuzz(|| Volume::fat(1), 1, Guards { mirror: false, twice: true }, 10);
    assert_eq!(twice.live, 0);
    assert!(twice.used_on_medium > 0, "{twice:?}");
}

#[test]
fn one_bitmap_is_guarded_by_its_second_write() {
    for (per_cluster, per_page) in [(1, 1), (8, 8), (2, 8)] {
        let volume = || {
            let image = ExFatImage::new(0, 600, per_cluster);
            let used = image.empty();
            Volume::ExFat(image, used)
        };
        let losses = fuzz(volume, per_page, Guards::FULL, 8);
        assert_eq!((losses.live, losses.used_on_medium), (0, 0));
        assert!(losses.dropped > 1000, "{losses:?}");
        if per_page == 1 {
            assert!(fuzz(volume, per_page, Guards::THESIS, 8).live > 0);
        }
    }
}
