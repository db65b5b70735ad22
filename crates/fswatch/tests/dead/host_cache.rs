//! A host's sector cache, written back in any order, with power that may fail at any write.

use std::{
    collections::HashMap,
    io::{Read, Result, Seek, SeekFrom, Write},
};

use thermocline_testing::Draws;

use crate::disk::{Disk, SECTOR, Sector};

/// A partition behind the host's cache.
pub struct Cache {
    pub disk: Disk,
    partition: std::ops::Range<u64>,
    sectors: HashMap<u64, Sector>,
    dirty: Vec<u64>,
    /// Writes in flight, at most one for each sector, with the data at the time of issue.
    flight: Vec<(u64, Sector)>,
    /// The position of `fatfs`.
    pub position: u64,
    draws: Draws,
    /// Whether it also writes back now and then without a request.
    pub is_busy: bool,
    /// Number of sectors that reach the medium before power fails.
    pub power: u64,
    /// Sectors written, and the number of marks after each.
    pub marks: Vec<(u64, u64)>,
}

impl Cache {
    pub fn new(disk: Disk, partition: std::ops::Range<u64>, seed: u64) -> Self {
        Self {
            disk,
            partition,
            sectors: HashMap::new(),
            dirty: vec![],
            flight: vec![],
            position: 0,
            draws: Draws(seed),
            is_busy: true,
            power: u64::MAX,
            marks: vec![],
        }
    }

    fn issue(&mut self, at: usize) {
        let sector = self.dirty[at];
        if self.flight.iter().all(|(other, _)| *other != sector) {
            self.dirty.swap_remove(at);
            self.flight.push((sector, self.sectors[&sector]));
        }
    }

    fn complete(&mut self, at: usize) {
        let (sector, content) = self.flight.swap_remove(at);
        if self.power > 0 {
            self.power -= 1;
            self.disk.write(sector, &content);
            self.marks.push((sector, self.disk.dead().sectors_marked));
        }
    }

    /// Simulates write-back in the background.
    fn work(&mut self) {
        while self.is_busy && self.draws.one_in(3) {
            if self.draws.one_in(2) && !self.dirty.is_empty() {
                let at = self.draws.below(self.dirty.len() as u32) as usize;
                self.issue(at);
            } else if !self.flight.is_empty() {
                let at = self.draws.below(self.flight.len() as u32) as usize;
                self.complete(at);
            }
        }
    }

    /// Writes everything back, in any order.
    pub fn sync(&mut self) {
        while !self.dirty.is_empty() || !self.flight.is_empty() {
            if !self.dirty.is_empty() {
                let at = self.draws.below(self.dirty.len() as u32) as usize;
                self.issue(at);
            }
            if !self.flight.is_empty() && (self.dirty.is_empty() || self.draws.one_in(2)) {
                let at = self.draws.below(self.flight.len() as u32) as usize;
                self.complete(at);
            }
        }
    }

    /// Writes everything back: data and directories, then the tables, in sector order.
    pub fn sync_in_order(&mut self, heap: u64) {
        self.dirty.sort_unstable_by_key(|sector| (*sector < heap, *sector));
        while !self.dirty.is_empty() {
            let sector = self.dirty.remove(0);
            self.flight.push((sector, self.sectors[&sector]));
            self.complete(0);
        }
    }

    fn sector(&mut self, sector: u64) -> &mut Sector {
        let disk = &mut self.disk;
        self.sectors.entry(sector).or_insert_with(|| disk.read(sector))
    }

    /// Makes the host search for free clusters from the beginning again, so that recently freed
    /// ones are reused first.
    pub fn forget_next_free(&mut self) {
        let information = self.partition.start + 1;
        if self.sector(information).starts_with(b"RRaA") {
            self.sector(information)[492..496].fill(0xff);
            if !self.dirty.contains(&information) {
                self.dirty.push(information);
            }
        }
    }

    /// Cuts the power and restores it. All caches are lost.
    pub fn power_cycle(self) -> Self {
        let seed = self.draws.0;
        Self::new(self.disk.power_cycle(), self.partition, seed)
    }

    fn place(&self) -> (u64, usize) {
        let sector = self.partition.start + self.position / SECTOR as u64;
        assert!(sector < self.partition.end, "fatfs stays in its partition");
        (sector, (self.position % SECTOR as u64) as usize)
    }
}

impl Read for Cache {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let (sector, at) = self.place();
        let length = into.len().min(SECTOR - at);
        into[..length].copy_from_slice(&self.sector(sector)[at..at + length]);
        self.position += length as u64;
        Ok(length)
    }
}

impl Write for Cache {
    fn write(&mut self, from: &[u8]) -> Result<usize> {
        self.work();
        let (sector, at) = self.place();
        let length = from.len().min(SECTOR - at);
        self.sector(sector)[at..at + length].copy_from_slice(&from[..length]);
        if !self.dirty.contains(&sector) {
            self.dirty.push(sector);
        }
        self.position += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Seek for Cache {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let length = (self.partition.end - self.partition.start) * SECTOR as u64;
        self.position = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.position.saturating_add_signed(by),
            SeekFrom::End(by) => length.saturating_add_signed(by),
        };
        Ok(self.position)
    }
}
