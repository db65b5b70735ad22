//! A host with NTFS' log: it logs before it writes, in transactions that commit or are undone, writes
//! bitmap, data and restart pages in any order that the log allows, crashes at any moment, and recovers
//! by repeating the log and undoing what had not ended. Meanwhile it may write the bitmap, or crash
//! again. Every marked page is dropped at once.

use std::collections::{BTreeMap, BTreeSet};

use thermocline_fswatch::Guards;
use thermocline_testing::Draws;

use crate::{
    disk::{Disk, Drops, Sector, stamp},
    ntfs_image::{NtfsImage, Restart},
};

/// Clusters for files, some in each of two sectors of the bitmap.
const FREE: std::ops::Range<u32> = 3900..4400;

/// A record of the log. Files have numbers that are never reused; 0 is nobody.
#[derive(Clone, Copy)]
enum Record {
    /// A cluster changes its owner, in a transaction; to undo such a record, if one is named.
    Change {
        transaction: u64,
        cluster: u32,
        old: u64,
        new: u64,
        undoes: u64,
    },
    /// A transaction has ended, committed or undone.
    End(u64),
    Checkpoint,
}

/// A write on its way to the medium.
enum Write {
    /// A sector of the bitmap, with the oldest change in it.
    Bitmap(u64, Box<Sector>, u64),
    Data(u32, u64),
    Restart(Restart),
}

struct Host {
    disk: Disk,
    image: NtfsImage,
    draws: Draws,
    /// The bitmap in memory, and who owns what.
    used: Vec<bool>,
    owner: Vec<u64>,
    /// The log from the oldest record that a recovery needs on, the number of that record, and the
    /// first that is not on the medium.
    log: Vec<Record>,
    oldest: u64,
    unflushed: u64,
    /// The owners as of that oldest record.
    base: Vec<u64>,
    /// Transactions going on, each with its first record.
    active: BTreeMap<u64, u64>,
    /// Changed sectors of the bitmap, with the first and the last change that is not on the medium.
    dirty: BTreeMap<u64, (u64, u64)>,
    data: Vec<(u32, u64)>,
    flight: Vec<Write>,
    /// Free clusters, and those whose deletion must be on the medium first.
    free: Vec<u32>,
    freed: Vec<(u64, u32)>,
    checkpoint: u64,
    restarts: u64,
    is_clean: bool,
    names: u64,
    /// Dropped clusters: those with data of a file that exists, or would after a crash; and all.
    live: u64,
    dropped: u64,
}

impl Host {
    fn new(per_page: usize, guards: Guards, seed: u64) -> Self {
        let per_cluster = per_page as u32;
        let image = NtfsImage::new(0, 4600, per_cluster, true);
        let sectors = image.total().next_multiple_of(per_page as u64);
        let mut disk = Disk::with(sectors, per_page, Drops::AtOnce, |c| c.guards = guards);
        disk.write_all(&image.format());
        assert!(disk.is_watched());
        let used = image.empty();
        // The image's own clusters belong to file 1.
        let owner: Vec<u64> = used.iter().map(|used| u64::from(*used)).collect();
        Self {
            disk,
            draws: Draws(seed),
            base: owner.clone(),
            owner,
            free: FREE.collect(),
            used,
            image,
            log: vec![],
            oldest: 200,
            unflushed: 200,
            active: BTreeMap::new(),
            dirty: BTreeMap::new(),
            data: vec![],
            flight: vec![],
            freed: vec![],
            checkpoint: 100,
            restarts: 0,
            is_clean: false,
            names: 1,
            live: 0,
            dropped: 0,
        }
    }

    fn next(&self) -> u64 {
        self.oldest + self.log.len() as u64
    }

    fn append(&mut self, record: Record) -> u64 {
        if self.is_clean {
            self.is_clean = false;
            self.write_restart(self.next(), false);
        }
        self.log.push(record);
        self.next() - 1
    }

    /// Applies a change to the bitmap in memory.
    fn apply(&mut self, number: u64, cluster: u32, new: u64) {
        self.used[cluster as usize] = new != 0;
        let sector = self.image.bitmap_sector(cluster);
        let (_, last) = self.dirty.entry(sector).or_insert((number, number));
        *last = number;
    }

    fn change(&mut self, transaction: u64, cluster: u32, new: u64, undoes: u64) {
        let old = std::mem::replace(&mut self.owner[cluster as usize], new);
        let number = self.append(Record::Change { transaction, cluster, old, new, undoes });
        self.active.entry(transaction).or_insert(number);
        self.apply(number, cluster, new);
    }

    fn create(&mut self) {
        let length = 1 + self.draws.below(8) as usize;
        if self.free.len() < length {
            return self.delete();
        }
        self.names += 1;
        for _ in 0..length {
            let at = self.draws.below(self.free.len() as u32) as usize;
            let cluster = self.free.swap_remove(at);
            self.change(self.names, cluster, self.names, 0);
            self.data.push((cluster, self.names));
        }
    }

    /// Deletes a file that no transaction holds.
    fn delete(&mut self) {
        let files: BTreeSet<u64> = self.owner.iter().copied().filter(|owner| *owner > 1).collect();
        let held: BTreeSet<u64> = self.changes().map(|(_, _, _, old, new)| old.max(new)).collect();
        let files: Vec<u64> = files.difference(&held).copied().collect();
        if files.is_empty() {
            return;
        }
        let file = files[self.draws.below(files.len() as u32) as usize];
        self.names += 1;
        let clusters: Vec<u32> =
            (0..).zip(&self.owner).filter(|(_, owner)| **owner == file).map(|(c, _)| c).collect();
        clusters.into_iter().for_each(|cluster| self.change(self.names, cluster, 0, 0));
    }

    /// Changes of transactions that are going on: number, transaction, cluster, old and new owner. Not
    /// those that undo others, nor those undone.
    fn changes(&self) -> impl Iterator<Item = (u64, u64, u32, u64, u64)> {
        let undone: BTreeSet<u64> = self
            .log
            .iter()
            .filter_map(|record| match record {
                Record::Change { undoes, .. } => Some(*undoes),
                _ => None,
            })
            .collect();
        (self.oldest..).zip(&self.log).filter_map(move |(number, record)| match *record {
            Record::Change { transaction, cluster, old, new, undoes: 0 }
                if self.active.contains_key(&transaction) && !undone.contains(&number) =>
            {
                Some((number, transaction, cluster, old, new))
            }
            _ => None,
        })
    }

    /// Ends a transaction.
    fn end(&mut self, is_undone: bool) {
        let Some(nth) = self.active.len().checked_sub(1) else { return };
        let nth = self.draws.below(nth as u32 + 1) as usize;
        let transaction = *self.active.keys().nth(nth).expect("counted");
        let changes: Vec<_> = self.changes().filter(|change| change.1 == transaction).collect();
        for (number, _, cluster, old, _) in changes.iter().copied().rev().filter(|_| is_undone) {
            self.change(transaction, cluster, old, number);
        }
        let end = self.append(Record::End(transaction));
        self.active.remove(&transaction);
        for (_, _, cluster, _, _) in changes {
            let owner = self.owner[cluster as usize];
            if owner == 0 {
                // Not reused before that is on the medium.
                self.freed.push((end, cluster));
                self.data.retain(|(other, _)| *other != cluster);
            }
        }
    }

    fn flush(&mut self, to: u64) {
        self.unflushed = self.unflushed.max(to);
        let unflushed = self.unflushed;
        let done = self.freed.iter().filter(|(end, _)| *end < unflushed).map(|(_, c)| *c);
        self.free.extend(done);
        self.freed.retain(|(end, _)| *end >= unflushed);
    }

    /// Issues the write of something changed; of each thing one at a time.
    fn issue(&mut self) {
        let (bitmap, data) = (self.dirty.len() as u32, self.data.len() as u32);
        if bitmap + data == 0 {
            return;
        }
        let nth = self.draws.below(4 * bitmap + data);
        if nth >= 4 * bitmap {
            let (cluster, owner) = self.data[(nth - 4 * bitmap) as usize];
            let is_under_way =
                self.flight.iter().any(|w| matches!(w, Write::Data(c, _) if *c == cluster));
            if !is_under_way {
                self.data.swap_remove((nth - 4 * bitmap) as usize);
                self.flight.push(Write::Data(cluster, owner));
            }
            return;
        }
        let (&sector, &(first, last)) = self.dirty.iter().nth(nth as usize / 4).expect("counted");
        if self.flight.iter().all(|w| !matches!(w, Write::Bitmap(s, ..) if *s == sector)) {
            self.flush(last + 1);
            self.dirty.remove(&sector);
            let content = self.image.bitmap_content(&self.used, sector);
            self.flight.push(Write::Bitmap(sector, Box::new(content), first));
        }
    }

    fn complete(&mut self) {
        let Some(most) = (self.flight.len() as u32).checked_sub(1) else { return };
        let at = self.draws.below(most + 1) as usize;
        match self.flight.swap_remove(at) {
            Write::Bitmap(sector, content, _) => self.disk.write(sector, &content),
            Write::Data(cluster, owner) => {
                let content = stamp(cluster.into(), owner);
                self.image.cluster(cluster).for_each(|sector| self.disk.write(sector, &content));
            }
            Write::Restart(restart) => {
                self.restarts += 1;
                let sector = self.image.restart_sector(self.restarts % 2);
                self.disk.write(sector, &self.image.restart(restart));
                self.forget_log(restart.oldest);
            }
        }
        self.judge();
    }

    fn forget_log(&mut self, oldest: u64) {
        for record in self.log.drain(..(oldest - self.oldest) as usize) {
            if let Record::Change { cluster, new, .. } = record {
                self.base[cluster as usize] = new;
            }
        }
        self.oldest = oldest;
    }

    /// Writes a restart page at once, with no other under way.
    fn write_restart(&mut self, oldest: u64, is_clean: bool) {
        let (current, checkpoint) = (self.unflushed.max(self.oldest), self.checkpoint);
        self.flight.push(Write::Restart(Restart { current, checkpoint, oldest, is_clean }));
        while self.flight.iter().any(|write| matches!(write, Write::Restart(_))) {
            self.complete();
        }
    }

    /// Begins a checkpoint, unless one is going on.
    fn begin_checkpoint(&mut self) {
        if self.is_clean || self.flight.iter().any(|write| matches!(write, Write::Restart(_))) {
            return;
        }
        let mut oldest = self.next();
        oldest = self.dirty.values().map(|(first, _)| *first).fold(oldest, u64::min);
        oldest = self.active.values().copied().fold(oldest, u64::min);
        for write in &self.flight {
            if let Write::Bitmap(_, _, first) = write {
                oldest = oldest.min(*first);
            }
        }
        self.checkpoint = self.append(Record::Checkpoint);
        self.flush(self.next());
        let (current, checkpoint) = (self.checkpoint, self.checkpoint);
        self.flight.push(Write::Restart(Restart { current, checkpoint, oldest, is_clean: false }));
    }

    /// Ends everything, and says so: on both pages, or on one and goes on.
    fn close(&mut self) {
        while !self.active.is_empty() {
            let is_undone = self.draws.one_in(4);
            self.end(is_undone);
        }
        self.flush(self.next());
        while !self.dirty.is_empty() || !self.data.is_empty() || !self.flight.is_empty() {
            self.issue();
            self.complete();
        }
        if self.next() > self.oldest {
            self.checkpoint = self.next() - 1;
        }
        self.is_clean = true;
        for _ in 0..1 + self.draws.below(2) {
            self.write_restart(self.next(), true);
        }
    }

    fn crash(mut self) -> Self {
        while !self.flight.is_empty() && !self.draws.one_in(4) {
            self.complete();
        }
        self.flight.clear();
        if self.draws.one_in(2) {
            self.disk = self.disk.power_cycle();
        }
        loop {
            self.log.truncate((self.unflushed - self.oldest) as usize);
            self.active.clear();
            self.dirty.clear();
            self.data.clear();
            self.freed.clear();
            let records = self.log.len() as u32;
            let most = if self.draws.one_in(3) { self.draws.below(records + 8) } else { u32::MAX };
            if self.recover(most) {
                break;
            }
            if self.draws.one_in(2) {
                self.disk = self.disk.power_cycle();
            }
        }
        let owned = self.owner.iter().map(|owner| *owner != 0);
        assert!(owned.eq(self.used.iter().copied()), "the log of the model is right");
        self.free = FREE.filter(|cluster| self.owner[*cluster as usize] == 0).collect();
        self
    }

    /// Repeats the log and undoes what had not ended, unless it crashes after so many steps.
    fn recover(&mut self, mut steps: u32) -> bool {
        self.is_clean &= self.log.is_empty();
        for (sector, used) in self.image.bitmap_sectors().iter().zip(self.used.chunks_mut(4096)) {
            let content = self.disk.read(*sector);
            for (bit, used) in used.iter_mut().enumerate() {
                *used = content[bit / 8] >> (bit % 8) & 1 != 0;
            }
        }
        self.owner.clone_from(&self.base);
        for (number, record) in (self.oldest..).zip(self.log.clone()) {
            match record {
                Record::Change { transaction, cluster, new, .. } => {
                    self.active.entry(transaction).or_insert(number);
                    self.owner[cluster as usize] = new;
                    self.apply(number, cluster, new);
                }
                Record::End(transaction) => drop(self.active.remove(&transaction)),
                Record::Checkpoint => {}
            }
            if !self.goes_on(&mut steps) {
                return false;
            }
        }
        let changes: Vec<_> = self.changes().collect();
        for (number, transaction, cluster, old, _) in changes.into_iter().rev() {
            self.change(transaction, cluster, old, number);
            if !self.goes_on(&mut steps) {
                return false;
            }
        }
        for transaction in std::mem::take(&mut self.active).into_keys() {
            self.append(Record::End(transaction));
        }
        true
    }

    /// Writes some of the bitmap meanwhile. Whether the recovery may do another step.
    fn goes_on(&mut self, steps: &mut u32) -> bool {
        if self.draws.one_in(3) {
            self.issue();
            self.complete();
        }
        *steps = steps.saturating_sub(1);
        *steps > 0
    }

    /// Who would own a cluster after a crash.
    fn owner_after_a_crash(&self, cluster: u32) -> u64 {
        let flushed = &self.log[..(self.unflushed - self.oldest) as usize];
        let ended: BTreeSet<u64> = flushed
            .iter()
            .filter_map(|record| if let Record::End(t) = record { Some(*t) } else { None })
            .collect();
        flushed.iter().fold(self.base[cluster as usize], |owner, record| match record {
            Record::Change { transaction, cluster: c, new, .. }
                if *c == cluster && ended.contains(transaction) =>
            {
                *new
            }
            _ => owner,
        })
    }

    fn judge(&mut self) {
        for (_, page) in std::mem::take(&mut self.disk.layer.inner_mut().dropped) {
            let word = |at| u64::from_le_bytes(page[at..at + 8].try_into().expect("eight"));
            let (cluster, owner) = (word(0) as u32, word(8));
            if owner > 1 {
                self.dropped += 1;
                let owners = [self.owner[cluster as usize], self.owner_after_a_crash(cluster)];
                self.live += u64::from(owners.contains(&owner));
            }
        }
    }

    fn step(mut self) -> Self {
        match self.draws.below(400) {
            0..20 => self.create(),
            20..40 => self.delete(),
            40..80 => self.end(false),
            80..90 => self.end(true),
            90..190 => self.issue(),
            190..360 => self.complete(),
            360..398 => self.begin_checkpoint(),
            398 if self.draws.one_in(4) => self.close(),
            399 if self.draws.one_in(4) => return self.crash(),
            _ => {}
        }
        self
    }
}

/// Live clusters that were dropped, and all.
fn run(per_page: usize, guards: Guards, runs: u64) -> (u64, u64) {
    let (mut live, mut dropped) = (0, 0);
    for seed in 0..runs {
        let mut host = Host::new(per_page, guards, seed);
        for _ in 0..20_000 {
            host = host.step();
        }
        assert!(host.disk.is_watched(), "the host did nothing that its file system does not");
        live += host.live;
        dropped += host.dropped;
    }
    eprintln!("{guards:?}, {per_page} sectors a page: {live} of {dropped} clusters were live");
    (live, dropped)
}

#[test]
fn no_file_is_lost_that_exists_or_would_after_a_crash() {
    for (per_page, runs) in [(1, 6), (8, 3)] {
        let (live, dropped) = run(per_page, Guards::FULL, runs);
        assert_eq!(live, 0);
        assert!(dropped > 100, "{dropped}");
    }
}

#[test]
fn the_rounds_of_the_log_are_needed() {
    assert!(run(1, Guards { mirror: false, twice: true }, 2).0 > 0);
}
