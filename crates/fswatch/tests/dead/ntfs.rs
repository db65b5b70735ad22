//! NTFS: the bitmap shows which clusters are free, and the log's restart pages when that counts.

use crate::{
    disk::{Disk, Drops, SECTOR, Sector, at, stamp},
    exfat_image::ExFatImage,
    fat_image::Fat,
    ntfs_image::{BITMAP, LOG, MFT, NtfsImage, Restart},
    tables_image::{BASIC_DATA, gpt, mbr},
};

const DEVICE: u64 = 65_536;

/// Two sectors of bitmap.
fn image(has_log: bool) -> NtfsImage {
    NtfsImage::new(64, 4900, 8, has_log)
}

/// Whether an image with some bytes changed before it is written is watched.
fn is_found(image: &NtfsImage, change: impl FnOnce(&mut Vec<(u64, Sector)>)) -> bool {
    let mut disk = Disk::new(DEVICE, 1);
    disk.write(0, &mbr(&[(0x07, image.begin, image.total())]));
    let mut sectors = image.format();
    change(&mut sectors);
    disk.write_all(&sectors);
    let while_written = disk.is_watched();
    assert_eq!(disk.power_cycle().is_watched(), while_written);
    while_written
}

/// A simple host that writes sectors in the given order.
struct Plain {
    disk: Disk,
    image: NtfsImage,
    used: Vec<bool>,
    /// The last record of the log.
    current: u64,
}

impl Plain {
    fn new(image: NtfsImage, per_page: usize, drops: Drops) -> Self {
        let mut disk = Disk::with(DEVICE, per_page, drops, |_| {});
        if image.begin > 0 {
            disk.write(0, &mbr(&[(0x07, image.begin, image.total())]));
        }
        disk.write_all(&image.format());
        assert!(disk.is_watched(), "{image:?}");
        Self { disk, used: image.empty(), image, current: 100 }
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

    /// A checkpoint, after which a recovery needs records from so many before it on.
    fn checkpoint(&mut self, needed: u64, is_clean: bool) {
        self.current += 10;
        let (current, oldest) = (self.current, self.current - needed);
        let restart = Restart { current, checkpoint: current, oldest, is_clean };
        let sector = self.image.restart_sector(current / 10 % 2);
        self.disk.write(sector, &self.image.restart(restart));
    }

    fn marked(&self) -> u64 {
        self.disk.dead().sectors_marked
    }
}

#[test]
fn a_volume_is_found_behind_each_kind_of_table() {
    for (per_page, has_log) in [(1, false), (8, true)] {
        for begin in [0, 64] {
            for per_cluster in [1, 2, 8, 128, 256] {
                let clusters = 39_200 / per_cluster;
                Plain::new(
                    NtfsImage::new(begin, clusters, per_cluster, has_log),
                    per_page,
                    Drops::AtOnce,
                );
            }
        }
        let mut disk = Disk::new(DEVICE, per_page);
        disk.write_all(&gpt(DEVICE, &[(BASIC_DATA, 64..64 + image(has_log).total())]));
        disk.write_all(&image(has_log).format());
        assert!(disk.is_watched());
        assert!(disk.power_cycle().is_watched());
    }
}

#[test]
fn it_is_found_among_others() {
    let (fat, exfat) = (Fat::new(64, 500, 4), ExFatImage::new(4096, 1000, 4));
    let ntfs = NtfsImage::new(16_384, 2000, 8, true);
    let mut disk = Disk::new(DEVICE, 1);
    disk.write(
        0,
        &mbr(&[
            (0x0c, 64, fat.total()),
            (0x07, 4096, exfat.total() - 4096),
            (0x07, 16_384, ntfs.total()),
        ]),
    );
    for (count, image) in (1..).zip([fat.format(), exfat.format(), ntfs.format()]) {
        disk.write_all(&image);
        assert_eq!(disk.layer.volumes(), count);
    }
    assert_eq!(disk.power_cycle().layer.volumes(), 3);
}

#[test]
fn every_record_must_fit() {
    type Change = (&'static str, u64, fn(&mut Sector));
    let image = image(true);
    assert!(is_found(&image, |_| {}));
    let (begin, copy) = (image.begin, image.begin + image.total() - 1);
    let [mft, log, bitmap] = [MFT, LOG, BITMAP].map(|number| image.record_sector(number));
    let [first, second] = [0, 1].map(|copy| image.restart_sector(copy));
    let bits = image.bitmap_sector(0);
    let changes: [Change; 36] = [
        ("signature", begin, |s| s[510] = 0),
        ("name", begin, |s| s[3] = b'M'),
        ("other sectors", begin, |s| s[12] = 4),
        ("reserved sectors", begin, |s| s[14] = 1),
        ("no cluster", begin, |s| s[13] = 0),
        ("odd clusters", begin, |s| s[13] = 3),
        ("huge clusters", begin, |s| s[13] = 0xf3),
        ("longer than the partition", begin, |s| s[40] += 1),
        ("huge", begin, |s| s[47] = 0xff),
        ("no table", begin, |s| s[48..56].fill(0)),
        ("table beyond the volume", begin, |s| s[48..50].fill(0xff)),
        ("huge records", begin, |s| s[64] = 0x80),
        ("records of no size", begin, |s| s[64] = 0),
        ("another table than in the copy", copy, |s| s[48] += 1),
        ("no copy", copy, |s| s.fill(0)),
        ("no record", mft, |s| s[0] = b'B'),
        ("record not in use", mft, |s| s[22] = 0),
        ("torn record", mft, |s| s[510] ^= 1),
        ("torn log's record", log, |s| s[48] ^= 1),
        ("torn bitmap's record", bitmap + 1, |s| s[510] ^= 1),
        ("fixup in the attributes", bitmap, |s| s[4] = 56),
        ("attributes beyond the record", bitmap, |s| s[20..22].fill(0xf8)),
        ("more than the record", bitmap, |s| s[26] = 1),
        ("no attribute's end", bitmap, |s| s[60] = 0),
        ("list of attributes", bitmap, |s| s[56] = 0x20),
        ("resident", bitmap, |s| s[160] = 0),
        ("compressed", bitmap, |s| s[164] = 1),
        ("sparse", bitmap, |s| s[165] = 0x80),
        ("short", bitmap, |s| s[208..210].copy_from_slice(&[0, 2])),
        ("a hole", bitmap, |s| s[216] = 0x04),
        ("run of no length", bitmap, |s| s[217] = 0),
        ("run beyond the volume", bitmap, |s| s[222] = 1),
        ("run before the volume", bitmap, |s| s[223] = 0xff),
        ("run without its end", bitmap, |s| s[216] = 0xff),
        ("own cluster free", bits, |s| s[0] &= !1),
        ("not a log of NTFS", first, |s| s[0x30 + 8] = 2),
    ];
    for (what, sector, change) in changes {
        let is_log = sector == first;
        let found = is_found(&image, |sectors| {
            change(at(sectors, sector));
            if is_log {
                change(at(sectors, second));
            }
        });
        assert!(!found, "{what}");
    }
    let overlapping = image.record_with(&[(4, 16)], 65_536, |_| {});
    assert!(!is_found(&image, |sectors| *at(sectors, log) = overlapping[0]));
    // One restart page is enough, as a host needs only one.
    assert!(is_found(&image, |sectors| at(sectors, first).fill(0)));
    assert!(is_found(&image, |sectors| at(sectors, second).fill(0xff)));
}

#[test]
fn a_volume_with_shadow_copies_is_left_alone() {
    let mut host = Plain::new(image(false), 1, Drops::Never);
    host.fill(&[200, 201]);
    host.set(&[200, 201], false);
    assert_eq!(host.disk.layer.inner().marked(), 16);
    let place = host.image.begin + 15;
    let mut header = [0; SECTOR];
    header[..4].copy_from_slice(&[0x6b, 0x87, 0x08, 0x38]);
    host.disk.write(place, &header);
    assert!(!host.disk.is_watched());
    assert_eq!(host.disk.layer.inner().marked(), 0);
    let disk = host.disk.power_cycle();
    assert!(!disk.is_watched());
}

#[test]
fn without_a_log_the_second_write_of_the_bitmap_counts() {
    for per_page in [1, 8] {
        let mut host = Plain::new(image(false), per_page, Drops::AtOnce);
        host.fill(&[200, 201, 202]);
        host.fill(&[4890]);
        assert_eq!(host.marked(), 0);
        host.set(&[200, 201, 202], false);
        assert_eq!(host.marked(), 3 * 8);
        host.set(&[4890], false);
        assert_eq!(host.marked(), 4 * 8);
        // Data younger than the last bitmap need one more write of it.
        host.fill(&[300]);
        host.write_data(300);
        host.set(&[300], false);
        assert_eq!(host.marked(), 4 * 8);
        host.set(&[400], true);
        assert_eq!(host.marked(), 5 * 8);
    }
}

#[test]
fn with_a_log_a_free_counts_after_three_rounds() {
    for per_page in [1, 8] {
        let mut host = Plain::new(image(true), per_page, Drops::AtOnce);
        host.fill(&[200]);
        host.set(&[200], false);
        // Checkpoints alone do not help while a recovery needs what is older.
        let needed = host.current;
        for _ in 0..10 {
            host.checkpoint(host.current - needed + 10, false);
        }
        assert_eq!(host.marked(), 0);
        // Then it needs only the last. The first ends a round that began long ago, and every second
        // one more.
        let marked: Vec<u64> = (0..6)
            .map(|_| {
                host.checkpoint(0, false);
                host.marked()
            })
            .collect();
        assert_eq!(marked, [0, 0, 0, 0, 8, 8]);
    }
}

#[test]
fn what_is_written_begins_its_rounds_anew() {
    let mut host = Plain::new(image(true), 1, Drops::AtOnce);
    host.fill(&[200, 201, 202]);
    host.set(&[200, 201], false);
    (0..4).for_each(|_| host.checkpoint(0, false));
    // One is written, which a file does that the bitmap does not show yet, and one is freed late.
    host.write_data(200);
    host.set(&[202], false);
    (0..2).for_each(|_| host.checkpoint(0, false));
    assert_eq!(host.marked(), 8);
    (0..4).for_each(|_| host.checkpoint(0, false));
    assert_eq!(host.marked(), 16);
    host.set(&[300], true);
    (0..6).for_each(|_| host.checkpoint(0, false));
    assert_eq!(host.marked(), 24);
    // One is written when its rounds are nearly over, and the bitmap twice without it.
    host.fill(&[203]);
    host.set(&[203], false);
    (0..4).for_each(|_| host.checkpoint(0, false));
    host.write_data(203);
    host.set(&[301], true);
    host.set(&[302], true);
    (0..4).for_each(|_| host.checkpoint(0, false));
    assert_eq!(host.marked(), 24);
    (0..2).for_each(|_| host.checkpoint(0, false));
    assert_eq!(host.marked(), 32);
}

#[test]
fn two_clean_restart_pages_count() {
    let mut host = Plain::new(image(true), 1, Drops::AtOnce);
    host.fill(&[200, 201]);
    host.set(&[200], false);
    host.checkpoint(0, true);
    assert_eq!(host.marked(), 0);
    host.set(&[201], false);
    host.checkpoint(0, true);
    assert_eq!(host.marked(), 8);
    host.checkpoint(0, true);
    assert_eq!(host.marked(), 16);
    // One alone is worth a round.
    host.checkpoint(0, false);
    host.fill(&[202]);
    host.set(&[202], false);
    for (is_clean, expected) in [(true, 16), (false, 16), (true, 16), (false, 16), (true, 24)] {
        host.checkpoint(0, is_clean);
        assert_eq!(host.marked(), expected);
    }
}

#[test]
fn a_bitmap_of_several_runs_is_watched() {
    // Five sectors of bitmap in clusters of one sector.
    let mut image = NtfsImage::new(64, 20_000, 1, false);
    image.bitmap_runs = 3;
    let mut host = Plain::new(image, 1, Drops::AtOnce);
    for cluster in [400, 4500, 9000, 13_000, 19_999] {
        host.fill(&[cluster]);
        let before = host.marked();
        host.set(&[cluster], false);
        assert_eq!(host.marked(), before + 1, "cluster {cluster}");
    }
    assert!(host.disk.power_cycle().is_watched());
}

#[test]
fn allocated_clusters_are_revived() {
    let mut host = Plain::new(image(false), 1, Drops::Never);
    host.fill(&[200, 201]);
    host.set(&[200, 201], false);
    assert_eq!(host.disk.layer.inner().marked(), 16);
    host.set(&[201], true);
    assert_eq!(host.disk.layer.inner().marked(), 8);
    assert_eq!(host.disk.dead().sectors_revived, 8);
}

#[test]
fn the_records_of_every_day_do_not_end_the_watch() {
    for (per_page, has_log) in [(1, true), (8, false)] {
        let mut host = Plain::new(image(has_log), per_page, Drops::AtOnce);
        let image = host.image.clone();
        // The table grows, and its record is written with other sequence numbers.
        let table = image.record(MFT);
        let first = (image.record_sector(MFT) - image.begin) as u32 / 8;
        let runs = [(first, 4), (1000, 64)];
        let grown = image.record_with(&runs, 60 * 1024, |r| r[48] = 9);
        for record in [&grown, &table] {
            for (sector, content) in (image.record_sector(MFT)..).zip(record) {
                host.disk.write(sector, content);
            }
        }
        host.disk.write(image.record_sector(3), &stamp(1, 1));
        host.disk.write(image.begin, &image.boot());
        assert_eq!(host.disk.dead().disarmed, 0);
        assert!(host.disk.is_watched());
    }
}

#[test]
fn whatever_makes_another_volume_of_it_ends_the_watch_and_revives() {
    type Write = (&'static str, fn(&NtfsImage) -> (u64, Sector));
    let writes: [Write; 9] = [
        ("another boot sector", |i| (i.begin, stamp(1, 1))),
        ("another table", |i| {
            let mut boot = i.boot();
            boot[48] += 1;
            (i.begin, boot)
        }),
        ("another copy", |i| (i.begin + i.total() - 1, stamp(1, 1))),
        ("no record", |i| (i.record_sector(BITMAP), stamp(1, 1))),
        ("another bitmap", |i| {
            let record =
                i.record_with(&[(2000, 1)], u64::from(i.clusters.div_ceil(64)) * 8, |_| {});
            (i.record_sector(BITMAP), record[0])
        }),
        ("another log", |i| {
            (i.record_sector(LOG), i.record_with(&[(2000, 16)], 65_536, |_| {})[0])
        }),
        ("a log begun", |i| {
            let restart = Restart { current: 9, checkpoint: 9, oldest: 9, is_clean: false };
            (i.restart_sector(0), i.restart(restart))
        }),
        ("a checking program's log", |i| {
            let mut page = [0; SECTOR];
            page[..4].copy_from_slice(b"CHKD");
            (i.restart_sector(1), page)
        }),
        ("bitmap without its own clusters", |i| (i.bitmap_sector(2), [0; SECTOR])),
    ];
    for (what, write) in writes {
        let mut host = Plain::new(image(false), 1, Drops::Never);
        host.fill(&[200, 201]);
        host.set(&[200, 201], false);
        assert_eq!(host.disk.layer.inner().marked(), 16);
        let (sector, content) = write(&host.image);
        host.disk.write(sector, &content);
        assert_eq!(host.disk.dead().disarmed, 1, "{what}");
        assert_eq!(host.disk.layer.inner().marked(), 0, "{what}");
        // With a log it is a volume too.
        assert_eq!(host.disk.is_watched(), what == "a log begun", "{what}");
        let image = host.image.format();
        host.disk.write_all(&image);
        assert!(host.disk.is_watched(), "{what}");
    }
}

#[test]
fn a_log_that_begins_anew_is_not_believed_for_what_was_before() {
    let mut host = Plain::new(image(true), 1, Drops::AtOnce);
    host.fill(&[200]);
    host.set(&[200], false);
    (0..4).for_each(|_| host.checkpoint(0, false));
    host.current = 0;
    (0..10).for_each(|_| host.checkpoint(0, false));
    assert_eq!(host.marked(), 0);
    assert!(host.disk.is_watched());
    // Linux' drivers fill the log with ones.
    for copy in 0..2 {
        host.disk.write(host.image.restart_sector(copy), &[0xff; SECTOR]);
    }
    assert!(host.disk.is_watched());
    host.fill(&[201]);
    host.set(&[201], false);
    assert_eq!(host.marked(), 8);
}

#[test]
fn a_host_that_trims_is_no_longer_watched() {
    let mut host = Plain::new(image(false), 1, Drops::Never);
    host.fill(&[200, 201]);
    host.set(&[200], false);
    let sector = host.image.cluster(300).start;
    host.disk.trim(sector);
    assert!(!host.disk.is_watched());
    assert_eq!(host.disk.layer.inner().marked(), 0);
}
