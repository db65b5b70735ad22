//! Cleaning: pick a victim, move its survivors, erase it; one block at a time (CAT paper, §2), or a
//! few at once where their survivors are to be sorted together (LFS).

use thermocline_flash::{BlockId, Chip, Lpn, Oob, Ppn, Timing, prefetch};
use thermocline_policy::{
    placement::{Cleaning, Placement},
    trigger::Trigger,
    wear::WearLeveling,
};

use super::PageMapped;
use crate::FtlError;

/// How far ahead the survivors' table entries are asked for, in pages of the victim.
const AHEAD: usize = 24;

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Gives `stream` an open block with room, after cleaning as much as the watermarks ask for.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room(&mut self, bank: usize, stream: u8, now: u64) -> Result<(), FtlError> {
        if self.index.is_some() {
            self.keep_index(now)?;
        }
        let marks = self.config.watermarks;
        let falling = self.config.trigger == Trigger::Falling;
        let mut target = if falling { marks.high } else { marks.low };
        let mut cleaned = false;
        self.scrub_under_load(bank, now)?;
        loop {
            if self.failures.is_pending() {
                self.tend(bank, now)?;
            }
            let home = &self.banks[bank];
            let free = home.free.len() as u32;
            if home.open[usize::from(stream)].is_full() {
                if free >= target {
                    return self.open_next(bank, stream, now);
                }
                // The cleaner itself opened a block for this stream.
            } else if free + 1 >= target {
                return Ok(());
            }
            if !self.clean(bank, &mut cleaned, now)? {
                return self.do_without_cleaning(bank, stream, now);
            }
            target = marks.high;
        }
    }

    /// Cleans until more than the reserve is free.
    #[inline(always)]
    pub(super) fn clean_eagerly(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        let reserve = self.config.watermarks.reserve as usize;
        let mut cleaned = false;
        while self.banks[bank].free.len() <= reserve && self.clean(bank, &mut cleaned, now)? {}
        Ok(())
    }

    /// Cleans a block of the bank that has the fewest free ones among those that have not enough for
    /// idle time; where nothing is worth cleaning in it, of the next.
    pub(super) fn clean_ahead(&mut self, now: u64) -> Result<bool, FtlError> {
        let enough = self.config.idle_free as usize;
        let before = self.counters.victims;
        let mut tried = None;
        loop {
            let short = (0..self.banks.len()).map(|bank| (self.banks[bank].free.len(), bank));
            let next = short.filter(|next| next.0 < enough && tried < Some(*next)).min();
            let Some((_, bank)) = next else { return Ok(false) };
            if self.clean(bank, &mut false, now)? {
                self.counters.idle_victims += self.counters.victims - before;
                return Ok(true);
            }
            tried = next;
        }
    }

    /// The longest that cleaning once can take: the survivors of each victim and its erase, and after
    /// each erase perhaps a swap, which moves a block and erases it.
    pub(super) fn longest_cleaning_ns(&self, timing: &Timing) -> u64 {
        let emptying = |pages: u32| u64::from(pages) * timing.copy_ns + timing.erase();
        let scan = if P::SCANS { timing.hotness_scan_ns } else { 0 };
        let swaps = matches!(self.config.wear_leveling, WearLeveling::Swap(_));
        let swap = if swaps { emptying(self.pages) } else { 0 };
        let victims = if P::SORTS { self.config.batch.max(1) } else { 1 };
        u64::from(victims) * (scan + emptying(self.pages) + swap)
    }

    /// Cleans one block, or a batch; false if no block is worth it.
    pub(super) fn clean(
        &mut self,
        bank: usize,
        cleaned: &mut bool,
        now: u64,
    ) -> Result<bool, FtlError> {
        if !self.batch.is_empty() {
            self.erase_batch(now)?;
        }
        if self.failures.hopeless {
            return Ok(false);
        }
        let free = self.banks[bank].free.len() as u32;
        let least = self.config.trigger.least_garbage(&self.config.watermarks, free, self.pages);
        let Some(victim) = self.choose(bank, least, 0, now) else { return Ok(false) };
        self.banks[bank].victim.answered(true);
        self.counters.cleaning_runs += u64::from(!core::mem::replace(cleaned, true));
        match self.clean_block(bank, victim, Some(least), now) {
            // Programs failed until even the reserve was gone, or too many blocks were.
            Err(FtlError::NoSpace | FtlError::ReadOnly) if self.failures.any => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Cleans a block, and with it others that have `least` garbage, where a batch is sorted.
    pub(super) fn clean_block(
        &mut self,
        bank: usize,
        victim: BlockId,
        least: Option<u32>,
        now: u64,
    ) -> Result<(), FtlError> {
        if self.index.is_some() {
            self.awaken(now)?;
        }
        let lost = self.counters.pages_lost;
        self.survivors.clear();
        self.begin(bank, victim, now);
        let moved = if self.banks[bank].blocks.block(victim).stream == self.read_only_stream() {
            let stream = self.read_only_stream();
            self.move_survivors(bank, victim, |_, _| stream, now)
        } else {
            if P::SORTS {
                if let Some(least) = least {
                    self.add_to_batch(bank, victim, least, now);
                }
                self.placement.order(&mut self.survivors, now);
            }
            self.move_survivors(bank, victim, |placement, lpn| placement.survivor(lpn, now), now)
        };
        if moved.is_err() || self.counters.pages_lost != lost {
            return self.not_emptied(bank, victim, moved, now);
        }
        // All are out of the tables before any is erased: wear levelling must not choose them.
        self.batch.insert(0, victim);
        let home = &mut self.banks[bank];
        for &moved in &self.batch {
            home.wear.left(moved, home.blocks.block(moved).erases);
            home.blocks.withdraw(moved);
        }
        self.erase_batch(now)
    }

    /// Erases the withdrawn blocks. Where the system below the chip fails some stay for the next time.
    pub(super) fn erase_batch(&mut self, now: u64) -> Result<(), FtlError> {
        while !self.batch.is_empty() {
            let block = self.batch.remove(0);
            self.erase(self.bank_of(block), block, now)?;
        }
        self.mark_retired()
    }

    /// The victim policy's choice, if it has that much garbage and its survivors would find room
    /// after `pages` others.
    fn choose(&mut self, bank: usize, garbage: u32, pages: usize, now: u64) -> Option<BlockId> {
        let home = &mut self.banks[bank];
        if home.watches {
            home.tell_watcher();
        }
        let victim =
            self.placement.choose(bank as u32, &mut home.blocks, &mut *home.victim, now)?;
        debug_assert!(home.blocks.has_garbage(victim), "{victim:?} has no garbage");
        let valid = home.blocks.block(victim).valid;
        // Blocks may have worn out until even the reserve is gone.
        let fits = u64::from(valid) + pages as u64 <= home.free_pages();
        if fits && self.pages - valid >= garbage {
            return Some(victim);
        }
        home.victim.answered(false);
        None
    }

    /// A victim was chosen: counts it, tells the placement, lists its survivors.
    fn begin(&mut self, bank: usize, victim: BlockId, now: u64) {
        let block = *self.banks[bank].blocks.block(victim);
        self.counters.victims += 1;
        self.counters.victims_valid += u64::from(block.valid);
        self.counters.copies += u64::from(block.valid);
        self.placement.cleaning(&Cleaning {
            bank: bank as u32,
            block: victim,
            valid: block.valid,
            pages: self.pages,
            stream: block.stream,
            mapped: self.mapped,
            capacity: self.capacity,
            now,
        });
        if P::SCANS && block.valid > 0 {
            self.chip.hotness_scan();
        }
        self.gather_survivors(victim);
    }

    /// Chooses more victims, so that the survivors of several blocks are sorted together (LFS).
    fn add_to_batch(&mut self, bank: usize, first: BlockId, least: u32, now: u64) {
        for _ in 1..self.config.batch {
            // Out of the index, so that the next choice is another one.
            let last = self.batch.last().copied().unwrap_or(first);
            self.banks[bank].blocks.set_aside(last);
            let Some(next) = self.choose(bank, least, self.survivors.len(), now) else { break };
            if self.banks[bank].blocks.block(next).stream == self.read_only_stream() {
                self.banks[bank].victim.answered(false);
                break;
            }
            self.banks[bank].victim.answered(true);
            self.batch.push(next);
            self.begin(bank, next, now);
        }
    }

    /// Lists the logical pages whose current data lie in `victim`, in physical order.
    ///
    /// Whether a page survived is anybody's guess, so the list is made without a branch on it.
    pub(super) fn gather_survivors(&mut self, victim: BlockId) {
        let pages = self.pages as usize;
        let owners = &self.owner[victim.index() * pages..][..pages];
        let first = self.chip.geometry().ppn(victim, self.header).0;
        for &lpn in &owners[..AHEAD.min(pages)] {
            prefetch(&self.map, lpn.index());
        }
        let mut found = self.survivors.len();
        self.survivors.resize(found + pages, Lpn(0));
        for (page, &lpn) in (0..).zip(owners) {
            if let Some(&next) = owners.get(page + AHEAD) {
                prefetch(&self.map, next.index());
            }
            self.survivors[found] = lpn;
            found += usize::from(self.map[lpn.index()] == Ppn(first + page as u32));
        }
        self.survivors.truncate(found);
    }

    /// Moves the listed survivors, of `victim` and those cleaned with it, each to the stream it is
    /// given.
    ///
    /// Which stream comes next is anybody's guess where there are several, so the loop branches only
    /// where an open block is full.
    ///
    /// Pages that cannot be read stay where they are. After an error the rest do, and the caller sees to
    /// the counts of the victims.
    #[inline(always)]
    pub(super) fn move_survivors(
        &mut self,
        bank: usize,
        victim: BlockId,
        stream_of: impl Fn(&mut P, Lpn) -> u8,
        now: u64,
    ) -> Result<(), FtlError> {
        let survivors = core::mem::take(&mut self.survivors);
        for &lpn in &survivors[..AHEAD.min(survivors.len())] {
            self.placement.prefetch(lpn);
        }
        for open in &mut self.banks[bank].open {
            open.counted = open.next;
        }
        // Numbered by their place, so that a chip that keeps no numbers costs none.
        let mut before = self.programs;
        let mut done = 0;
        let mut result = Ok(());
        while done < survivors.len() {
            let home = &mut self.banks[bank];
            // The page at which the loop stopped, and whether its program failed.
            let mut stopped = None;
            for (i, &lpn) in survivors.iter().enumerate().skip(done) {
                if let Some(&next) = survivors.get(i + AHEAD) {
                    self.placement.prefetch(next);
                }
                let stream = stream_of(&mut self.placement, lpn);
                let open = &mut home.open[usize::from(stream)];
                if open.is_full() {
                    stopped = Some((lpn, usize::from(stream), None));
                    break;
                }
                let (to, owner) = open.take();
                let from = self.map[lpn.index()];
                let sequence = before + i as u64 + 1;
                let note = self.placement.note(lpn);
                let oob = Oob { lpn, stream, sequence, time: now, note };
                if let Err(failed) = self.chip.copy(from, to, oob) {
                    stopped = Some((lpn, usize::from(stream), Some(failed)));
                    break;
                }
                self.owner[owner] = lpn;
                self.map[lpn.index()] = to;
                if P::KNOWS_HOT && self.placement.is_hot(lpn) {
                    home.blocks.warm(open.block, 1);
                }
                done = i + 1;
            }
            self.programs = before + done as u64;
            if let Some((lpn, stream, failed)) = stopped {
                let moved = match failed {
                    None => self.move_to_next(bank, victim, lpn, stream, now),
                    Some(failed) => self.copy_elsewhere(bank, victim, lpn, stream, failed, now),
                };
                if let Err(e) = moved {
                    self.counters.copies -= (survivors.len() - done) as u64;
                    result = Err(e);
                    break;
                }
                done += 1;
                // Failed programs have their numbers too.
                before = self.programs - done as u64;
            }
        }
        for stream in 0..self.banks[bank].open.len() {
            self.banks[bank].count_copied(stream, victim, now);
        }
        self.survivors = survivors;
        result
    }

    /// Moves a survivor whose stream has no room: opens a block for it.
    #[inline(never)]
    pub(super) fn move_to_next(
        &mut self,
        bank: usize,
        victim: BlockId,
        lpn: Lpn,
        stream: usize,
        now: u64,
    ) -> Result<(), FtlError> {
        loop {
            self.banks[bank].count_copied(stream, victim, now);
            let s = self.with_room(bank, stream, now)?;
            if s != stream {
                self.placement.spilt(lpn, s as u8, now);
            }
            let open = &mut self.banks[bank].open[s];
            let (to, owner) = open.take();
            let block = open.block;
            let from = self.map[lpn.index()];
            let oob = self.oob(lpn, s as u8, now);
            if let Err(failed) = self.chip.copy(from, to, oob) {
                if self.may_try_again(bank, s, failed, Some(victim), now)? {
                    continue;
                }
                return Ok(());
            }
            self.owner[owner] = lpn;
            self.map[lpn.index()] = to;
            if P::KNOWS_HOT && self.placement.is_hot(lpn) {
                self.banks[bank].blocks.warm(block, 1);
            }
            return Ok(());
        }
    }

    /// A stream with room for a survivor that belongs to `stream`: itself, or another one for want
    /// of a free block.
    fn with_room(&mut self, bank: usize, stream: usize, now: u64) -> Result<usize, FtlError> {
        if !self.banks[bank].open[stream].is_full() {
            return Ok(stream);
        }
        if !self.banks[bank].free.is_empty() {
            self.open_next(bank, stream as u8, now)?;
            return Ok(stream);
        }
        self.counters.spills += 1;
        self.banks[bank].open.iter().position(|open| !open.is_full()).ok_or(FtlError::NoSpace)
    }

    /// Erases a withdrawn block and puts it on the free list, or retires it if that fails.
    pub(super) fn erase(&mut self, bank: usize, block: BlockId, now: u64) -> Result<(), FtlError> {
        if self.erase_and_count(bank, block)? && !self.swap_with_least_erased(bank, block, now)? {
            self.banks[bank].free.push_back(block);
        }
        Ok(())
    }

    /// False if the block could not be erased; it stays unusable then.
    pub(super) fn erase_and_count(
        &mut self,
        bank: usize,
        block: BlockId,
    ) -> Result<bool, FtlError> {
        self.drop_marked(block);
        if self.index.is_some()
            && let Err(failed) = self.before_erase(block)
        {
            self.batch.insert(0, block);
            return Err(failed);
        }
        let home = &mut self.banks[bank];
        match self.chip.erase(block) {
            Ok(()) => {
                self.counters.erases += 1;
                home.erases += 1;
                home.blocks.erased(block);
                if self.failures.any {
                    // An erase that was said to fail may have been one all the same.
                    home.blocks.set_erases(block, self.chip.erase_count(block));
                }
                Ok(true)
            }
            Err(failed) => self.not_erased(bank, block, failed),
        }
    }
}
