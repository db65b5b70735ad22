//! NTFS, made and changed by ntfs-3g's programs, which keep no log: no cluster in use is taken for a
//! free one, and free ones are found.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use thermocline_testing::{Draws, program};

use crate::{
    disk::{Disk, Drops, SECTOR, stamp},
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

/// A file with a volume, of which a device has a copy.
struct Host {
    folder: tempfile::TempDir,
    begin: u64,
    disk: Disk,
    /// The volume as the device knows it.
    sent: Vec<u8>,
    draws: Draws,
}

impl Host {
    fn new(cluster: &str, begin: u64, per_page: usize) -> Option<Self> {
        program("mkntfs").and(program("ntfscp")).and(program("ntfstruncate"))?;
        let mut host = Self {
            folder: tempfile::tempdir().expect("a folder"),
            begin,
            disk: Disk::with(begin + VOLUME, per_page, Drops::AtOnce, |_| {}),
            sent: vec![0; VOLUME as usize * SECTOR],
            draws: Draws(7),
        };
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

    fn image(&self) -> PathBuf {
        self.folder.path().join("volume")
    }

    /// Writes a file of so many sectors.
    fn create(&mut self, name: &str, sectors: u64) {
        let content = self.folder.path().join("content");
        let bytes: Vec<_> = (0..sectors).map(|at| stamp(at, self.draws.next())).collect();
        fs::write(&content, bytes.concat()).expect("written");
        run("ntfscp", &[Path::new("-q"), &self.image(), &content, Path::new(name)]);
        self.send();
    }

    /// Takes all clusters of a file.
    fn empty(&mut self, name: &str) {
        let options = ["-i", "-F", "-p", "/"].map(Path::new);
        let image = self.image();
        let list = run("ntfsls", &[&options[..1], &[&*image]].concat());
        let line = list.lines().find(|line| line.ends_with(&format!(" {name}"))).expect("listed");
        let inode = line.split_whitespace().next().expect("a number");
        run("ntfstruncate", &[&*image, Path::new(inode), Path::new("0")]);
        self.send();
    }

    /// Writes what changed to the device, in any order.
    fn send(&mut self) {
        let is_first = self.field(40) == 0;
        let before = if is_first { vec![] } else { self.used() };
        let new = fs::read(self.image()).expect("a volume");
        let old = std::mem::replace(&mut self.sent, new);
        let (now, size) = (self.used(), self.cluster_size());
        let changed = |at: &usize| {
            // A host writes all of a cluster that it takes into use.
            let cluster = at * SECTOR / size;
            let is_used = |used: &[bool]| used.get(cluster).copied().unwrap_or(false);
            let is_new = !is_first && is_used(&now) && !is_used(&before);
            is_new || old[at * SECTOR..][..SECTOR] != self.sent[at * SECTOR..][..SECTOR]
        };
        let mut changed: Vec<usize> = (0..VOLUME as usize).filter(changed).collect();
        for last in (1..changed.len()).rev() {
            changed.swap(last, self.draws.below(last as u32 + 1) as usize);
        }
        for at in changed {
            let sector = self.sent[at * SECTOR..][..SECTOR].try_into().expect("a sector");
            self.disk.write(self.begin + at as u64, &sector);
        }
    }

    fn field(&self, at: usize) -> usize {
        u32::from_le_bytes(self.sent[at..at + 4].try_into().expect("a field")) as usize
    }

    fn cluster_size(&self) -> usize {
        usize::from(self.sent[13]) * SECTOR
    }

    /// The clusters in use as the bitmap says, which begins where its record's data do: `mkntfs` makes
    /// one run of up to two bytes of length and of place.
    fn used(&self) -> Vec<bool> {
        let record = self.field(48) * self.cluster_size() + 6 * 1024;
        let mut attribute = record + (self.field(record + 20) & 0xffff);
        while self.field(attribute) != 0x80 {
            attribute += self.field(attribute + 4);
        }
        let list = attribute + (self.field(attribute + 32) & 0xffff);
        let sizes = usize::from(self.sent[list]);
        assert!(matches!(sizes, 0x11 | 0x21), "one short run");
        let place = self.field(list + 2) & if sizes == 0x11 { 0xff } else { 0xffff };
        let first = place * self.cluster_size();
        let clusters = self.field(40) * SECTOR / self.cluster_size();
        (0..clusters).map(|c| self.sent[first + c / 8] >> (c % 8) & 1 != 0).collect()
    }

    /// Reads all clusters in use from the device.
    fn check(&mut self, when: &str) {
        let size = self.cluster_size();
        let used = self.used();
        for cluster in (0..used.len()).filter(|cluster| used[*cluster]) {
            for at in (cluster * size..(cluster + 1) * size).step_by(SECTOR) {
                let read = self.disk.read(self.begin + (at / SECTOR) as u64);
                assert!(read[..] == self.sent[at..at + SECTOR], "cluster {cluster} is lost {when}");
            }
        }
    }
}

#[test]
fn emptied_files_are_found_and_no_cluster_in_use_is_lost() {
    for (cluster, begin, per_page) in [("512", 64, 1), ("4096", 0, 8)] {
        let Some(mut host) = Host::new(cluster, begin, per_page) else { return };
        assert!(host.disk.is_watched(), "clusters of {cluster} bytes at {begin}");
        let mut files: Vec<u32> = vec![];
        for round in 0..8 {
            if round == 4 {
                host.disk = host.disk.power_cycle();
                assert!(host.disk.is_watched(), "clusters of {cluster} bytes at {begin}");
            }
            while files.len() > 3 || !files.is_empty() && host.draws.one_in(3) {
                let gone = files.swap_remove(host.draws.below(files.len() as u32) as usize);
                host.empty(&format!("f{gone}"));
            }
            let sectors = 100 + u64::from(host.draws.below(3000));
            host.create(&format!("f{round}"), sectors);
            files.push(round);
            host.check(&format!("in round {round}: {cluster} at {begin}"));
        }
        let dropped = host.disk.dropped();
        assert!(dropped > 2000, "{dropped} sectors: {cluster} at {begin}");
        assert!(host.disk.is_watched(), "{cluster} at {begin}");
    }
}
