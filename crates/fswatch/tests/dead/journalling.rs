//! A host with a journal, on a real image of ext4: transactions, write-back of their bitmaps at any
//! later time, crashes, and recoveries that write every image of the journal, as e2fsck does. Every
//! marked page is dropped at once.

use std::collections::{BTreeMap, BTreeSet};

use thermocline_fswatch::Guards;
use thermocline_testing::Draws;

use crate::{
    disk::{Disk, Drops, Sector, stamp},
    ext_image::ExtImage,
};

/// What a transaction commits: the images of the bitmaps' sectors it changed.
type Transaction = BTreeMap<u64, Sector>;

struct Host {
    disk: Disk,
    image: ExtImage,
    draws: Draws,
    /// The file that owns a block, by a number that is never reused: in memory, and as committed.
    owner: Vec<u64>,
    committed: Vec<u64>,
    /// Blocks without owner in memory that are also free as committed.
    free: Vec<u32>,
    files: Vec<Vec<u32>>,
    committed_files: Vec<Vec<u32>>,
    names: u64,
    /// The bitmaps' sectors that the running transaction changed, its data not yet written, and the
    /// blocks it freed.
    changed: BTreeSet<u64>,
    data: Vec<u32>,
    freed: Vec<u32>,
    /// The journal from its tail on, and that tail.
    journal: Vec<Transaction>,
    tail: u32,
    /// Committed images that are not in their places.
    dirty: Transaction,
    lost: u64,
}

impl Host {
    fn new(per_page: usize, guards: Guards, seed: u64) -> Self {
        let image = ExtImage::new("ext4", 0);
        let mut disk = Disk::with(image.total(), per_page, Drops::AtOnce, |c| c.guards = guards);
        disk.write_all(&image.format());
        assert!(disk.is_watched());
        let owner: Vec<u64> = image.used().into_iter().map(u64::from).collect();
        Self {
            disk,
            draws: Draws(seed),
            committed: owner.clone(),
            owner,
            free: image.free().collect(),
            image,
            files: vec![],
            committed_files: vec![],
            names: 1,
            changed: BTreeSet::new(),
            data: vec![],
            freed: vec![],
            journal: vec![],
            tail: 1,
            dirty: Transaction::new(),
            lost: 0,
        }
    }

    fn set(&mut self, block: u32, owner: u64) {
        self.owner[block as usize] = owner;
        self.changed.insert(self.image.bitmap_sector(block));
    }

    fn create(&mut self) {
        let length = 1 + self.draws.below(8) as usize;
        if self.free.len() < length + 200 {
            return self.delete();
        }
        self.names += 1;
        let mut file = vec![];
        for _ in 0..length {
            let at = self.draws.below(self.free.len() as u32) as usize;
            let block = self.free.swap_remove(at);
            self.set(block, self.names);
            self.data.push(block);
            file.push(block);
        }
        self.files.push(file);
    }

    fn delete(&mut self) {
        if self.files.is_empty() {
            return;
        }
        let at = self.draws.below(self.files.len() as u32) as usize;
        for block in self.files.swap_remove(at) {
            self.set(block, 0);
            self.data.retain(|other| *other != block);
            // Not reused before the commit.
            self.freed.push(block);
        }
    }

    /// Writes some of the running transaction's data.
    fn write_data(&mut self) {
        if self.data.is_empty() {
            return;
        }
        let at = self.draws.below(self.data.len() as u32) as usize;
        let block = self.data.swap_remove(at);
        let content = stamp(block.into(), self.owner[block as usize]);
        self.image.block(block).for_each(|sector| self.disk.write(sector, &content));
    }

    /// Ends the running transaction, after its data.
    fn commit(&mut self) {
        while !self.data.is_empty() {
            self.write_data();
        }
        let used: Vec<bool> = self.owner.iter().map(|owner| *owner != 0).collect();
        let image = &self.image;
        let images: Transaction = std::mem::take(&mut self.changed)
            .into_iter()
            .map(|sector| (sector, image.bitmap_content(&used, sector)))
            .collect();
        self.dirty.extend(images.clone());
        self.journal.push(images);
        self.committed.clone_from(&self.owner);
        self.committed_files.clone_from(&self.files);
        self.free.append(&mut self.freed);
    }

    /// Writes a committed image to its place, unless the running transaction changes it.
    fn write_back(&mut self) {
        let ready: Vec<u64> =
            self.dirty.keys().copied().filter(|s| !self.changed.contains(s)).collect();
        if ready.is_empty() {
            return;
        }
        let sector = ready[self.draws.below(ready.len() as u32) as usize];
        let content = self.dirty.remove(&sector).expect("dirty");
        self.disk.write(sector, &content);
    }

    /// Drops the transactions whose images are all in their places.
    fn move_tail(&mut self) {
        let is_done = |t: &Transaction| t.keys().all(|sector| !self.dirty.contains_key(sector));
        let done = self.journal.iter().take_while(|t| is_done(t)).count();
        if done > 0 {
            self.journal.drain(..done);
            self.tail += done as u32;
            self.write_tail();
        }
    }

    fn write_tail(&mut self) {
        let sector = self.image.journal.expect("a journal");
        self.disk.write(sector, &self.image.journal_superblock(self.tail));
    }

    /// The host crashes, sometimes with its power, and recovers; sometimes not at the first attempt.
    fn crash(mut self) -> Self {
        if self.draws.one_in(2) {
            self.disk = self.disk.power_cycle();
        }
        self.owner.clone_from(&self.committed);
        self.files.clone_from(&self.committed_files);
        self.changed.clear();
        self.data.clear();
        self.dirty.clear();
        self.freed.clear();
        self.free = self.image.free().filter(|block| self.owner[*block as usize] == 0).collect();
        let all: Vec<(u64, Sector)> =
            self.journal.iter().flatten().map(|(s, c)| (*s, *c)).collect();
        while self.draws.one_in(3) {
            let attempt = self.draws.below(all.len() as u32 + 1) as usize;
            self.disk.write_all(&all[..attempt]);
            if self.draws.one_in(2) {
                self.disk = self.disk.power_cycle();
            }
        }
        self.disk.write_all(&all);
        self.tail += self.journal.len() as u32 + 1;
        self.journal.clear();
        self.write_tail();
        self.check();
        self
    }

    /// Reads all committed files.
    fn check(&mut self) {
        for block in self.committed_files.iter().flatten() {
            let expected = stamp((*block).into(), self.committed[*block as usize]);
            if self.image.block(*block).any(|sector| self.disk.read(sector) != expected) {
                self.lost += 1;
            }
        }
    }

    fn step(mut self) -> Self {
        match self.draws.below(200) {
            0..30 => self.create(),
            30..60 => self.delete(),
            60..130 => self.write_data(),
            130..160 => self.commit(),
            160..185 => self.write_back(),
            185..199 => self.move_tail(),
            _ => return if self.draws.one_in(4) { self.crash() } else { self },
        }
        self
    }
}

/// The number of blocks lost and of sectors dropped.
fn run(per_page: usize, guards: Guards, runs: u64) -> (u64, u64) {
    let (mut lost, mut dropped) = (0, 0);
    for seed in 0..runs {
        let mut host = Host::new(per_page, guards, seed);
        for _ in 0..20_000 {
            host = host.step();
        }
        host = host.crash();
        assert!(host.disk.is_watched(), "the host did nothing that its file system does not");
        lost += host.lost;
        dropped += host.disk.dropped();
    }
    eprintln!("{guards:?}, {per_page} sectors a page: {lost} lost, {dropped} sectors dropped");
    (lost, dropped)
}

#[test]
fn no_file_is_lost_when_the_journal_is_recovered() {
    for (per_page, runs) in [(1, 3), (8, 2)] {
        let (lost, dropped) = run(per_page, Guards::FULL, runs);
        assert_eq!(lost, 0);
        assert!(dropped > 1000 / per_page as u64, "{dropped}");
    }
}

#[test]
fn the_journals_tail_is_needed() {
    assert!(run(1, Guards { mirror: false, twice: true }, 2).0 > 0);
}
