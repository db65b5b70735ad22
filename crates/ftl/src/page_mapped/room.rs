//! Room for host writes: when garbage collection starts, when it stops, and the fallback when it
//! gains nothing.

use thermocline_flash::{BlockId, Chip, Lpn};
use thermocline_policy::{State, placement::Placement, trigger::Trigger};

use super::{cleaner::gave, core::PageMapped, opening::open_next, parts::Parts};
use crate::{FtlError, IdleStep};

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// The host is about to write a page and its stream has no room. If the page is marked, cleaning
    /// needs not drop the old copy, which is wanted again only if there is no room. Returns the stream that
    /// the page goes to.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room_for(
        &mut self,
        lpn: Lpn,
        bank: usize,
        stream: u8,
        now: u64,
    ) -> Result<u8, FtlError> {
        if let Some(other) = self.another_stream(bank, stream) {
            self.parts.counters.spills += 1;
            return Ok(other);
        }
        if !self.is_paced() {
            self.worst.next();
        }
        let before = self.own_operations();
        let made = self.make_room_or_drop(lpn, bank, stream, now);
        self.worst.add(self.own_operations().saturating_sub(before));
        made.map(|()| stream)
    }

    fn make_room_or_drop(
        &mut self,
        lpn: Lpn,
        bank: usize,
        stream: u8,
        now: u64,
    ) -> Result<(), FtlError> {
        let Some((entry, at)) = self.parts.tables.take_marked(lpn) else {
            return self.make_room(bank, stream, now);
        };
        let block = self.parts.tables.shape().block_of(at);
        let erases = self.parts.banks.block(block).erases;
        // The log may record that it is gone, and then it is.
        if let Some(journal) = &mut self.parts.journal {
            journal.dropped(lpn);
        }
        let made = self.make_room(bank, stream, now);
        let after = self.parts.banks.block(block);
        let is_kept = after.erases == erases && after.state != State::Unusable;
        if made.is_err() && is_kept && self.parts.journal.is_none() {
            self.parts.tables.put_marked(lpn, entry);
        }
        made
    }

    /// Gives `stream` an open block with room, after cleaning as much as the watermarks ask for.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, bank: usize, stream: u8, now: u64) -> Result<(), FtlError> {
        self.parts.any().record(|journal, parts| journal.keep_pace(parts, now))?;
        let marks = self.parts.config.watermarks;
        let falling = self.parts.config.trigger == Trigger::Falling;
        let mut cleaned = false;
        self.scrub_under_load(bank, now)?;
        self.parts.banks[bank].close_unused(&mut self.parts.placement, stream);
        let mut target = if falling { marks.high } else { self.least_free(bank) };
        loop {
            if self.parts.failures.is_pending() {
                self.empty_condemned(bank, now)?;
            }
            let home = &self.parts.banks[bank];
            let free = home.free_blocks() as u32;
            if home.open(usize::from(stream)).is_full() {
                if free >= target {
                    return open_next(&mut self.parts, bank, stream, now);
                }
                // The cleaner itself opened a block for this stream.
            } else if free + 1 >= target {
                return Ok(());
            }
            if !self.cleaner.clean(&mut self.parts, bank, &mut cleaned, now)? {
                return self.do_without_cleaning(bank, stream, now);
            }
            target = marks.high;
        }
    }

    /// Cleaning gives a bank no more blocks. As long as nothing failed there is room for the host all
    /// the same; later the host gets what leaves the reserve as it is.
    #[cold]
    #[inline(never)]
    fn do_without_cleaning(&mut self, bank: usize, stream: u8, now: u64) -> Result<(), FtlError> {
        let reserve = self.parts.banks.reserve_pages();
        loop {
            let home = &mut self.parts.banks[bank];
            let is_full = home.open(usize::from(stream)).is_full();
            let has_room = !is_full || home.free_blocks() > 0;
            if !self.parts.failures.any() || has_room && home.free_pages() > reserve {
                return if is_full {
                    open_next(&mut self.parts, bank, stream, now)
                } else {
                    Ok(())
                };
            }
            if self.parts.failures.is_frozen() {
                return Err(FtlError::ReadOnly);
            }
            if is_full {
                // The garbage in it is wanted.
                home.close_open(&mut self.parts.placement, usize::from(stream));
            }
            if !self.clean_or_close(bank, now)? {
                self.parts.failures.exhausted(&self.parts.banks);
                return Err(FtlError::ReadOnly);
            }
            self.empty_condemned(bank, now)?;
        }
    }

    /// Cleans the block with the least valid pages, or closes an open one so that it can be cleaned. False
    /// where nothing helps.
    fn clean_or_close(&mut self, bank: usize, now: u64) -> Result<bool, FtlError> {
        let cleaned = self.cleaner.clean_least_valid(&mut self.parts, bank, now)?;
        Ok(cleaned || close_for_its_garbage(&mut self.parts, bank))
    }

    /// Why a page cannot be written; or it can, once a crash that cost the reserve is made up for.
    #[cold]
    pub(super) fn refuse(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        if lpn.index() >= self.parts.tables.len() {
            return Err(FtlError::OutOfRange(lpn));
        }
        if self.parts.last.is_some() {
            self.secure_last(now)?;
            return self.check_writable(lpn, now);
        }
        if !self.parts.failures.forgive_reserve(&self.parts.banks) {
            return Err(FtlError::ReadOnly);
        }
        let made = (0..self.parts.banks.len()).try_for_each(|bank| self.make_reserve(bank, now));
        if made.is_err() {
            self.parts.failures.lacks_reserve(&self.parts.banks);
        }
        made
    }

    /// Cleans as much as the reserve of a bank lacks after a crash, before the host takes what room is
    /// left.
    fn make_reserve(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        while self.parts.banks[bank].free_pages() < self.parts.banks.reserve_pages() {
            if !self.clean_or_close(bank, now)? {
                break;
            }
        }
        Ok(())
    }

    /// Cleans until more than the reserve is free.
    #[inline(always)]
    pub(super) fn clean_eagerly(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        let mut cleaned = false;
        while self.parts.banks[bank].free_blocks() <= self.parts.banks.reserve()
            && self.cleaner.clean(&mut self.parts, bank, &mut cleaned, now)?
        {}
        Ok(())
    }

    /// Cleans a block of the bank that has the fewest free ones among those that have not enough for
    /// idle time; where nothing is worth cleaning in it, of the next.
    pub(super) fn clean_ahead(&mut self, now: u64) -> Result<bool, FtlError> {
        self.find_ahead(|layer, bank| {
            layer.cleaner.clean(&mut layer.parts, bank, &mut false, now).map(IdleStep::whole)
        })
        .map(|done| done != IdleStep::Nothing)
    }

    /// The same in steps: one copy, one erase, or the choice of a block. What was begun is ended first.
    pub(super) fn step_ahead(&mut self, now: u64) -> Result<IdleStep, FtlError> {
        let enough = self.parts.config.idle_free as usize;
        let is_begun = |bank: &usize| {
            let is_wanted = !self.is_paced() || self.parts.banks[*bank].free_blocks() < enough;
            self.cleaner.partial(*bank).is_some() && is_wanted
        };
        if let Some(bank) = (0..self.parts.banks.len()).find(is_begun) {
            return self.cleaner.go_on(&mut self.parts, bank, now);
        }
        self.find_ahead(|layer, bank| {
            if layer.cleaner.has_steps() && layer.cleaner.withdrawn().is_empty() {
                layer.cleaner.begin_ahead(&mut layer.parts, bank, now)
            } else {
                layer.cleaner.clean(&mut layer.parts, bank, &mut false, now).map(IdleStep::whole)
            }
        })
    }

    /// Does something in the bank that has the fewest free blocks among those that have not enough for idle
    /// time; where that gives nothing, in the next.
    fn find_ahead(
        &mut self,
        clean: impl Fn(&mut Self, usize) -> Result<IdleStep, FtlError>,
    ) -> Result<IdleStep, FtlError> {
        let enough = self.parts.config.idle_free as usize;
        let before = self.parts.counters.victims;
        let mut tried = None;
        loop {
            let short = (0..self.parts.banks.len())
                .map(|bank| (self.parts.banks[bank].free_blocks(), bank));
            let next = short.filter(|next| next.0 < enough && tried < Some(*next)).min();
            let Some((_, bank)) = next else { return Ok(IdleStep::Nothing) };
            let done = clean(self, bank)?;
            if done != IdleStep::Nothing {
                self.parts.counters.idle_victims += self.parts.counters.victims - before;
                return Ok(done);
            }
            tried = next;
        }
    }

    /// Whether survivors moved in idle time may have taken blocks of the reserve: then room of open blocks belongs to it, and
    /// the host must not take all of that.
    #[inline(always)]
    pub(super) fn is_lent(&self) -> bool {
        let Parts { banks, config, .. } = &self.parts;
        config.idle_free > 0
            && (self.cleaner.is_begun()
                || banks.iter().any(|bank| bank.free_blocks() < banks.reserve()))
    }

    /// A page of the host was written while the reserve is lent to survivors. The host gets none of it: a victim that needs
    /// the rest is cleaned now, as one would be without idle time, and another one if that does not suffice.
    #[cold]
    #[inline(never)]
    pub(super) fn keep_reserve(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        let parts = &mut self.parts;
        loop {
            let moved = self.cleaner.partial(bank).map(|partial| u64::from(partial.moved()));
            let free = parts.banks[bank].free_pages() + moved.unwrap_or(0);
            if free > parts.banks.reserve_pages() || parts.failures.is_frozen() {
                break;
            }
            let gave = if moved.is_some() {
                let done = self.cleaner.finish(parts, bank, now);
                gave(parts, done)?
            } else {
                self.cleaner.clean(parts, bank, &mut false, now)?
            };
            if !gave {
                break;
            }
        }
        self.set_follow_up();
        Ok(())
    }
}

/// Closes the open block with garbage that has the fewest valid pages, if those find room elsewhere.
/// After a crash the free room may be garbage in open blocks.
fn close_for_its_garbage<C, P: Placement>(parts: &mut Parts<C, P>, bank: usize) -> bool {
    let home = &mut parts.banks[bank];
    let free = home.free_pages();
    let least = (0..)
        .zip(home.open_blocks())
        .filter(|(_, open)| open.block() != BlockId::NONE)
        .map(|(stream, open)| (home.block(open.block()).valid, stream, open))
        .filter(|(valid, _, open)| {
            open.programmed() > *valid && u64::from(valid + open.room()) <= free
        })
        .map(|(valid, stream, _)| (valid, stream))
        .min();
    if let Some((_, stream)) = least {
        home.close_open(&mut parts.placement, stream);
    }
    least.is_some()
}
