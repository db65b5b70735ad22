//! Finding the newest copy of each page.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Flash, FlashError, Geometry, Lpn, Oob, Ppn};

use super::{
    found_log::FoundLog,
    recovery::{Mount, Recovery},
};
use crate::{
    journal::{
        LOST,
        index::record::{BlockEntry, Header, Record},
        watermark::{EPOCH, program_number, watermark},
    },
    shape::Shape,
};

/// The state of each page and each block, as far as the mount has found it.
pub(crate) struct Pages {
    /// Where its newest copy is.
    pub(crate) map: Vec<Ppn>,
    pub(crate) notes: Vec<u16>,
    /// When that copy was programmed; 0 where only a checkpoint has it.
    pub(crate) times: Vec<u64>,
    /// Copies up to that number are older, or dead.
    newest: Vec<u64>,
    pub(crate) blocks: Vec<BlockEntry>,
    /// Blocks of which every page is looked at.
    scanned: Vec<bool>,
    /// Copies that may have been cut off.
    doubtful: Vec<Doubtful>,
    /// The greatest watermark that pages carry, of each epoch.
    watermarks: Vec<u64>,
    /// Each page's place by the complete checkpoint, and the number of programs at each of its map pages.
    promised: Vec<Ppn>,
    promised_at: Vec<(u32, u32, u64)>,
    /// The complete checkpoint's table of blocks.
    table: Vec<BlockEntry>,
    /// Programs when the checkpoint's table of blocks was begun: numbers above are accounted for.
    pub(crate) base: Option<u64>,
    /// Numbers above that were found, or of which the log says that they were erased.
    numbers: Vec<u64>,
    /// Whether the log lacks some of them.
    pub(crate) unrecorded: bool,
    /// The last data page programmed, if it is not known to be durable and the chip's pages may fade.
    pub(crate) last: Option<LastPage>,
}

/// A page that may have been cut off and reads well now.
#[derive(Clone, Debug)]
pub(crate) struct LastPage {
    pub(crate) lpn: Lpn,
    pub(crate) at: Ppn,
    pub(crate) data: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Doubtful {
    at: Ppn,
    oob: Oob,
}

/// How far the newest checkpoint was read.
struct Reading {
    next: u32,
    table: Vec<BlockEntry>,
    is_broken: bool,
}

impl Pages {
    /// Finds the newest copies; those in `ignored` blocks do not count, though their numbers do.
    pub(crate) fn find<C: Flash>(
        chip: &mut C,
        found: &mut FoundLog,
        how: Mount,
        ignored: &[bool],
        recovery: &mut Recovery,
    ) -> Result<Self, FlashError> {
        let mut pages = None;
        if how == Mount::Quick && found.complete.has_map {
            pages = Self::by_checkpoint(chip, found, recovery)?;
            recovery.used_checkpoint = pages.is_some();
        }
        let mut pages = match pages {
            Some(pages) => pages,
            None => Self::by_facts(chip, found)?,
        };
        let is_whole = found.clean.is_none() || !recovery.used_checkpoint;
        pages.scan(chip, found, ignored, recovery)?;
        pages.unrecorded = found.learn_watermarks(&pages.watermarks);
        pages.settle_doubts(chip, found, recovery)?;
        found.count_missing();
        pages.promised_at.sort_unstable();
        recovery.missing_log = found.missing;
        recovery.missing = if is_whole { pages.missing(found) } else { 0 };
        if found.complete.has_map && pages.promises_less(found) {
            // Their logical pages are unknown.
            recovery.missing += recovery.unreadable_pages + pages.stale_blocks();
        }
        pages.hold_promises(found, recovery);
        recovery.log_pages_read = found.pages_read;
        Ok(pages)
    }

    fn new(found: &FoundLog) -> Self {
        let logical = found.summary.logical_pages as usize;
        let blocks = found.geometry.data_blocks() as usize;
        Self {
            map: vec![Ppn::NONE; logical],
            notes: vec![0; logical],
            times: vec![0; logical],
            newest: vec![0; logical],
            blocks: vec![BlockEntry::default(); blocks],
            scanned: vec![true; blocks],
            doubtful: Vec::new(),
            watermarks: Vec::new(),
            promised: vec![Ppn::NONE; logical],
            promised_at: Vec::new(),
            table: Vec::new(),
            base: None,
            numbers: Vec::new(),
            unrecorded: false,
            last: None,
        }
    }

    /// Starts from the log's records of trims and absent pages; all blocks will be read.
    fn by_facts<C: Flash>(chip: &mut C, found: &mut FoundLog) -> Result<Self, FlashError> {
        let mut pages = Self::new(found);
        found.for_each(chip, |found, _, header, record| {
            pages.take_fact(found, &header, &record);
            pages.take_promise(found, &header, &record);
            Ok(())
        })?;
        Ok(pages)
    }

    /// Starts from the newest checkpoint and the log's other records; `None` if a page of the
    /// checkpoint is lost.
    fn by_checkpoint<C: Flash>(
        chip: &mut C,
        found: &mut FoundLog,
        recovery: &mut Recovery,
    ) -> Result<Option<Self>, FlashError> {
        let mut pages = Self::new(found);
        let mut reading = Reading { next: 0, table: Vec::new(), is_broken: false };
        found.for_each(chip, |found, chip, header, record| {
            pages.take_fact(found, &header, &record);
            pages.take_promise(found, &header, &record);
            pages.take_page(chip, found, &header, record, &mut reading, recovery)
        })?;
        if reading.is_broken || reading.next != found.complete.pages {
            found.is_not_clean();
            return Ok(None);
        }
        if found.clean.is_some() && !pages.end_as_written(chip, recovery)? {
            // Somebody wrote a page and had no time to say so.
            found.is_not_clean();
            return Self::by_checkpoint(chip, found, recovery);
        }
        Ok(Some(pages))
    }

    /// Pages that the log records as absent, or as lost, are dead up to then. Of checkpoints only the complete one
    /// counts: it is durable.
    fn take_fact(&mut self, found: &FoundLog, header: &Header, record: &Record) {
        let of_it = header.checkpoint == found.complete.checkpoint;
        let (runs, what) = match record {
            Record::Trims(runs) => (runs, Ppn::NONE),
            Record::Absent(runs) if of_it => (runs, Ppn::NONE),
            Record::Lost(runs) if of_it => (runs, LOST),
            _ => return,
        };
        for (first, length) in runs {
            for lpn in *first..first.saturating_add(*length).min(self.map.len() as u32) {
                self.is_nowhere(Lpn(lpn), what, header.sequence);
            }
        }
    }

    /// Takes the pages that must exist by the complete checkpoint, and those that need not by later
    /// records.
    fn take_promise(&mut self, found: &FoundLog, header: &Header, record: &Record) {
        let of_it = header.checkpoint == found.complete.checkpoint;
        if header.is_numbered {
            self.numbers.push(header.sequence);
        }
        match record {
            Record::Erased(numbers) => self.numbers.extend(numbers),
            Record::Blocks(base, entries) if of_it => {
                let first = header.first as usize;
                if first <= self.table.len() {
                    // A page may be there twice.
                    self.table.truncate(first);
                    self.table.extend(entries);
                }
                self.base = Some(*base);
            }
            Record::Map(entries) if of_it => {
                let first = header.first as usize;
                let promised = self.promised.iter_mut().skip(first);
                for (promised, (at, _)) in promised.zip(entries) {
                    *promised = *at;
                }
                self.promised_at.push((header.first, header.count, header.sequence));
            }
            _ => {}
        }
    }

    /// Pages that were programmed with numbers above the base, are known to have lasted, and are neither
    /// there nor erased since.
    fn missing(&mut self, found: &FoundLog) -> u64 {
        let has_table = found.complete.has_map || found.complete.checkpoint == 0;
        let base = match self.base {
            Some(base) => base,
            None if !has_table => return 0,
            None if found.complete.checkpoint == 0 => 0,
            // A page of the table is missing itself.
            None => return 1,
        };
        let mut known: Vec<(u64, u64)> =
            found.known.iter().map(|&(from, to)| (from.max(base + 1), to)).collect();
        known.sort_unstable();
        let (mut expected, mut end) = (0, 0);
        for (from, to) in known {
            let from = from.max(end);
            if from <= to {
                // The first number of an epoch is given to no page.
                let unused = to / EPOCH - from.saturating_sub(1) / EPOCH;
                expected += to - from + 1 - unused;
                end = to + 1;
            }
        }
        self.numbers.retain(|&number| number > base && found.is_known(number));
        self.numbers.sort_unstable();
        self.numbers.dedup();
        expected.saturating_sub(self.numbers.len() as u64)
    }

    /// Whether pages of the checkpoint's map are missing.
    fn promises_less(&self, found: &FoundLog) -> bool {
        let mut next = 0;
        for &(first, count, _) in &self.promised_at {
            if first > next {
                return true;
            }
            next = next.max(first + count);
        }
        next < found.summary.logical_pages
    }

    /// Blocks whose first page is neither the one in the checkpoint's table nor newer. Blank blocks count
    /// too: nothing proves that they were erased.
    fn stale_blocks(&self) -> u64 {
        let base = self.base.unwrap_or(0);
        let is_stale = |(before, now): &(&BlockEntry, &BlockEntry)| {
            before.settled
                && now.first_sequence != before.first_sequence
                && now.first_sequence <= base
        };
        self.table.iter().zip(&self.blocks).filter(is_stale).count() as u64
    }

    /// Marks a page lost if neither the copy in the checkpoint nor a newer one was found. An older page
    /// may be in its place.
    fn hold_promises(&mut self, found: &FoundLog, recovery: &mut Recovery) {
        let mut parts = self.promised_at.iter().copied().peekable();
        let mut sequence = 0;
        for (lpn, &promised) in (0..).map(Lpn).zip(&self.promised) {
            while let Some((.., said)) = parts.next_if(|&(first, ..)| first <= lpn.0) {
                sequence = said;
            }
            let (at, newest) = (self.map[lpn.index()], self.newest[lpn.index()]);
            let block = found.geometry.block_of(promised).index();
            let least = self.table.get(block).map_or(0, |entry| entry.first_sequence);
            let is_held = promised == at && newest >= least
                || newest > sequence
                || at == Ppn::NONE && newest == sequence && promised != LOST;
            if promised != Ppn::NONE && !is_held || at == LOST {
                self.map[lpn.index()] = LOST;
                recovery.lost.push(lpn);
            }
        }
    }

    /// A page held no data then, or its data were lost.
    fn is_nowhere(&mut self, lpn: Lpn, what: Ppn, sequence: u64) {
        if sequence >= self.newest[lpn.index()] {
            self.newest[lpn.index()] = sequence;
            self.map[lpn.index()] = what;
        }
    }

    /// A page of the checkpoint, if it is the next of the right one.
    fn take_page<C: Flash>(
        &mut self,
        chip: &mut C,
        found: &FoundLog,
        header: &Header,
        record: Record,
        reading: &mut Reading,
        recovery: &mut Recovery,
    ) -> Result<(), FlashError> {
        let of_it = header.checkpoint == found.complete.checkpoint
            && matches!(record, Record::Absent(_) | Record::Blocks(..) | Record::Map(_));
        // A page that failed to be programmed may be there twice.
        if !of_it || reading.is_broken || header.number < reading.next {
            return Ok(());
        }
        if header.number > reading.next {
            reading.is_broken = true;
            return Ok(());
        }
        reading.next += 1;
        match record {
            Record::Blocks(_, entries) => {
                reading.table.extend(entries);
            }
            Record::Map(entries) => {
                if header.first == 0 && !self.choose_scanned(chip, found, reading, recovery)? {
                    reading.is_broken = true;
                    return Ok(());
                }
                if entries.iter().any(|(at, _)| !self.may_be(&found.geometry, *at)) {
                    reading.is_broken = true;
                    return Ok(());
                }
                for (lpn, (at, note)) in (header.first..).map(Lpn).zip(entries) {
                    self.take_entry(found, lpn, at, note, header.sequence);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether an entry of the map can be one: it leads to a data page, which was programmed.
    fn may_be(&self, geometry: &Geometry, at: Ppn) -> bool {
        let (block, page) = (geometry.block_of(at).index(), geometry.page_of(at));
        let is_data = block < self.blocks.len()
            && (geometry.header_pages..geometry.pages_per_block).contains(&page);
        at.0 >= LOST.0
            || is_data
                && (self.scanned[block]
                    || page - geometry.header_pages < self.blocks[block].programmed)
    }

    /// An entry of the map: so it was when `sequence` pages had been programmed.
    fn take_entry(&mut self, found: &FoundLog, lpn: Lpn, at: Ppn, note: u16, sequence: u64) {
        if lpn.index() >= self.map.len() {
            return;
        }
        if at == Ppn::NONE {
            return self.is_nowhere(lpn, Ppn::NONE, sequence);
        }
        if at == LOST {
            return;
        }
        let block = found.geometry.block_of(at).index();
        // A block that is read has the page's own area, which is newer.
        if self.scanned.get(block) == Some(&false) && sequence > self.newest[lpn.index()] {
            self.newest[lpn.index()] = sequence;
            self.map[lpn.index()] = at;
            self.notes[lpn.index()] = note;
        }
    }

    /// Which blocks have to be read: none after a clean end, else those that were not full at the
    /// checkpoint or do not begin as they did then. False if the table is not whole.
    fn choose_scanned<C: Flash>(
        &mut self,
        chip: &mut C,
        found: &FoundLog,
        reading: &Reading,
        recovery: &mut Recovery,
    ) -> Result<bool, FlashError> {
        let geometry = found.geometry;
        let too_many = |entry: &BlockEntry| entry.programmed > geometry.data_pages_per_block();
        if reading.table.len() != self.blocks.len() || reading.table.iter().any(too_many) {
            return Ok(false);
        }
        for (block, entry) in (0..).map(BlockId).zip(&reading.table) {
            let same = !chip.is_bad(block)
                && (found.clean.is_some()
                    || entry.settled && entry.programmed == geometry.data_pages_per_block() && {
                        recovery.areas_read += 1;
                        match chip.read_oob(geometry.ppn(block, geometry.header_pages)) {
                            Ok(oob) => oob.is_some_and(|oob| {
                                program_number(oob.sequence) == entry.first_sequence
                            }),
                            Err(FlashError::Unreadable(_)) => false,
                            Err(e) => return Err(e),
                        }
                    });
            self.scanned[block.index()] = !same;
            if same {
                self.blocks[block.index()] = *entry;
            }
        }
        Ok(true)
    }

    /// Whether no page was programmed behind the last of any block, as after a clean end. What cannot be read
    /// there was cut off, or never written: it is passed over.
    fn end_as_written<C: Flash>(
        &mut self,
        chip: &mut C,
        recovery: &mut Recovery,
    ) -> Result<bool, FlashError> {
        let geometry = *chip.geometry();
        for (block, entry) in (0..).map(BlockId).zip(&mut self.blocks) {
            let pages = geometry.data_pages_per_block();
            if !(1..pages).contains(&entry.programmed) {
                continue;
            }
            for page in entry.programmed..pages {
                recovery.areas_read += 1;
                match chip.read_oob(geometry.ppn(block, geometry.header_pages + page)) {
                    Ok(None) => {}
                    Ok(Some(_)) => return Ok(false),
                    Err(FlashError::Unreadable(_)) => entry.programmed = page + 1,
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(true)
    }

    /// Reads all areas of the blocks that have to be read.
    fn scan<C: Flash>(
        &mut self,
        chip: &mut C,
        found: &mut FoundLog,
        ignored: &[bool],
        recovery: &mut Recovery,
    ) -> Result<(), FlashError> {
        let shape = Shape::of(&found.geometry);
        for block in (0..self.blocks.len() as u32).map(BlockId) {
            // A block is marked as bad only when all that was in it is durable elsewhere.
            if !self.scanned[block.index()] || chip.is_bad(block) {
                continue;
            }
            recovery.blocks_scanned += 1;
            let mut entry = BlockEntry::default();
            let mut is_first = true;
            for page in 0..shape.pages() {
                let at = shape.data_page(block, page);
                recovery.areas_read += 1;
                match chip.read_oob(at) {
                    Ok(None) => continue,
                    Ok(Some(oob)) => {
                        self.note_watermark(oob.sequence);
                        let oob = Oob { sequence: program_number(oob.sequence), ..oob };
                        if self.base.is_none_or(|base| oob.sequence > base) {
                            self.numbers.push(oob.sequence);
                        }
                        if oob.sequence > found.sequence {
                            // Newer than the clean record.
                            found.sequence = oob.sequence;
                            found.is_not_clean();
                        }
                        if core::mem::take(&mut is_first) {
                            (entry.first_sequence, entry.stream) = (oob.sequence, oob.stream);
                        }
                        entry.first_sequence = entry.first_sequence.min(oob.sequence);
                        entry.newest_time = oob.time;
                        if ignored.get(block.index()) != Some(&true) {
                            self.take_copy(found, at, oob);
                        }
                    }
                    Err(FlashError::Unreadable(_)) if chip.is_closed(at) => {}
                    Err(FlashError::Unreadable(_)) => recovery.unreadable_pages += 1,
                    Err(e) => return Err(e),
                }
                entry.programmed = page + 1;
            }
            self.blocks[block.index()] = entry;
        }
        Ok(())
    }

    /// Keeps the watermark that a page carries, if any.
    fn note_watermark(&mut self, sequence: u64) {
        let Some(durable) = watermark(sequence) else { return };
        match self.watermarks.iter_mut().find(|greatest| **greatest / EPOCH == durable / EPOCH) {
            Some(greatest) => *greatest = durable.max(*greatest),
            None => self.watermarks.push(durable),
        }
    }

    fn take_copy(&mut self, found: &FoundLog, at: Ppn, oob: Oob) {
        let page = oob.lpn.index();
        let is_older = page >= self.map.len() || oob.sequence <= self.newest[page];
        if is_older || found.has_failed(oob.sequence) {
            return;
        }
        if found.is_known(oob.sequence) {
            self.newest[page] = oob.sequence;
            self.take(at, &oob);
        } else {
            self.doubtful.push(Doubtful { at, oob });
        }
    }

    /// The page at `at` is in a block that is bad, and has no copy elsewhere.
    pub(crate) fn take_from_bad(&mut self, found: &FoundLog, at: Ppn, oob: Oob) {
        let number = program_number(oob.sequence);
        let page = oob.lpn.index();
        if page < self.map.len() && number > self.newest[page] && !found.has_failed(number) {
            self.newest[page] = number;
            self.take(at, &oob);
        }
    }

    fn take(&mut self, at: Ppn, oob: &Oob) {
        let page = oob.lpn.index();
        self.map[page] = at;
        self.notes[page] = oob.note;
        self.times[page] = oob.time;
    }

    /// Of the copies that may have been cut off, the newest that can be read is it, or that was proved
    /// meanwhile to have been whole.
    fn settle_doubts<C: Flash>(
        &mut self,
        chip: &mut C,
        found: &FoundLog,
        recovery: &mut Recovery,
    ) -> Result<(), FlashError> {
        let mut doubtful = core::mem::take(&mut self.doubtful);
        doubtful.sort_unstable_by_key(|copy| (copy.oob.lpn, u64::MAX - copy.oob.sequence));
        let last = doubtful.iter().map(|copy| copy.oob.sequence).max();
        let last = last.filter(|_| chip.may_fade());
        for copy in &doubtful {
            let page = copy.oob.lpn.index();
            if copy.oob.sequence <= self.newest[page] {
                continue;
            }
            if found.is_known(copy.oob.sequence) {
                self.newest[page] = copy.oob.sequence;
                self.take(copy.at, &copy.oob);
                continue;
            }
            recovery.pages_verified += 1;
            let mut data = Vec::new();
            if last == Some(copy.oob.sequence) {
                data.resize(chip.geometry().page_size as usize, 0);
            }
            match chip.read(copy.at, &mut data) {
                Ok(()) => {
                    if !data.is_empty() {
                        self.last = Some(LastPage { lpn: copy.oob.lpn, at: copy.at, data });
                    }
                    self.newest[page] = copy.oob.sequence;
                    self.take(copy.at, &copy.oob);
                }
                // It was whole once, and no older copy takes its place.
                Err(FlashError::Unreadable(_)) if chip.is_refused(copy.at) => {
                    recovery.unreadable_pages += 1;
                    self.newest[page] = copy.oob.sequence;
                    self.take(copy.at, &copy.oob);
                }
                Err(FlashError::Unreadable(_)) => {
                    recovery.unreadable_pages += 1;
                    if recovery.rolled_back.last() != Some(&copy.oob.lpn) {
                        recovery.rolled_back.push(copy.oob.lpn);
                    }
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}
