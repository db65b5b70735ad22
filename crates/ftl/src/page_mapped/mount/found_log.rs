//! Finding the index log.

use alloc::{collections::VecDeque, vec, vec::Vec};

use thermocline_flash::{BlockId, Flash, FlashError, Geometry, Lpn, Ppn};

use crate::page_mapped::{
    durability,
    index::{
        find::log_pages,
        record::{Complete, Header, Interval, Kind, Record},
        summary::Summary,
    },
    journal::{Log, Used},
    watermark::EPOCH,
};

/// The log as it was found.
pub(super) struct FoundLog {
    pub(super) geometry: Geometry,
    pub(super) summary: Summary,
    /// Blocks with a turn, oldest first.
    blocks: Vec<Used>,
    /// Blocks without one.
    others: Vec<BlockId>,
    /// The page behind the last of the newest block that is not blank.
    next: u32,
    pub(super) complete: Complete,
    pub(super) known: Vec<Interval>,
    /// Numbers of programs that failed.
    failed: Vec<Interval>,
    /// The checkpoint that is the table as it is, if the log ends with a clean record.
    pub(super) clean: Option<Complete>,
    /// The first sequence number since the last crash, if all is written.
    pub(super) since: Option<u64>,
    /// The greatest sequence number that is known of.
    pub(super) sequence: u64,
    /// The greatest number of a checkpoint.
    pub(super) numbered: u32,
    pub(super) pages_read: u64,
    /// The turn from which on pages are needed.
    from: u64,
    /// Turns whose blocks are worth keeping: they hold trims, or identify the log.
    kept: Vec<u64>,
    payload: Vec<u8>,
}

impl FoundLog {
    pub(super) fn find<C: Flash>(chip: &mut C, summary: &Summary) -> Result<Self, FlashError> {
        let geometry = *chip.geometry();
        let mut found = Self {
            geometry,
            summary: *summary,
            blocks: Vec::new(),
            others: Vec::new(),
            next: u32::MAX,
            complete: Complete::NONE,
            known: Vec::new(),
            failed: Vec::new(),
            clean: None,
            since: None,
            sequence: 0,
            numbered: 0,
            pages_read: 0,
            from: 0,
            kept: Vec::new(),
            payload: vec![0; geometry.page_size as usize],
        };
        let mut newest_head = 0;
        for block in (geometry.data_blocks()..geometry.blocks()).map(BlockId) {
            let head = found.read(chip, geometry.ppn(block, geometry.header_pages))?;
            let turn = match &head {
                Some((_, Record::Head(head))) if head.summary.id != summary.id => None,
                // A bad block may hold what was written before the chip was formatted.
                None if chip.is_bad(block) => None,
                _ => turn_of(chip, block)?,
            };
            let Some(turn) = turn else {
                found.others.push(block);
                continue;
            };
            found.blocks.push(Used { turn, block });
            if let Some((_, Record::Head(head))) = head
                && turn > newest_head
            {
                newest_head = turn;
                found.complete = head.complete;
                found.learn_failed(&head.known);
                found.known = head.known;
            }
        }
        found.blocks.sort_by_key(|used| used.turn);
        found.from = found.complete.turn;
        found.kept.push(newest_head);
        if let Some(newest) = found.blocks.last().copied() {
            found.kept.push(newest.turn);
            found.look_at_end(chip, newest.block)?;
        }
        Ok(found)
    }

    /// Where the newest block ends, and whether its last page is a clean record.
    fn look_at_end<C: Flash>(&mut self, chip: &mut C, block: BlockId) -> Result<(), FlashError> {
        self.next = self.geometry.header_pages;
        let mut last = None;
        for at in log_pages(self.geometry, block) {
            match chip.read_oob(at) {
                Ok(None) => continue,
                Ok(Some(oob)) => last = Some((at, oob.note == Kind::Clean as u16)),
                Err(FlashError::Unreadable(_)) => last = Some((at, false)),
                Err(e) => return Err(e),
            }
            self.next = self.geometry.page_of(at) + 1;
        }
        if let Some((at, true)) = last
            && let Some((header, Record::Clean(complete, known))) = self.read(chip, at)?
        {
            self.clean = Some(complete);
            self.since = known.last().map(|(from, _)| *from);
            self.learn_failed(&known);
            (self.complete, self.known) = (complete, known);
            (self.sequence, self.from) = (header.sequence, complete.turn);
        }
        Ok(())
    }

    /// Something was changed after the clean record.
    pub(super) fn is_not_clean(&mut self) {
        self.clean = None;
    }

    /// Sequence numbers up to which everything is on the chip.
    fn learn(&mut self, known: &[Interval]) {
        self.learn_failed(known);
        for &(from, to) in known {
            match self.known.iter_mut().find(|known| known.0 == from) {
                Some(known) => known.1 = known.1.max(to),
                None => self.known.push((from, to)),
            }
        }
    }

    /// Adds the watermarks that pages carried. Whether they were new.
    pub(super) fn learn_watermarks(&mut self, watermarks: &[u64]) -> bool {
        durability::learn(&mut self.known, watermarks)
    }

    /// Numbers of programs that failed: those that one record leaves out between its intervals. Only of one,
    /// for another may have forgotten what lies before its first.
    fn learn_failed(&mut self, known: &[Interval]) {
        let mut before: Option<Interval> = None;
        for &(from, to) in known {
            // After a crash known numbers begin with an epoch, and after a failure behind its number.
            if !from.is_multiple_of(EPOCH) {
                let same = before.filter(|&(_, to)| to < from && to / EPOCH == from / EPOCH);
                let failed = (same.map_or(from - 1, |(_, to)| to + 1), from - 1);
                // Every record of a mount repeats it.
                if !self.failed.contains(&failed) {
                    self.failed.push(failed);
                }
            }
            before = Some((from, to));
        }
    }

    /// Whether the program of that number failed: what is on the chip of it does not count, for its
    /// writer got the error, or wrote it again.
    pub(super) fn has_failed(&self, sequence: u64) -> bool {
        self.failed.iter().any(|&(from, to)| (from..=to).contains(&sequence))
    }

    /// Whether everything programmed with that number is known to have been synced.
    pub(super) fn is_known(&self, sequence: u64) -> bool {
        self.known.iter().any(|&(from, to)| (from..=to).contains(&sequence))
    }

    /// Reads a page of the log; nothing if it cannot be read, or is none.
    pub(super) fn read<C: Flash>(
        &mut self,
        chip: &mut C,
        at: Ppn,
    ) -> Result<Option<(Header, Record)>, FlashError> {
        match chip.read_oob(at) {
            Ok(Some(oob)) if oob.lpn == Lpn::NONE => {}
            Ok(_) | Err(FlashError::Unreadable(_)) => return Ok(None),
            Err(e) => return Err(e),
        }
        self.pages_read += 1;
        match chip.read(at, &mut self.payload) {
            Ok(()) => Ok(Record::decode(&self.payload)),
            Err(FlashError::Unreadable(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// All pages of the log that count, in the order in which they were written.
    pub(super) fn for_each<C: Flash>(
        &mut self,
        chip: &mut C,
        mut visit: impl FnMut(&mut Self, &mut C, Header, Record) -> Result<(), FlashError>,
    ) -> Result<(), FlashError> {
        for used in self.blocks.clone() {
            if used.turn < self.from {
                continue;
            }
            for at in log_pages(self.geometry, used.block) {
                let Some((header, record)) = self.read(chip, at)? else { continue };
                self.sequence = self.sequence.max(header.sequence);
                self.numbered = self.numbered.max(header.checkpoint);
                let of_complete =
                    header.checkpoint != 0 && header.checkpoint == self.complete.checkpoint;
                if of_complete || header.kind == Kind::Trims {
                    self.kept.push(used.turn);
                }
                if let Record::Clean(_, known) | Record::InUse(known) = &record {
                    self.learn(known);
                }
                visit(self, chip, header, record)?;
            }
        }
        for (_, to) in &self.known {
            self.sequence = self.sequence.max(*to);
        }
        Ok(())
    }

    /// The log, to be written on.
    pub(super) fn log<C: Flash>(&self, chip: &C) -> Log {
        let is_needed = |used: &Used| used.turn >= self.from && self.kept.contains(&used.turn);
        let (used, stale): (Vec<Used>, Vec<Used>) =
            self.blocks.iter().copied().partition(is_needed);
        let stale = stale.into_iter().map(|used| used.block);
        let free = self.others.iter().copied().chain(stale).filter(|&block| !chip.is_bad(block));
        let turn = self.blocks.last().map_or(0, |used| used.turn);
        // What is bad is not written any more.
        let goes_on = used.last().is_some_and(|last| !chip.is_bad(last.block));
        Log::found(VecDeque::from(used), free.collect(), goes_on.then_some(self.next), turn)
    }
}

/// The turn of a block: the same beside all its pages.
fn turn_of<C: Flash>(chip: &mut C, block: BlockId) -> Result<Option<u64>, FlashError> {
    for at in log_pages(*chip.geometry(), block) {
        match chip.read_oob(at) {
            Ok(Some(oob)) if oob.lpn == Lpn::NONE => return Ok(Some(oob.sequence)),
            Ok(None) | Err(FlashError::Unreadable(_)) => {}
            Ok(Some(_)) => return Ok(None),
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}
