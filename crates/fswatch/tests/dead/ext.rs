//! ext2, ext3 and ext4, made and changed by e2fsprogs: no block in use is taken for a free one, and without a journal free
//! ones are found. `debugfs` leaves a journal's tail alone, so with one nothing may be believed.

use std::{fs, path::Path, process::Command};

use thermocline_testing::{Draws, program};

use crate::{
    copied::Copied,
    disk::{Disk, Drops, SECTOR, Sector},
    tables_image::{LINUX, gpt, mbr},
};

const DEVICE: u64 = 65_536;
/// Sectors of a volume: 24 MiB, which is three groups where blocks have 1 KiB.
const VOLUME: u64 = 49_152;

/// Runs a program of e2fsprogs. The same arguments give the same image.
fn run(name: &str, args: &[&str]) {
    let path = program(name).expect("looked for before");
    let done = Command::new(path).args(args).env("E2FSPROGS_FAKE_TIME", "1700000000").output();
    let done = done.expect("it starts");
    assert!(done.status.success(), "{name} {args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A volume made with these options, in a partition at a sector or on the whole device.
fn host(options: &[&str], begin: u64, per_page: usize, drops: Drops) -> Option<Copied> {
    program("mke2fs").and(program("debugfs"))?;
    let disk = Disk::with(DEVICE, per_page, drops, |_| {});
    let mut host = Copied::new(begin, VOLUME, disk, used);
    let fixed = ["-q", "-F", "-U", "6d7a1c0e-0000-4000-8000-000000000001"];
    let seed = ["-E", "hash_seed=6d7a1c0e-0000-4000-8000-000000000002"];
    let image = host.image();
    let place = [image.to_str().expect("UTF-8"), "24M"];
    run("mke2fs", &[&fixed[..], &seed, options, &place].concat());
    if begin > 0 {
        host.disk.write(0, &mbr(&[(0x83, begin, VOLUME)]));
    }
    host.send();
    Some(host)
}

/// Changes the volume by commands of `debugfs`.
fn change(host: &mut Copied, commands: &str) {
    let (script, image) = (host.file("script"), host.image());
    fs::write(&script, commands).expect("written");
    let [script, image] = [&script, &image].map(|path| path.to_str().expect("UTF-8"));
    run("debugfs", &["-w", "-f", script, image]);
    host.send();
}

/// The blocks in use as the volume's bitmaps say, and the bytes of a block.
fn used(host: &Copied) -> Option<(Vec<bool>, usize)> {
    let (blocks, first) = (host.field(1024 + 4), host.field(1024 + 20));
    let (size, per_group) = (1024 << host.field(1024 + 24), host.field(1024 + 32));
    let is_wide = host.field(1024 + 96) & 0x80 != 0;
    let descriptor = if is_wide { host.field(1024 + 254) & 0xffff } else { 32 };
    let is_used = |block: usize| {
        if block < first {
            return true;
        }
        let (group, bit) = ((block - first) / per_group, (block - first) % per_group);
        let at = (first + 1) * size + group * descriptor;
        // A group without a bitmap yet has nothing but its own records.
        if host.field(at + 18) & 2 != 0 {
            return false;
        }
        host.sent[host.field(at) * size + bit / 8] >> (bit % 8) & 1 != 0
    };
    (blocks > 0).then(|| ((0..blocks).map(is_used).collect(), size))
}

/// The kinds of volumes: options of `mke2fs`, and whether they have a journal.
const KINDS: [(&[&str], bool); 5] = [
    (&["-t", "ext2", "-b", "1024"], false),
    (&["-t", "ext3", "-b", "1024"], true),
    (&["-t", "ext4", "-b", "4096"], true),
    (&["-t", "ext4", "-b", "1024", "-O", "64bit,^has_journal"], false),
    (&["-t", "ext4", "-b", "1024", "-O", "^flex_bg,^64bit,^has_journal"], false),
];

#[test]
fn deleted_files_are_found_and_no_block_in_use_is_lost() {
    for (options, has_journal) in KINDS {
        for (begin, per_page) in [(64, 8), (0, 1)] {
            let drops = if begin == 0 { Drops::Sometimes(Draws(3)) } else { Drops::AtOnce };
            let Some(mut host) = host(options, begin, per_page, drops) else { return };
            assert!(host.disk.is_watched(), "{options:?} at {begin}");
            host.check("after the format");
            let mut files: Vec<u32> = Vec::new();
            for round in 0..24 {
                let mut commands = String::new();
                if round == 12 {
                    host.disk = host.disk.power_cycle();
                    assert!(host.disk.is_watched(), "{options:?} at {begin}");
                }
                while files.len() > 4 || !files.is_empty() && host.draws.one_in(3) {
                    let gone = files.swap_remove(host.draws.below(files.len() as u32) as usize);
                    commands += &format!("rm f{gone}\n");
                }
                let kib = 64 + u64::from(host.draws.below(1500));
                let content = host.content(2 * kib);
                commands += &format!("write {} f{round}\n", Path::display(&content));
                files.push(round);
                change(&mut host, &commands);
                host.check(&format!("in round {round}: {options:?} at {begin}"));
            }
            let dropped = host.disk.dropped();
            assert_eq!(dropped > 4000, !has_journal, "{dropped} sectors: {options:?} at {begin}");
            assert!(host.disk.is_watched(), "{options:?} at {begin}");
        }
    }
}

#[test]
fn a_volume_is_found_in_a_guid_partition() {
    let Some(mut host) = host(KINDS[2].0, 2048, 8, Drops::AtOnce) else { return };
    host.disk = Disk::new(DEVICE, 8);
    host.disk.write_all(&gpt(DEVICE, &[(LINUX, 2048..2048 + VOLUME)]));
    assert!(!host.disk.is_watched());
    host.sent.fill(0);
    host.send();
    assert!(host.disk.is_watched());
    host.check("after the format");
}

#[test]
fn volumes_whose_bitmaps_mean_something_else_are_left_alone() {
    let others: [&[&str]; 2] = [
        &["-t", "ext4", "-b", "1024", "-O", "bigalloc", "-C", "16384"],
        &["-t", "ext4", "-b", "1024", "-O", "meta_bg,^resize_inode"],
    ];
    for options in others {
        let Some(host) = host(options, 64, 8, Drops::AtOnce) else { return };
        assert!(!host.disk.is_watched(), "{options:?}");
    }
}

/// What makes another volume of it, or none.
#[test]
fn a_volume_that_is_written_over_is_let_go() {
    type Change = (&'static str, fn(&Copied) -> (u64, Sector));
    let of = |host: &Copied, at: usize| -> (u64, Sector) {
        let sector = at / SECTOR;
        let bytes = host.sent[sector * SECTOR..][..SECTOR].try_into().expect("a sector");
        (host.begin + sector as u64, bytes)
    };
    let changes: [Change; 5] = [
        ("something before the superblock", |host| (host.begin, [1; SECTOR])),
        ("no magic number", |host| {
            let mut sector: Sector = host.sent[1024..1024 + SECTOR].try_into().expect("a sector");
            sector[56] = 0;
            (host.begin + 2, sector)
        }),
        ("an unknown feature", |host| {
            let mut sector: Sector = host.sent[1024..1024 + SECTOR].try_into().expect("a sector");
            sector[98] |= 0x80;
            (host.begin + 2, sector)
        }),
        ("another bitmap", |host| {
            let mut sector: Sector = host.sent[2048..2048 + SECTOR].try_into().expect("a sector");
            sector[0] ^= 1;
            (host.begin + 4, sector)
        }),
        ("a bitmap without its own bit", |host| {
            let at = host.field(2048) * 1024;
            let sector: Sector = [0; SECTOR];
            (host.begin + (at / SECTOR) as u64, sector)
        }),
    ];
    for (what, change) in changes {
        let Some(mut host) = host(KINDS[0].0, 64, 8, Drops::AtOnce) else { return };
        assert!(host.disk.is_watched());
        let (sector, content) = change(&host);
        let (_, before) = of(&host, (sector - host.begin) as usize * SECTOR);
        host.disk.write(sector, &content);
        assert!(!host.disk.is_watched(), "{what}");
        host.disk.write(sector, &before);
        assert!(host.disk.is_watched(), "{what}, and back");
    }
}
