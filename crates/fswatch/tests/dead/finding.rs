//! File systems are found behind every kind of table, and only if everything is consistent.

use crate::{
    disk::{Disk, SECTOR, Sector},
    fat_image::Fat,
    tables_image::{BASIC_DATA, EFI_SYSTEM, LINUX, gpt, mbr},
};

const DEVICE: u64 = 16_384;

/// Number of volumes found at power-up on a disk with these sectors.
fn found(image: &[(u64, Sector)]) -> usize {
    found_in_pages_of(1, image)
}

fn found_in_pages_of(per_page: usize, image: &[(u64, Sector)]) -> usize {
    let mut disk = Disk::new(DEVICE, per_page);
    disk.write_all(image);
    let while_written = disk.layer.volumes();
    let disk = disk.power_cycle();
    assert_eq!(disk.layer.volumes(), while_written, "the same is found at power-up as before");
    while_written
}

/// Number of volumes found on a disk with a volume at 64 behind an MBR, with one sector changed.
fn found_with(fat: &Fat, sector: u64, change: impl FnOnce(&mut Sector)) -> usize {
    let mut image = vec![(0, mbr(&[(0x0c, fat.begin, fat.total())]))];
    image.extend(fat.format());
    let found_there = image.iter_mut().find(|(at, _)| *at == sector).expect("a written sector");
    change(&mut found_there.1);
    found(&image)
}

fn fat() -> Fat {
    Fat::new(64, 500, 4)
}

#[test]
fn a_volume_is_found_behind_each_kind_of_table() {
    for per_page in [1, 8] {
        let fat = fat();
        let (fat12, fat16) = (Fat::narrow(64, 500, 4, 12), Fat::narrow(64, 5000, 1, 16));
        for (kind, fat) in [
            (0x0b, fat),
            (0x0c, fat),
            (0x07, fat),
            (0x01, fat12),
            (0x04, fat16),
            (0x06, fat16),
            (0x0e, fat16),
        ] {
            let mut image = vec![(0, mbr(&[(0x83, 10, 20), (kind, fat.begin, fat.total())]))];
            image.extend(fat.format());
            assert_eq!(found_in_pages_of(per_page, &image), 1, "MBR, type {kind:#x}");
        }
        for kind in [BASIC_DATA, EFI_SYSTEM] {
            let mut image = gpt(DEVICE, &[(LINUX, 40..60), (kind, 64..64 + fat.total())]);
            image.extend(fat.format());
            assert_eq!(found_in_pages_of(per_page, &image), 1, "GPT, {kind}");
        }
        for whole in [Fat::new(0, 500, 4), Fat::narrow(0, 2847, 1, 12), Fat::narrow(0, 5000, 1, 16)]
        {
            assert_eq!(found_in_pages_of(per_page, &whole.format()), 1, "no table, {whole:?}");
        }
    }
}

#[test]
fn logical_partitions_are_found_along_their_chain() {
    // The n-th link is at 1000 n in the container, and its volume 8 behind it.
    let chain = |links: u64| {
        let mut image = vec![(0, mbr(&[(0x0f, 100, 16_000)]))];
        for link in 0..links {
            let fat = Fat::new(100 + 800 * link + 8, 100, 4);
            let mut entries = vec![(0x0b, 8, fat.total())];
            if link + 1 < links {
                entries.push((0x05, 800 * (link + 1), 800));
            }
            image.push((100 + 800 * link, mbr(&entries)));
            image.extend(fat.format());
        }
        image
    };
    assert_eq!(found(&chain(1)), 1);
    assert_eq!(found(&chain(7)), 7);
    assert_eq!(found(&chain(16)), 16);
    assert_eq!(found(&chain(17)), 0, "longer than anybody makes them");
    // A cyclic chain ends.
    let mut image = chain(2);
    image.push((900, mbr(&[(0x0b, 8, 500), (0x05, 800, 800)])));
    assert_eq!(found(&image), 0);
    let mut image = chain(2);
    image.push((900, [0; SECTOR]));
    assert_eq!(found(&image), 0, "a link that is no table");
}

#[test]
fn partitions_that_overlap_are_none() {
    let (a, b) = (Fat::new(64, 500, 4), Fat::new(4096, 500, 4));
    let both = |table: Vec<(u64, Sector)>| {
        let mut image = table;
        image.extend(a.format());
        image.extend(b.format());
        found(&image)
    };
    let one = |entries: &[(u8, u64, u64)]| both(vec![(0, mbr(entries))]);
    assert_eq!(one(&[(0x0c, 64, a.total()), (0x0c, 4096, b.total())]), 2);
    assert_eq!(one(&[(0x0c, 64, 4096), (0x0c, 4096, b.total())]), 0);
    assert_eq!(one(&[(0x0c, 64, a.total()), (0x83, 65, 1)]), 0);
    assert_eq!(one(&[(0x0c, 64, a.total()), (0x0f, 65, 8000)]), 0);
    assert_eq!(one(&[(0x0c, 64, a.total()), (0x0c, 4096, DEVICE)]), 1, "beyond the device");
    let of = |a: std::ops::Range<u64>, b| both(gpt(DEVICE, &[(BASIC_DATA, a), (BASIC_DATA, b)]));
    assert_eq!(of(64..64 + a.total(), 4096..4096 + b.total()), 2);
    assert_eq!(of(64..4097, 4096..4096 + b.total()), 0);
    assert_eq!(of(20..64, 4096..4096 + b.total()), 0, "a partition in the table itself");
}

#[test]
fn a_partition_table_with_a_wrong_checksum_is_none() {
    let fat = fat();
    let table = gpt(DEVICE, &[(BASIC_DATA, 64..64 + fat.total())]);
    for (sector, byte) in [(1, 0), (1, 40), (1, 72), (1, 80), (1, 88), (2, 16), (2, 32), (20, 99)] {
        let mut image = table.clone();
        image.extend(fat.format());
        assert_eq!(found(&image), 1);
        image[sector].1[byte] ^= 1;
        assert_eq!(found(&image), 0, "sector {sector}, byte {byte}");
    }
}

#[test]
fn every_field_of_the_boot_sector_must_fit() {
    let fat = fat();
    type Change = (&'static str, fn(&mut Sector));
    let boot: [Change; 18] = [
        ("signature", |s| s[510] = 0),
        ("jump", |s| s[0] = 0x33),
        ("jump's end", |s| s[2] = 0),
        ("sector size", |s| s[12] = 4),
        ("no cluster size", |s| s[13] = 0),
        ("odd cluster size", |s| s[13] = 3),
        ("nothing reserved", |s| s[14] = 0),
        ("no tables", |s| s[16] = 0),
        ("three tables", |s| s[16] = 3),
        ("FAT16's root directory", |s| s[18] = 2),
        ("FAT16's length", |s| s[19] = 1),
        ("FAT16's tables", |s| s[22] = 1),
        ("longer than the partition", |s| s[34] = 1),
        ("no length", |s| s[32..36].fill(0)),
        ("short table", |s| s[36] = 1),
        ("version", |s| s[42] = 1),
        ("root directory nowhere", |s| s[45] = 9),
        ("active table that is not there", |s| s[40] = 0x82),
    ];
    assert_eq!(found_with(&fat, fat.begin, |_| {}), 1);
    for (what, change) in boot {
        assert_eq!(found_with(&fat, fat.begin, change), 0, "{what}");
    }
    for at in [0, 484, 510] {
        assert_eq!(found_with(&fat, fat.begin + 1, |s| s[at] ^= 1), 0, "FSInfo, byte {at}");
    }
    // The backup is the first sector that mke2fs clears and FAT32 needs.
    for at in [510, 13, 14, 36, 44] {
        assert_eq!(found_with(&fat, fat.begin + 6, |s| s[at] ^= 1), 0, "backup, byte {at}");
    }
    assert_eq!(
        found_with(&fat, fat.begin + 6, |s| s[67] ^= 1),
        1,
        "its serial number does not matter"
    );
    for copy in 0..2 {
        let first = fat.table(copy, 0);
        assert_eq!(found_with(&fat, first, |s| s[0] = 0xf0), 0, "another medium");
        assert_eq!(found_with(&fat, first, |s| s[4] = 0), 0, "no end in entry 1");
        assert_eq!(found_with(&fat, first, |s| s[7] = 0x03), 1, "a volume left in disorder");
    }
}

#[test]
fn small_volumes_are_fat16_unless_told_otherwise() {
    for (clusters, expected) in [(65_524, 0), (65_525, 1)] {
        let fat = Fat::new(64, clusters, 1);
        let mut disk =
            Disk::with(140_000, 1, crate::disk::Drops::AtOnce, |c| c.small_media = false);
        disk.write(0, &mbr(&[(0x0c, fat.begin, fat.total())]));
        disk.write_all(&fat.format());
        assert_eq!(disk.layer.volumes(), expected, "{clusters} clusters");
    }
}

#[test]
fn the_boot_sectors_of_other_file_systems_are_ignored() {
    let boot = |fields: &[(usize, &[u8])]| {
        let mut s = [0; SECTOR];
        for (at, bytes) in fields {
            s[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        s[510..].copy_from_slice(&[0x55, 0xaa]);
        s
    };
    let fat16: [(usize, &[u8]); 9] = [
        (0, b"\xeb\x3c\x90MSDOS5.0"),
        (11, &[0, 2, 4, 1, 0, 2]),
        (17, &[0, 2]),
        (19, &[0, 0x3f]),
        (21, &[0xf8]),
        (22, &[0x10, 0]),
        (24, &[0x3f, 0, 0xff, 0]),
        (38, &[0x29]),
        (54, b"FAT16   "),
    ];
    let mut fat12 = fat16;
    fat12[8] = (54, b"FAT12   ");
    let ntfs: [(usize, &[u8]); 6] = [
        (0, b"\xeb\x52\x90NTFS    "),
        (11, &[0, 2, 8]),
        (21, &[0xf8]),
        (36, &[0x80, 0, 0x80, 0]),
        (40, &[0xff, 0x3f, 0, 0, 0, 0, 0, 0]),
        (48, &[4, 0, 0, 0, 0, 0, 0, 0]),
    ];
    for (what, sector) in [("FAT16", boot(&fat16)), ("FAT12", boot(&fat12)), ("NTFS", boot(&ntfs))]
    {
        let mut image = fat().format();
        image.retain(|(at, _)| *at != 64);
        image.push((64, sector));
        image.push((0, mbr(&[(0x0c, 64, 8000)])));
        assert_eq!(found(&image), 0, "{what}");
        assert_eq!(found(&[(0, sector)]), 0, "{what} without a table");
    }
    // ext4 leaves the first two sectors alone, so an old FAT32 boot sector may remain.
    for (at, mark) in [
        (1080, &b"\x53\xef"[..]),
        (1024, b"\x10\x20\xf5\xf2"),
        (1024, b"LABELONE"),
        (4086, b"SWAPSPACE2"),
        (4096, b"\xfc\x4e\x2b\xa9"),
    ] {
        let mut image = fat().format();
        image.push((0, mbr(&[(0x0c, 64, 8000)])));
        let mut sector = [0; SECTOR];
        sector[at % SECTOR..at % SECTOR + mark.len()].copy_from_slice(mark);
        // The backup of the boot sector is not examined, so it may be overwritten.
        image.push((64 + (at / SECTOR) as u64, sector));
        assert_eq!(found(&image), 0, "mark at byte {at}");
    }
}
