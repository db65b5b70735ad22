//! exFAT: the bitmap shows which clusters are free.

use crate::{
    disk::{Disk, Drops, SECTOR, Sector, at, stamp},
    exfat_image::ExFatImage,
    tables_image::{BASIC_DATA, gpt, mbr},
};

const DEVICE: u64 = 65_536;

/// Two sectors of bitmap.
fn image() -> ExFatImage {
    ExFatImage::new(64, 4900, 8)
}

/// Number of volumes found in an image with some bytes changed before it is written.
fn found_with(image: &ExFatImage, change: impl FnOnce(&mut Vec<(u64, Sector)>)) -> usize {
    let mut disk = Disk::new(DEVICE, 1);
    disk.write(0, &mbr(&[(0x07, image.begin, image.total() - image.begin)]));
    let mut sectors = image.format();
    change(&mut sectors);
    disk.write_all(&sectors);
    let while_written = disk.layer.volumes();
    assert_eq!(disk.power_cycle().layer.volumes(), while_written);
    while_written
}

/// A simple host that writes sectors in the given order.
struct Plain {
    disk: Disk,
    image: ExFatImage,
    used: Vec<bool>,
}

impl Plain {
    fn new(image: ExFatImage, per_page: usize, drops: Drops) -> Self {
        let mut disk = Disk::with(DEVICE, per_page, drops, |_| {});
        if image.begin > 0 {
            disk.write(0, &mbr(&[(0x07, image.begin, image.total() - image.begin)]));
        }
        disk.write_all(&image.format());
        assert!(disk.is_watched());
        Self { disk, image, used: image.empty() }
    }

    fn set(&mut self, clusters: &[u32], is_used: bool) {
        clusters.iter().for_each(|cluster| self.used[*cluster as usize] = is_used);
        let sector = self.image.bitmap_sector(clusters[0]);
        self.disk.write(sector, &self.image.bitmap_content(&self.used, sector));
    }

    fn write_data(&mut self, cluster: u32) {
        self.image.cluster(cluster).for_each(|s| self.disk.write(s, &stamp(s, 1)));
    }

    fn fill(&mut self, clusters: &[u32]) {
        clusters.iter().for_each(|cluster| self.write_data(*cluster));
        self.set(clusters, true);
    }
}

#[test]
fn a_volume_is_found_behind_each_kind_of_table() {
    for per_page in [1, 8] {
        for begin in [0, 64] {
            Plain::new(ExFatImage::new(begin, 4900, 8), per_page, Drops::AtOnce);
        }
        let mut disk = Disk::new(DEVICE, per_page);
        disk.write_all(&gpt(DEVICE, &[(BASIC_DATA, 64..DEVICE - 40)]));
        disk.write_all(&image().format());
        assert!(disk.is_watched());
        assert!(disk.power_cycle().is_watched());
    }
}

#[test]
fn every_record_must_fit() {
    let image = image();
    assert_eq!(found_with(&image, |_| {}), 1);
    type Change = (&'static str, u64, fn(&mut Sector));
    let changes: [Change; 18] = [
        ("signature", 0, |s| s[510] = 0),
        ("name", 0, |s| s[3] = b'N'),
        ("what must be zero", 0, |s| s[20] = 1),
        ("checksum of the first sector", 0, |s| s[100] ^= 1),
        ("checksum of another", 5, |s| s[7] = 1),
        ("checksum", 11, |s| s[500] ^= 1),
        ("second FAT in use", 0, |s| s[106] = 1),
        ("first entry of the FAT", 24, |s| s[3] = 0),
        ("second entry of the FAT", 24, |s| s[5] = 0),
        ("bitmap's chain", 24, |s| s[8] = 9),
        ("root's chain", 24, |s| s[8..12].fill(0)),
        ("no bitmap", image.cluster(image.root()).start - 64, |s| s[32] = 0x01),
        ("second bitmap", image.cluster(image.root()).start - 64, |s| s[33] = 1),
        ("bitmap in the boot sector", image.cluster(image.root()).start - 64, |s| s[52] = 0),
        ("bitmap beyond the volume", image.cluster(image.root()).start - 64, |s| s[54] = 1),
        ("bitmap in the root directory", image.cluster(image.root()).start - 64, |s| s[52] = 4),
        ("short bitmap", image.cluster(image.root()).start - 64, |s| s[57] = 1),
        ("long bitmap", image.cluster(image.root()).start - 64, |s| s[60] = 1),
    ];
    for (what, sector, change) in changes {
        let count = found_with(&image, |sectors| change(at(sectors, image.begin + sector)));
        assert_eq!(count, 0, "{what}");
    }
    // Changed fields of the boot sector, with a correct checksum.
    let with = |what: &str, expected: usize, change: fn(&mut ExFatImage)| {
        let mut changed = image;
        change(&mut changed);
        assert_eq!(found_with(&changed, |_| {}), expected, "{what}");
    };
    with("TexFAT", 0, |image| image.fats = 2);
    with("other sectors", 0, |image| image.sector_shift = 12);
    with("large clusters of one sector", 1, |image| image.per_cluster = 1);
    with("root of several clusters", 1, |image| image.root_clusters = 4);
}

#[test]
fn the_bitmap_is_found_in_any_cluster_of_the_root_directory() {
    let mut image = image();
    image.root_clusters = 3;
    let first = image.cluster(image.root()).start;
    let moved = |sectors: &mut Vec<(u64, Sector)>| {
        // A directory full of deleted entries before it.
        for sector in first..first + 16 {
            let mut deleted = [0; SECTOR];
            deleted.iter_mut().step_by(32).for_each(|kind| *kind = 0x05);
            sectors.insert(sectors.len() - 24, (sector, deleted));
        }
        sectors.insert(sectors.len() - 24, (first + 16, image.root_sector()));
    };
    assert_eq!(found_with(&image, moved), 1);
    // A chain that leads back to its start.
    let looped = |sectors: &mut Vec<(u64, Sector)>| {
        moved(sectors);
        sectors.retain(|(sector, _)| *sector != first + 16);
        let root = image.root();
        let entries = at(sectors, image.fat());
        entries[4 * root as usize..][..4].copy_from_slice(&root.to_le_bytes());
    };
    assert_eq!(found_with(&image, looped), 0);
}

#[test]
fn freed_clusters_are_dead_at_the_second_write_of_the_bitmap() {
    for per_page in [1, 8] {
        let mut host = Plain::new(image(), per_page, Drops::AtOnce);
        host.fill(&[20, 21, 22]);
        host.fill(&[4890]);
        assert_eq!(host.disk.dead().sectors_marked, 0);
        host.set(&[20, 21, 22], false);
        assert_eq!(host.disk.dead().sectors_marked, 3 * 8);
        host.set(&[4890], false);
        assert_eq!(host.disk.dead().sectors_marked, 4 * 8);
        assert_eq!(host.disk.dropped(), 4 * 8);
        // Data younger than the last bitmap need one more write of it.
        host.fill(&[30]);
        host.write_data(30);
        host.set(&[30], false);
        assert_eq!(host.disk.dead().sectors_marked, 4 * 8);
        host.set(&[40], true);
        assert_eq!(host.disk.dead().sectors_marked, 5 * 8);
    }
}

#[test]
fn allocated_clusters_are_revived() {
    let mut host = Plain::new(image(), 1, Drops::Never);
    host.fill(&[20, 21]);
    host.set(&[20, 21], false);
    assert_eq!(host.disk.layer.inner().marked(), 16);
    host.set(&[21], true);
    assert_eq!(host.disk.layer.inner().marked(), 8);
    assert_eq!(host.disk.dead().sectors_revived, 8);
}

#[test]
fn the_records_of_every_day_do_not_end_the_watch() {
    for per_page in [1, 8] {
        let mut host = Plain::new(image(), per_page, Drops::AtOnce);
        let image = host.image;
        host.fill(&[20]);
        let mut boot = image.boot();
        for (flags, used) in [(2, 0xff), (0, 7), (4, 9)] {
            (boot[106], boot[112]) = (flags, used);
            host.disk.write(image.begin, &boot);
        }
        // A file's entries in the root directory, and a second cluster of it.
        let mut root = image.root_sector();
        root[96] = 0x85;
        root[128] = 0xc0;
        host.disk.write(image.cluster(image.root()).start, &root);
        host.disk.write(image.cluster(image.root()).start + 3, &stamp(0x85, 1));
        let mut entries = image.entries();
        entries[image.root() as usize] = 100;
        entries[100] = 0xffff_ffff;
        host.disk.write(image.fat(), &image.fat_sector(&entries, 0));
        host.set(&[20], false);
        assert_eq!(host.disk.dead().sectors_marked, 8);
        assert_eq!(host.disk.dead().disarmed, 0);
    }
}

#[test]
fn whatever_no_exfat_writes_ends_the_watch_and_revives() {
    type Write = (&'static str, fn(&ExFatImage) -> (u64, Sector));
    let writes: [Write; 10] = [
        ("boot sector", |i| (i.begin, stamp(1, 1))),
        ("ext4's superblock", |i| (i.begin + 2, stamp(0, 0))),
        ("second FAT in use", |i| {
            let mut boot = i.boot();
            boot[106] = 1;
            (i.begin, boot)
        }),
        ("between the boot regions and the heap", |i| (i.heap() - 1, stamp(3, 3))),
        ("strange FAT", |i| (i.fat() + 3, stamp(4, 4))),
        ("another medium", |i| (i.fat(), [0; SECTOR])),
        ("bitmap's chain", |i| {
            let mut entries = i.entries();
            entries[2] = 3;
            (i.fat(), i.fat_sector(&entries, 0))
        }),
        ("bitmap without its own clusters", |i| (i.bitmap_sector(2), [0; SECTOR])),
        ("bitmap beyond the last cluster", |i| (i.bitmap_sector(4890), [0xff; SECTOR])),
        ("other bitmap", |i| {
            let mut root = i.root_sector();
            root[52] = 9;
            (i.cluster(i.root()).start, root)
        }),
    ];
    for (what, write) in writes {
        let mut host = Plain::new(image(), 1, Drops::Never);
        host.fill(&[20, 21]);
        host.set(&[20, 21], false);
        assert_eq!(host.disk.layer.inner().marked(), 16);
        let (sector, content) = write(&host.image);
        host.disk.write(sector, &content);
        assert_eq!(host.disk.dead().disarmed, 1, "{what}");
        assert_eq!(host.disk.layer.inner().marked(), 0, "{what}");
        // Writes between the regions do not change the volume, so it is found again.
        assert_eq!(host.disk.is_watched(), what.starts_with("between"), "{what}");
    }
}

#[test]
fn a_host_that_trims_is_no_longer_watched() {
    let mut host = Plain::new(image(), 1, Drops::Never);
    host.fill(&[20, 21]);
    host.set(&[20], false);
    let sector = host.image.cluster(300).start;
    host.disk.trim(sector);
    assert!(!host.disk.is_watched());
    assert_eq!(host.disk.layer.inner().marked(), 0);
    let image = host.image.format();
    host.disk.write_all(&image);
    assert!(!host.disk.is_watched());
}
