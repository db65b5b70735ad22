//! Finding the index log.

use alloc::{collections::VecDeque, vec, vec::Vec};

use thermocline_flash::{BlockId, Flash, FlashError, Geometry, Lpn, Ppn};

use crate::journal::{
    Log, Used, durability,
    index::{
        find::log_pages,
        record::{Complete, Header, Interval, Kind, MOST_TURNS, PLACES, Record},
        summary::Summary,
    },
    watermark::EPOCH,
};

/// The log as it was found.
pub(crate) struct FoundLog {
    pub(crate) geometry: Geometry,
    pub(crate) summary: Summary,
    /// Blocks with a turn, oldest first.
    pub(super) blocks: Vec<Used>,
    /// Blocks without one.
    others: Vec<BlockId>,
    /// The page behind the last of the newest block that is not blank.
    next: u32,
    pub(crate) complete: Complete,
    pub(crate) known: Vec<Interval>,
    /// Numbers of programs that failed.
    failed: Vec<Interval>,
    /// Gaps before readable pages, and how each block ends.
    gaps: Vec<Gap>,
    rows: Vec<(u64, Row)>,
    /// The checkpoint that is the table as it is, if the log ends with a clean record.
    pub(crate) clean: Option<Complete>,
    /// Whether the last page of the log is the clean record, whatever data pages follow it.
    pub(crate) says_clean: bool,
    /// The first sequence number since the last crash, if all is written.
    pub(crate) since: Option<u64>,
    /// The greatest sequence number that is known of.
    pub(crate) sequence: u64,
    /// The greatest number of a checkpoint.
    pub(crate) numbered: u32,
    pub(crate) pages_read: u64,
    /// The turn from which on pages are needed.
    pub(super) from: u64,
    /// Lost pages of the log although later ones are proved durable. Map pages do not count: the areas of
    /// data pages replace them.
    pub(crate) missing: u64,
    /// The least number of pages of each turn, by the next head.
    before: Vec<(u64, u32)>,
    /// The turn of the newest head, and which turns before it are kept; all where it does not say.
    newest_head: u64,
    kept: Option<Vec<u8>>,
    payload: Vec<u8>,
}

impl FoundLog {
    pub(crate) fn find<C: Flash>(chip: &mut C, summary: &Summary) -> Result<Self, FlashError> {
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
            gaps: Vec::new(),
            rows: Vec::new(),
            clean: None,
            says_clean: false,
            since: None,
            sequence: 0,
            numbered: 0,
            pages_read: 0,
            from: 0,
            missing: 0,
            before: Vec::new(),
            newest_head: 0,
            kept: None,
            payload: vec![0; geometry.page_size as usize],
        };
        for block in (geometry.data_blocks()..geometry.blocks()).map(BlockId) {
            let head = found.read(chip, geometry.ppn(block, geometry.header_pages), None)?;
            let turn = match &head {
                Some((_, Record::Head(head))) if head.summary.id != summary.id => None,
                // A bad block may hold pages from before the format.
                None if chip.is_bad(block) => None,
                // Its head was cut off: the turn did not begin.
                None if !is_begun(chip, block)? => None,
                _ => turn_of(chip, block)?,
            };
            let Some(turn) = turn else {
                found.others.push(block);
                continue;
            };
            found.blocks.push(Used { turn, block, is_kept: false });
            let Some((_, Record::Head(head))) = head else { continue };
            found.before.push((turn.saturating_sub(1), head.before));
            if turn > found.newest_head {
                (found.newest_head, found.kept) = (turn, head.kept);
                found.complete = head.complete;
                found.learn_failed(&head.known);
                found.known = head.known;
            }
        }
        found.blocks.sort_by_key(|used| used.turn);
        found.from = found.complete.turn;
        if let Some(newest) = found.blocks.last().copied() {
            found.look_at_end(chip, newest)?;
        }
        if found.newest_head == 0 && found.clean.is_none() {
            found.infer_complete(chip)?;
        }
        Ok(found)
    }

    /// Where the newest block ends, and whether its last page is a clean record.
    fn look_at_end<C: Flash>(&mut self, chip: &mut C, newest: Used) -> Result<(), FlashError> {
        self.next = self.geometry.header_pages;
        let mut last = None;
        for at in log_pages(self.geometry, newest.block) {
            match chip.read_oob(at) {
                Ok(None) => continue,
                Ok(Some(oob)) => last = Some((at, oob.note == Kind::Clean as u16)),
                Err(FlashError::Unreadable(_)) => last = Some((at, false)),
                Err(e) => return Err(e),
            }
            self.next = self.geometry.page_of(at) + 1;
        }
        self.says_clean = last.is_some_and(|(_, says_clean)| says_clean);
        if let Some((at, true)) = last
            && let Some((header, Record::Clean(complete, known))) =
                self.read(chip, at, Some(newest.turn))?
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
    pub(crate) fn is_not_clean(&mut self) {
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
    pub(crate) fn learn_watermarks(&mut self, watermarks: &[u64]) -> bool {
        durability::learn(&mut self.known, watermarks)
    }

    /// Takes the numbers of failed programs: those between two intervals of one record. Intervals of two
    /// records are never compared, since a record may have forgotten what precedes its first.
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

    /// Whether the program of that number failed. Its page does not count: its writer got the error
    /// or wrote it again.
    pub(crate) fn has_failed(&self, sequence: u64) -> bool {
        self.failed.iter().any(|&(from, to)| (from..=to).contains(&sequence))
    }

    /// Whether everything programmed with that number is known to have been synced.
    pub(crate) fn is_known(&self, sequence: u64) -> bool {
        self.known.iter().any(|&(from, to)| (from..=to).contains(&sequence))
    }

    /// Reads a page of the log; nothing if it cannot be read, is none, or is of another turn.
    pub(super) fn read<C: Flash>(
        &mut self,
        chip: &mut C,
        at: Ppn,
        turn: Option<u64>,
    ) -> Result<Option<(Header, Record)>, FlashError> {
        match chip.read_oob(at) {
            Ok(Some(oob))
                if oob.lpn == Lpn::NONE && turn.is_none_or(|turn| turn == oob.sequence) => {}
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
    pub(crate) fn for_each<C: Flash>(
        &mut self,
        chip: &mut C,
        mut visit: impl FnMut(&mut Self, &mut C, Header, Record) -> Result<(), FlashError>,
    ) -> Result<(), FlashError> {
        (self.gaps, self.rows) = (Vec::new(), Vec::new());
        for (i, used) in self.blocks.clone().into_iter().enumerate() {
            if used.turn < self.from {
                continue;
            }
            let mut row = Row::default();
            for at in log_pages(self.geometry, used.block) {
                let Some((header, record)) = self.read(chip, at, Some(used.turn))? else {
                    row.maps += u32::from(is_map(chip, at, used.turn)?);
                    continue;
                };
                self.gaps.extend(row.take(used.turn, &header));
                self.sequence = self.sequence.max(header.sequence);
                self.numbered = self.numbered.max(header.checkpoint);
                let of_complete =
                    header.checkpoint != 0 && header.checkpoint == self.complete.checkpoint;
                self.blocks[i].is_kept |= of_complete || header.kind.is_kept();
                if let Record::Clean(_, known) | Record::InUse(known) = &record {
                    self.learn(known);
                }
                visit(self, chip, header, record)?;
            }
            self.rows.push((used.turn, row));
        }
        for (_, to) in &self.known {
            self.sequence = self.sequence.max(*to);
        }
        Ok(())
    }

    /// Counts the missing pages of the log that were durable: all before the last block, and in it
    /// those written before a program known to be durable.
    pub(crate) fn count_missing(&mut self) {
        let Some(newest) = self.blocks.last().map(|used| used.turn) else { return };
        let lasted = |gap: &&Gap| {
            let known =
                |&(_, to): &Interval| to / EPOCH == gap.sequence / EPOCH && gap.sequence < to;
            gap.turn == newest && (self.clean.is_some() || self.known.iter().any(known))
        };
        let within: u64 = self.gaps.iter().filter(lasted).map(|gap| u64::from(gap.pages)).sum();
        let there = |turn: u64| {
            let rows = self.rows.iter().filter(|row| row.0 == turn);
            // A failed block may have a head of the same turn.
            rows.map(|(_, row)| row.there + row.maps).max()
        };
        let mut ends = 0;
        for &(turn, pages) in self.before.iter().filter(|before| self.is_needed(before.0)) {
            ends += u64::from(pages.saturating_sub(there(turn).unwrap_or(0)));
        }
        let is_absent = |turn: &u64| self.is_needed(*turn) && there(*turn).is_none();
        let absent = match &self.kept {
            Some(kept) => {
                let back = 1..=self.newest_head.min(8 * kept.len() as u64);
                back.map(|back| self.newest_head - back).filter(is_absent).count() as u64
            }
            None => {
                let mut turns: Vec<u64> = self.rows.iter().map(|row| row.0).collect();
                turns.dedup();
                (newest + 1).saturating_sub(self.from.max(1)).saturating_sub(turns.len() as u64)
            }
        };
        self.missing = within + ends + absent;
    }

    /// Whether the log needs a turn: a turn that the newest head leaves out may be gone or half erased. That
    /// head says nothing about later turns.
    fn is_needed(&self, turn: u64) -> bool {
        let Some(kept) = &self.kept else { return turn >= self.from };
        let back = self.newest_head.wrapping_sub(turn).wrapping_sub(1);
        let bits = usize::try_from(back / 8).ok().and_then(|byte| kept.get(byte));
        turn >= self.from && bits.is_some_and(|bits| bits >> (back % 8) & 1 != 0)
    }

    /// Whether something is missing in the last block that need not have lasted.
    fn ends_torn(&self) -> bool {
        let newest = self.blocks.last().map(|used| used.turn);
        self.gaps.iter().any(|gap| Some(gap.turn) == newest)
    }

    /// The log, ready for writing. A repair gets `wanted` blocks for its checkpoint, if need be the oldest,
    /// whose content the mount has read by now.
    pub(crate) fn log<C: Flash>(&self, chip: &C, wanted: u32) -> Log {
        let turn = self.blocks.last().map_or(0, |used| used.turn);
        // The newest head identifies the log.
        let is_needed = |used: &Used| {
            let is_last = used.turn == turn || used.turn == self.newest_head;
            used.turn >= self.from && (used.is_kept || is_last)
        };
        let (mut used, stale): (Vec<Used>, Vec<Used>) =
            self.blocks.iter().copied().partition(is_needed);
        // Turns behind the newest head come last: the next head must first record that they are not
        // kept.
        let stale = stale.into_iter().map(|used| used.block);
        let free = self.others.iter().copied().chain(stale).filter(|&block| !chip.is_bad(block));
        let mut free: VecDeque<BlockId> = free.collect();
        let lacks = (wanted as usize).saturating_sub(free.len()).min(used.len().saturating_sub(1));
        let given = used.drain(..lacks).map(|used| used.block);
        free.extend(given.filter(|&block| !chip.is_bad(block)));
        // Bad blocks are not written.
        let goes_on = used.last().is_some_and(|last| !chip.is_bad(last.block)) && !self.ends_torn();
        let written = self.rows.iter().rfind(|row| row.0 == turn).map_or(0, |(_, row)| {
            // A torn page does not count as missing when the next block begins.
            if self.ends_torn() { row.there } else { row.place }
        });
        let next = goes_on.then_some(self.next);
        Log::found(VecDeque::from(used), free, next, (turn, written))
    }
}

/// Pages of a block of the log, as they are read one after another.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// Pages that could be read.
    there: u32,
    /// Pages of a map that could not.
    maps: u32,
    /// Those among them since the last page that could.
    skipped: u32,
    /// The place of the last page that could be read.
    place: u32,
}

/// Pages of the log that are missing.
#[derive(Clone, Copy, Debug)]
struct Gap {
    turn: u64,
    pages: u32,
    /// Programs when the page behind them was written.
    sequence: u64,
}

impl Row {
    /// Takes the next readable page. Returns the gap before it. A head has nothing that is not recorded
    /// elsewhere.
    fn take(&mut self, turn: u64, header: &Header) -> Option<Gap> {
        let before = if self.there == 0 && header.place > 1 { 1 } else { self.place };
        // A page that was programmed though that failed is there twice: then the step is 0.
        let step = (header.place + PLACES - before % PLACES) % PLACES;
        let pages = step.saturating_sub(1);
        let maps = self.maps - core::mem::replace(&mut self.skipped, self.maps);
        // An unreadable head counts as well.
        self.there += 1 + u32::from(self.there == 0 && header.place > 1);
        self.place = before + step;
        let pages = pages.saturating_sub(maps);
        (pages > 0).then_some(Gap { turn, pages, sequence: header.sequence })
    }
}

/// Whether an unreadable page of the log is a map page, by its area. An area of another turn says
/// nothing about the page that should be there.
fn is_map<C: Flash>(chip: &mut C, at: Ppn, turn: u64) -> Result<bool, FlashError> {
    match chip.read_oob(at) {
        Ok(oob) => Ok(oob.is_some_and(|o| {
            o.lpn == Lpn::NONE && o.sequence == turn && o.note == Kind::Map as u16
        })),
        Err(FlashError::Unreadable(_)) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Whether a block of the log has more than its first page.
fn is_begun<C: Flash>(chip: &mut C, block: BlockId) -> Result<bool, FlashError> {
    for at in log_pages(*chip.geometry(), block).skip(1) {
        match chip.read_oob(at) {
            Ok(None) => {}
            Ok(Some(_)) | Err(FlashError::Unreadable(_)) => return Ok(true),
            Err(e) => return Err(e),
        }
    }
    Ok(false)
}

/// The turn of a block, from the area of any page.
fn turn_of<C: Flash>(chip: &mut C, block: BlockId) -> Result<Option<u64>, FlashError> {
    for at in log_pages(*chip.geometry(), block) {
        match chip.read_oob(at) {
            Ok(Some(oob)) if oob.lpn == Lpn::NONE && oob.sequence < MOST_TURNS => {
                return Ok(Some(oob.sequence));
            }
            Ok(None) | Err(FlashError::Unreadable(_)) => {}
            Ok(Some(_)) => return Ok(None),
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}
