//! A volume in a file that a file system's own programs change, and a device with a copy of it.

use std::{fs, path::PathBuf};

use thermocline_testing::Draws;

use crate::disk::{Disk, SECTOR, stamp};

/// The clusters in use as the volume on the device says, and the bytes of a cluster; nothing as long as it is blank.
pub type Used = fn(&Copied) -> Option<(Vec<bool>, usize)>;

pub struct Copied {
    folder: tempfile::TempDir,
    /// Where the volume begins on the device.
    pub begin: u64,
    pub disk: Disk,
    /// The volume as the device knows it.
    pub sent: Vec<u8>,
    used: Used,
    pub draws: Draws,
}

impl Copied {
    pub fn new(begin: u64, sectors: u64, disk: Disk, used: Used) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self {
            folder,
            begin,
            disk,
            sent: vec![0; sectors as usize * SECTOR],
            used,
            draws: Draws(7),
        }
    }

    /// A file of the host's.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The file with the volume.
    pub fn image(&self) -> PathBuf {
        self.file("volume")
    }

    /// A file to write, of so many sectors.
    pub fn content(&mut self, sectors: u64) -> PathBuf {
        let bytes: Vec<_> = (0..sectors).map(|at| stamp(at, self.draws.next())).collect();
        fs::write(self.file("content"), bytes.concat()).expect("written");
        self.file("content")
    }

    pub fn field(&self, at: usize) -> usize {
        u32::from_le_bytes(self.sent[at..at + 4].try_into().expect("a field")) as usize
    }

    /// Writes what changed to the device, in any order.
    pub fn send(&mut self) {
        let before = (self.used)(self).map(|(used, _)| used);
        let new = fs::read(self.image()).expect("a volume");
        let old = std::mem::replace(&mut self.sent, new);
        let (now, size) = (self.used)(self).expect("a volume");
        let changed = |at: &usize| {
            // A host writes all of a cluster that it takes into use.
            let is_used = |used: &[bool]| used.get(at * SECTOR / size).copied().unwrap_or(false);
            let is_new = before.as_ref().is_some_and(|before| is_used(&now) && !is_used(before));
            is_new || old[at * SECTOR..][..SECTOR] != self.sent[at * SECTOR..][..SECTOR]
        };
        let mut changed: Vec<usize> = (0..self.sent.len() / SECTOR).filter(changed).collect();
        for last in (1..changed.len()).rev() {
            changed.swap(last, self.draws.below(last as u32 + 1) as usize);
        }
        for at in changed {
            let sector = self.sent[at * SECTOR..][..SECTOR].try_into().expect("a sector");
            self.disk.write(self.begin + at as u64, &sector);
        }
    }

    /// Reads all clusters in use from the device.
    pub fn check(&mut self, when: &str) {
        let (used, size) = (self.used)(self).expect("a volume");
        for cluster in (0..used.len()).filter(|cluster| used[*cluster]) {
            for at in (cluster * size..(cluster + 1) * size).step_by(SECTOR) {
                let read = self.disk.read(self.begin + (at / SECTOR) as u64);
                assert!(read[..] == self.sent[at..at + SECTOR], "cluster {cluster} is lost {when}");
            }
        }
    }
}
