//! NTFS, made and changed by ntfs-3g's programs, which keep no log: no cluster in use is taken for a
//! free one, and free ones are found.

use std::{fs, path::Path, process::Command};

use thermocline_testing::program;

use crate::{
    copied::Copied,
    disk::{Disk, Drops, SECTOR},
    tables_image::mbr,
};

/// Sectors of a volume, with the copy of its boot sector.
const VOLUME: u64 = 32_768;

fn run(name: &str, args: &[&Path]) -> String {
    let done = Command::new(program(name).expect("looked for before")).args(args).output();
    let done = done.expect("it starts");
    assert!(done.status.success(), "{name} {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// A volume with clusters of so many bytes, in a partition at a sector or on the whole device.
fn host(cluster: &str, begin: u64, per_page: usize) -> Option<Copied> {
    program("mkntfs").and(program("ntfscp")).and(program("ntfstruncate"))?;
    let disk = Disk::with(begin + VOLUME, per_page, Drops::AtOnce, |_| {});
    let mut host = Copied::new(begin, VOLUME, disk, used);
    let image = host.image();
    fs::write(&image, &host.sent).expect("written");
    let options = ["-F", "-q", "-p", "64", "-H", "16", "-S", "63", "-c", cluster];
    run("mkntfs", &options.map(Path::new).into_iter().chain([&*image]).collect::<Vec<_>>());
    if begin > 0 {
        host.disk.write(0, &mbr(&[(0x07, begin, VOLUME)]));
    }
    host.send();
    Some(host)
}

/// Writes a file of so many sectors.
fn create(host: &mut Copied, name: &str, sectors: u64) {
    let content = host.content(sectors);
    run("ntfscp", &[Path::new("-q"), &host.image(), &content, Path::new(name)]);
    host.send();
}

/// Takes all clusters of a file.
fn empty(host: &mut Copied, name: &str) {
    let options = ["-i", "-F", "-p", "/"].map(Path::new);
    let image = host.image();
    let list = run("ntfsls", &[&options[..1], &[&*image]].concat());
    let line = list.lines().find(|line| line.ends_with(&format!(" {name}"))).expect("listed");
    let inode = line.split_whitespace().next().expect("a number");
    run("ntfstruncate", &[&*image, Path::new(inode), Path::new("0")]);
    host.send();
}

/// The clusters in use as the bitmap says, which begins where its record's data do: `mkntfs` makes
/// one run of up to two bytes of length and of place.
fn used(host: &Copied) -> Option<(Vec<bool>, usize)> {
    let size = usize::from(host.sent[13]) * SECTOR;
    if size == 0 {
        return None;
    }
    let record = host.field(48) * size + 6 * 1024;
    let mut attribute = record + (host.field(record + 20) & 0xffff);
    while host.field(attribute) != 0x80 {
        attribute += host.field(attribute + 4);
    }
    let list = attribute + (host.field(attribute + 32) & 0xffff);
    let sizes = usize::from(host.sent[list]);
    assert!(matches!(sizes, 0x11 | 0x21), "one short run");
    let place = host.field(list + 2) & if sizes == 0x11 { 0xff } else { 0xffff };
    let clusters = host.field(40) * SECTOR / size;
    let is_used = |c: usize| host.sent[place * size + c / 8] >> (c % 8) & 1 != 0;
    Some(((0..clusters).map(is_used).collect(), size))
}

#[test]
fn emptied_files_are_found_and_no_cluster_in_use_is_lost() {
    for (cluster, begin, per_page) in [("512", 64, 1), ("4096", 0, 8)] {
        let Some(mut host) = host(cluster, begin, per_page) else { return };
        assert!(host.disk.is_watched(), "clusters of {cluster} bytes at {begin}");
        let mut files: Vec<u32> = vec![];
        for round in 0..8 {
            if round == 4 {
                host.disk = host.disk.power_cycle();
                assert!(host.disk.is_watched(), "clusters of {cluster} bytes at {begin}");
            }
            while files.len() > 3 || !files.is_empty() && host.draws.one_in(3) {
                let gone = files.swap_remove(host.draws.below(files.len() as u32) as usize);
                empty(&mut host, &format!("f{gone}"));
            }
            let sectors = 100 + u64::from(host.draws.below(3000));
            create(&mut host, &format!("f{round}"), sectors);
            files.push(round);
            host.check(&format!("in round {round}: {cluster} at {begin}"));
        }
        let dropped = host.disk.dropped();
        assert!(dropped > 2000, "{dropped} sectors: {cluster} at {begin}");
        assert!(host.disk.is_watched(), "{cluster} at {begin}");
    }
}
