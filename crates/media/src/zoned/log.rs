//! The record log: three zones, of which one is written to. Conventional ones where the device has as many: then no
//! sequential zone is spent, none is active for it, and none is reset. What such a zone held of an older generation
//! is written over, and counts no more.

use std::io;

use thermocline_flash::{BlockId, FlashError};

use super::{
    Zoned,
    format::{Fact, Head, Kind, LOG_ZONES, Layout, lives, put_entry},
    medium, writing,
};

/// Bytes of a log zone that are used, where what it begins with is not much of that.
const ENOUGH: u64 = 64 << 20;
/// How much of a log zone may follow what it begins with, else.
const TIMES: u64 = 4;

/// A zone of the log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LogZone {
    pub(super) start: u64,
    pub(super) pointer: u64,
    /// Bytes that can be written.
    pub(super) capacity: u64,
    pub(super) is_conventional: bool,
    pub(super) is_usable: bool,
    pub(super) is_active: bool,
    /// Another zone has all that it says, once this sync is over.
    pub(super) superseded: Option<u64>,
}

/// Where facts go.
#[derive(Debug)]
pub(super) struct Log {
    /// The number of the store.
    pub(super) store: u64,
    pub(super) generation: u64,
    /// Numbers of the zones on the device.
    pub(super) numbers: [u32; LOG_ZONES],
    pub(super) zones: [LogZone; LOG_ZONES],
    /// The zone that is written to; none before the first write.
    pub(super) current: Option<usize>,
    /// Bytes in it after which another one is begun: a mount reads all of it.
    pub(super) enough: u64,
    /// The zone whose facts were read.
    pub(super) read: Option<usize>,
}

impl Log {
    /// Its zones that take a place for active ones.
    pub(super) fn active(&self) -> u32 {
        self.zones.iter().filter(|zone| zone.is_active).count() as u32
    }

    /// Whether its zones are conventional: all are, or none is.
    pub(super) const fn is_conventional(&self) -> bool {
        self.zones[0].is_conventional
    }
}

impl Zoned {
    /// Writes facts to the log: those that wait, and the records of pages that it lacks.
    pub(super) fn write_log(&mut self) -> Result<(), FlashError> {
        let mut facts = std::mem::take(&mut self.facts);
        let unlogged = std::mem::take(&mut self.unlogged);
        let is_begun = self.log.current.is_some();
        let first = facts.len();
        for &block in &unlogged {
            self.take_unlogged(block, &mut facts);
        }
        if facts.is_empty() {
            return Ok(());
        }
        if !is_begun || !self.has_log_room(facts.len(), self.log.enough) {
            // What is true now includes what waited. The records are new.
            let rest = facts.split_off(first);
            facts = self.begin_log_zone()?;
            facts.extend(rest);
            let capacity = self.log.current.map_or(0, |current| self.log.zones[current].capacity);
            if !self.has_log_room(facts.len(), capacity) {
                return Err(FlashError::Medium(libc::ENOSPC));
            }
            let bytes = self.log_bytes(facts.len());
            self.log.enough = ENOUGH.max(bytes * TIMES).min(capacity);
        }
        let written = self.append_facts(&facts);
        for &block in &unlogged {
            let end = self.to_be_logged(block).end;
            let is = self.block_mut(block);
            is.logged = is.logged.max(end);
        }
        written.map_err(|error| self.fail(&error))
    }

    /// The pages of a block whose records the log lacks. A table at the end of a zone is found without the log.
    pub(super) fn to_be_logged(&self, block: BlockId) -> std::ops::Range<u32> {
        let is = self.block(block);
        match is.table {
            Some(pages) if pages == self.layout.data => 0..0,
            _ if is.is_waiting || is.areas.is_none() => 0..0,
            table => is.logged..table.unwrap_or(is.next),
        }
    }

    fn take_unlogged(&self, block: BlockId, facts: &mut Vec<Fact>) {
        let areas = self.block(block).areas.as_deref().unwrap_or_default();
        for page in self.to_be_logged(block) {
            facts.push(Fact::Area(self.geometry.ppn(block, page), areas[page as usize]));
        }
    }

    fn has_log_room(&self, facts: usize, enough: u64) -> bool {
        let Some(current) = self.log.current else { return false };
        self.log.zones[current].pointer + self.log_bytes(facts) <= enough
    }

    /// Bytes that so many facts take.
    fn log_bytes(&self, facts: usize) -> u64 {
        facts.div_ceil(self.layout.each()) as u64 * u64::from(self.layout.page)
    }

    /// Begins another zone of the log. What has to stand in it first.
    fn begin_log_zone(&mut self) -> Result<Vec<Fact>, FlashError> {
        let before = self.log.current.or(self.log.read);
        // One that holds nothing that is needed any more, blank ones first.
        let free = |zone: &super::log::LogZone| zone.is_usable && zone.superseded.is_none();
        let find = |chip: &Self| {
            (0..LOG_ZONES)
                .filter(|&at| Some(at) != before && free(&chip.log.zones[at]))
                .min_by_key(|&at| chip.log.zones[at].pointer)
        };
        let found = match find(self) {
            None if self.log.zones.iter().any(|zone| zone.superseded.is_some()) => {
                // Each that is left is needed until what replaces it lasts.
                self.flush_now()?;
                self.reset_superseded(u64::MAX)?;
                find(self)
            }
            found => found,
        };
        let to = found.ok_or(FlashError::Medium(libc::EROFS))?;
        if self.log.zones[to].pointer > 0 {
            self.reset_log_zone(to)?;
        }
        if !self.log.is_conventional() {
            self.make_place(None)?;
        }
        if let Some(before) = before {
            self.log.zones[before].superseded = Some(self.begun + 1);
        }
        self.log.current = Some(to);
        self.log.generation += 1;
        Ok(self.all_that_is_true())
    }

    fn all_that_is_true(&self) -> Vec<Fact> {
        let mut facts = lives(self.blocks.iter().map(|block| block.erases));
        for (is, block) in self.blocks.iter().zip((0..).map(BlockId)) {
            if is.is_bad {
                facts.push(Fact::Bad(block));
            }
            if let (None, Some(pages)) = (&is.areas, is.table)
                && pages < self.layout.data
            {
                facts.push(Fact::Tabled(block, pages));
            }
            facts.extend(self.logged_areas(block).map(|(at, area)| Fact::Area(at, area)));
        }
        facts.push(Fact::Whole(facts.len() as u32));
        facts
    }

    fn append_facts(&mut self, facts: &[Fact]) -> io::Result<()> {
        let Some(current) = self.log.current else { return Ok(()) };
        let size = self.layout.page as usize;
        let zone = self.log.zones[current];
        let first = (zone.pointer / u64::from(self.layout.page)) as u32;
        let blocks = facts.chunks(self.layout.each());
        let mut bytes = vec![0; blocks.len() * size];
        for (number, (facts, block)) in (first..).zip(blocks.zip(bytes.chunks_exact_mut(size))) {
            for (at, fact) in facts.iter().enumerate() {
                put_entry(block, at, &fact.write());
            }
            self.log_head(number, facts.len() as u32).write(block);
        }
        self.wrote();
        for part in bytes.chunks(writing::MOST_BYTES) {
            let zone = &mut self.log.zones[current];
            self.device.write_at(part, zone.start + zone.pointer)?;
            zone.pointer += part.len() as u64;
            zone.is_active = !zone.is_conventional && zone.pointer < zone.capacity;
        }
        Ok(())
    }

    fn log_head(&self, number: u32, count: u32) -> Head {
        let Layout { data, .. } = self.layout;
        let Log { store, generation, numbers: zones, .. } = self.log;
        Head { kind: Kind::Log, store, generation, number, count, zones, data }
    }

    /// Resets the zones of the log that nobody needs once that sync is over.
    pub(super) fn reset_superseded(&mut self, lasting: u64) -> Result<(), FlashError> {
        for at in 0..LOG_ZONES {
            if self.log.zones[at].superseded.is_some_and(|sync| sync <= lasting) {
                self.reset_log_zone(at)?;
            }
        }
        Ok(())
    }

    fn reset_log_zone(&mut self, at: usize) -> Result<(), FlashError> {
        let zone = &mut self.log.zones[at];
        if !zone.is_conventional {
            self.device.reset(zone.start).map_err(|error| medium(&error))?;
        }
        (zone.pointer, zone.is_active, zone.superseded) = (0, false, None);
        Ok(())
    }
}
