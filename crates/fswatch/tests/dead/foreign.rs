//! Other software writes where FAT32 was: none of its data are lost.

use thermocline_fswatch::Guards;

use thermocline_testing::Draws;

use crate::{
    disk::{Disk, Drops, SECTOR, Sector, stamp},
    fat_image::{END, Fat},
    tables_image::mbr,
};

/// A volume in daily use: every sector of the table was written several times, and most clusters
/// belong to files.
fn used_volume(fat: Fat, guards: Guards) -> (Disk, Vec<u32>) {
    let mut disk =
        Disk::with(fat.begin + fat.total() + 64, 1, Drops::AtOnce, |c| c.guards = guards);
    disk.write(0, &mbr(&[(0x0c, fat.begin, fat.total())]));
    disk.write_all(&fat.format());
    let mut entries = fat.empty();
    for cluster in fat.first_free()..fat.clusters {
        for sector in fat.cluster(cluster) {
            disk.write(sector, &stamp(sector, 0));
        }
        entries[cluster as usize] = END;
    }
    write_tables(&mut disk, &fat, &entries);
    write_tables(&mut disk, &fat, &entries);
    assert!(disk.is_watched());
    (disk, entries)
}

fn write_tables(disk: &mut Disk, fat: &Fat, entries: &[u32]) {
    for copy in 0..fat.copies {
        for index in 0..fat.table_sectors {
            disk.write(fat.table(copy, index), &fat.table_sector(entries, index));
        }
    }
}

/// An ext4 with blocks of two sectors, in 8 groups of 2048 blocks.
struct Ext4 {
    begin: u64,
}

impl Ext4 {
    const BLOCKS: u64 = 16_384;

    /// The content of a block. Its kind follows from its number, as laid out by mke2fs.
    fn block(&self, number: u64, round: u64) -> [Sector; 2] {
        let mut block = [0; 2 * SECTOR];
        let in_group = number % 2048;
        let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
        match in_group {
            1 => {
                put(0, &2048u32.to_le_bytes());
                put(4, &(Self::BLOCKS as u32).to_le_bytes());
                put(20, &1u32.to_le_bytes());
                put(32, &2048u32.to_le_bytes());
                put(36, &2048u32.to_le_bytes());
                put(40, &256u32.to_le_bytes());
                put(48, &(round as u32).to_le_bytes());
                put(56, &[0x53, 0xef, 1, 0]);
                put(88, &256u16.to_le_bytes());
            }
            // Group descriptors.
            2 => (0..8u32).for_each(|group| {
                for (field, value) in [group * 2048 + 30, group * 2048 + 31, group * 2048 + 32]
                    .into_iter()
                    .enumerate()
                {
                    put(group as usize * 32 + field * 4, &value.to_le_bytes());
                }
            }),
            // Blocks reserved for more descriptors are empty, and so is most of the inode table.
            3..30 => {}
            30 | 31 => {
                let used = 96 + (round % 8) as usize;
                put(0, &[0xff; 2 * SECTOR][..used]);
            }
            32..96 => {
                let first = if in_group == 32 { round } else { 0 };
                for inode in 0..first.min(4) as usize {
                    put(inode * 256, &[0xa4, 0x81, 0xe8, 0x03]);
                    put(inode * 256 + 40, &[0x0a, 0xf3, 1, 0, 4, 0, 0, 0]);
                }
            }
            _ => {
                put(0, &stamp(number, round));
                put(SECTOR, &stamp(number, !round));
            }
        }
        let (a, b) = block.split_at(SECTOR);
        [a.try_into().expect("half"), b.try_into().expect("half")]
    }

    fn write(&self, disk: &mut Disk, number: u64, round: u64) {
        for (at, sector) in (self.begin + 2 * number..).zip(&self.block(number, round)) {
            disk.write(at, sector);
        }
    }

    /// Creates the file system and uses it for a while; returns the number of blocks lost. Blocks
    /// are written in random order in 8 parts, and the superblock at the start of part
    /// `superblock`. With `clears`, the sectors that mke2fs clears are cleared first.
    fn run(&self, disk: &mut Disk, seed: u64, superblock: u32, clears: bool) -> u64 {
        let mut draws = Draws(seed);
        if clears {
            (2..8).for_each(|sector| disk.write(self.begin + sector, &[0; SECTOR]));
        }
        let mut rounds = vec![None; Self::BLOCKS as usize];
        for part in 0..8 {
            if part == superblock {
                self.write(disk, 1, 1);
                rounds[1] = Some(1);
            }
            for _ in 0..Self::BLOCKS / 4 {
                // The first blocks of each group are written most often.
                let group = u64::from(draws.below(8)) * 2048;
                let within =
                    u64::from(if draws.one_in(2) { draws.below(2048) } else { draws.below(128) });
                let number = group + within;
                let round = u64::from(draws.below(6));
                if number > 1 {
                    self.write(disk, number, round);
                    rounds[number as usize] = Some(round);
                }
            }
        }
        let written = (0..).zip(&rounds).filter_map(|(number, round)| Some((number, (*round)?)));
        written
            .filter(|&(number, round)| {
                let sectors = (self.begin + 2 * number..).zip(self.block(number, round));
                sectors.into_iter().any(|(at, sector)| disk.read(at) != sector)
            })
            .count() as u64
    }
}

#[test]
fn an_ext4_made_over_the_volume_loses_no_page() {
    let all = [
        (Fat::new(64, 33_000, 1), 6),
        (Fat::narrow(64, 33_000, 1, 16), 3),
        (Fat::narrow(64, 4000, 16, 12), 2),
    ];
    for (fat, seed) in all.into_iter().flat_map(|(fat, seeds)| (0..seeds).map(move |s| (fat, s))) {
        for (superblock, clears) in [(0, false), (0, true), (7, true)] {
            let (mut disk, _) = used_volume(fat, Guards::FULL);
            let ext4 = Ext4 { begin: fat.begin };
            assert_eq!(ext4.run(&mut disk, seed, superblock, clears), 0);
            assert!(!disk.is_watched(), "the first sector still says FAT, and nobody believes it");
            assert!(!disk.power_cycle().is_watched());
        }
    }
}

#[test]
fn every_mark_of_another_owner_ends_the_watch() {
    let mark = |at: usize, bytes: &[u8]| {
        let mut sector = [0; SECTOR];
        sector[at..at + bytes.len()].copy_from_slice(bytes);
        sector
    };
    for (what, sector, content) in [
        ("ext4", 2, mark(56, &[0x53, 0xef])),
        ("F2FS", 2, mark(0, &[0x10, 0x20, 0xf5, 0xf2])),
        ("LVM", 1, mark(0, b"LABELONE")),
        ("swap", 7, mark(502, b"SWAPSPACE2")),
        ("md", 8, mark(0, &[0xfc, 0x4e, 0x2b, 0xa9])),
        ("NTFS", 0, mark(3, b"NTFS    ")),
    ] {
        for fat in [Fat::new(64, 500, 4), Fat::narrow(64, 500, 4, 12), Fat::narrow(64, 5000, 1, 16)]
        {
            let (mut disk, _) = used_volume(fat, Guards::FULL);
            disk.write(fat.begin + sector, &content);
            assert!(!disk.is_watched(), "{what} on FAT{}", fat.bits);
            assert_eq!(disk.dead().disarmed, 1, "{what} on FAT{}", fat.bits);
        }
    }
}

#[test]
fn a_table_that_no_fat_writes_ends_the_watch_and_revives() {
    let (fat32, fat12) = (Fat::new(64, 500, 4), Fat::narrow(64, 500, 4, 12));
    for (fat, what, entry, value) in [
        (fat32, "reserved", 40, 1),
        (fat32, "beyond the volume", 40, 502),
        (fat32, "reserved for the standard", 40, 0x0fff_fff5),
        (fat32, "another medium", 0, 0x0fff_fff0),
        (fat32, "no end in entry 1", 1, 0),
        (fat12, "reserved", 41, 1),
        (fat12, "beyond the volume", 40, 502),
        (fat12, "reserved for the standard", 41, 0xff5),
        (fat12, "another medium", 0, 0xff0),
        (fat12, "no end in entry 1", 1, 0),
    ] {
        let (mut disk, mut entries) = used_volume(fat, Guards::FULL);
        entries[entry] = value;
        disk.write(fat.table(0, 0), &fat.table_sector(&entries, 0));
        assert!(!disk.is_watched(), "{what}");
        // No later write makes it a volume again while the table is invalid.
        disk.write(fat.table(0, 1), &fat.table_sector(&entries, 1));
        assert!(!disk.is_watched(), "{what}");
    }
}

#[test]
fn a_new_volume_over_the_old_one_loses_no_page() {
    let old = Fat::new(64, 4000, 4);
    for per_cluster in [1, 4, 8] {
        for is_boot_first in [false, true] {
            let (mut disk, entries) = used_volume(old, Guards::FULL);
            // Some of the old files are deleted before.
            let mut entries = entries;
            entries[100..300].fill(0);
            write_tables(&mut disk, &old, &entries);
            let new = Fat::new(64, 15_700 / u32::from(per_cluster), per_cluster);
            let mut image = new.format();
            if is_boot_first {
                image.reverse();
            }
            disk.write_all(&image);
            let mut disk = if is_boot_first { disk } else { disk.power_cycle() };
            assert!(disk.is_watched());
            let mut entries = new.empty();
            for round in 1..4 {
                for cluster in (3 + round as u32..900).step_by(3) {
                    entries[cluster as usize] = END;
                    for sector in new.cluster(cluster) {
                        disk.write(sector, &stamp(sector, round));
                    }
                    if cluster % 64 == 0 {
                        write_tables(&mut disk, &new, &entries);
                    }
                }
                write_tables(&mut disk, &new, &entries);
            }
            for round in 1..4 {
                for cluster in (3 + round as u32..900).step_by(3) {
                    let mut sectors = new.cluster(cluster);
                    assert!(sectors.all(|s| disk.read(s) == stamp(s, round)), "cluster {cluster}");
                }
            }
        }
    }
}

#[test]
fn of_a_torn_write_only_what_arrived_counts() {
    let fat = Fat::new(64, 500, 2);
    let (mut disk, mut entries) = used_volume(fat, Guards::FULL);
    // One file in all four sectors of the table. The last request ends after two of its sectors.
    let file = [20, 130, 260, 390];
    file.into_iter().for_each(|cluster| entries[cluster] = 0);
    for (copy, sectors) in [(0, 4), (1, 2)] {
        for index in 0..sectors {
            disk.write(fat.table(copy, index), &fat.table_sector(&entries, index));
        }
    }
    let mut disk = disk.power_cycle();
    for (cluster, is_there) in file.into_iter().zip([false, false, true, true]) {
        let sectors = fat.cluster(cluster as u32);
        assert!(sectors.into_iter().all(|s| (disk.read(s) == stamp(s, 0)) == is_there));
    }
}

/// The remaining risk: a raw writer that leaves the reserved sectors alone and repeatedly writes a
/// plausible table, equal in both copies. It cannot be distinguished from a FAT32 host.
#[test]
fn plausible_zeros_in_both_copies_are_believed() {
    let fat = Fat::new(64, 4000, 1);
    let (mut disk, _) = used_volume(fat, Guards::FULL);
    for sector in fat.cluster(200) {
        disk.write(sector, &stamp(sector, 7));
    }
    for _ in 0..2 {
        for copy in 0..2 {
            disk.write(fat.table(copy, 1), &[0; SECTOR]);
        }
    }
    assert_eq!(disk.read(fat.cluster(200).start), [0; SECTOR]);
}
