//! Cleaning: pick a victim, move its survivors, erase it; one block at a time (CAT paper, §2).

use thermocline_flash::{BlockId, Flash, FlashError, Lpn, Oob, Ppn, prefetch};
use thermocline_policy::placement::{Cleaning, Placement};

use super::PageMapped;
use crate::FtlError;

/// How far ahead the survivors' table entries are asked for, in pages of the victim.
const AHEAD: usize = 24;

impl<C: Flash, P: Placement> PageMapped<C, P> {
    /// Gives `stream` an open block with room, after cleaning as much as the watermarks ask for.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room(&mut self, stream: u8, now: u64) -> Result<(), FtlError> {
        let marks = self.config.watermarks;
        let mut target = marks.low;
        let mut cleaned = false;
        loop {
            let free = self.free.len() as u32;
            if self.open[usize::from(stream)].is_full() {
                if free >= target {
                    return self.open_next(stream, now);
                }
                if !self.clean(&mut cleaned, now)? {
                    return self.open_next(stream, now);
                }
            } else {
                // The cleaner itself opened a block for this stream.
                if free + 1 >= target || !self.clean(&mut cleaned, now)? {
                    return Ok(());
                }
            }
            target = marks.high;
        }
    }

    /// Cleans one block; false if none has garbage.
    fn clean(&mut self, cleaned: &mut bool, now: u64) -> Result<bool, FtlError> {
        if self.watches {
            self.tell_watcher();
        }
        let victim = &mut *self.victim;
        let Some(victim) = self.placement.choose(0, &mut self.blocks, victim, now) else {
            return Ok(false);
        };
        let block = *self.blocks.block(victim);
        debug_assert!(self.blocks.is_candidate(victim), "{victim:?} has no garbage");
        if u64::from(block.valid) > self.free_pages() {
            return Ok(false); // blocks wore out until even the reserve is gone
        }
        self.counters.cleaning_runs += u64::from(!core::mem::replace(cleaned, true));
        self.counters.victims += 1;
        self.counters.victims_valid += u64::from(block.valid);
        self.placement.cleaning(&Cleaning {
            bank: 0,
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
        debug_assert_eq!(self.survivors.len(), block.valid as usize, "valid pages of {victim:?}");
        if block.stream == self.read_only_stream() {
            let stream = block.stream;
            self.move_survivors(victim, |_, _| stream, now)?;
        } else {
            if P::SORTS {
                self.placement.order(&mut self.survivors, now);
            }
            self.move_survivors(victim, |placement, lpn| placement.survivor(lpn, now), now)?;
        }
        self.counters.copies += u64::from(block.valid);
        self.blocks.withdraw(victim);
        self.wear.left(victim, block.erases);
        self.erase(victim)?;
        Ok(true)
    }

    /// Lists the logical pages whose current data lie in `victim`, in physical order.
    ///
    /// Whether a page survived is anybody's guess, so the list is made without a branch on it.
    fn gather_survivors(&mut self, victim: BlockId) {
        let pages = self.pages as usize;
        let owners = &self.owner[victim.index() * pages..][..pages];
        let first = self.chip.geometry().ppn(victim, self.header).0;
        for &lpn in &owners[..AHEAD.min(pages)] {
            prefetch(&self.map, lpn.index());
        }
        self.survivors.resize(pages, Lpn(0));
        let mut found = 0;
        for (page, &lpn) in (0..).zip(owners) {
            if let Some(&next) = owners.get(page + AHEAD) {
                prefetch(&self.map, next.index());
            }
            self.survivors[found] = lpn;
            found += usize::from(self.map[lpn.index()] == Ppn(first + page as u32));
        }
        self.survivors.truncate(found);
    }

    /// Moves the listed survivors of `victim`, each to the stream it is given.
    #[inline(always)]
    fn move_survivors(
        &mut self,
        victim: BlockId,
        stream_of: impl Fn(&mut P, Lpn) -> u8,
        now: u64,
    ) -> Result<(), FtlError> {
        let survivors = core::mem::take(&mut self.survivors);
        for &lpn in &survivors[..AHEAD.min(survivors.len())] {
            self.placement.prefetch(lpn);
        }
        // The open block written to last, kept at hand until another stream's turn comes.
        let mut s = 0;
        let mut open = self.open[s];
        let mut moved = 0;
        for (i, &lpn) in survivors.iter().enumerate() {
            if let Some(&next) = survivors.get(i + AHEAD) {
                self.placement.prefetch(next);
            }
            let stream = usize::from(stream_of(&mut self.placement, lpn));
            if stream != s || open.is_full() {
                self.blocks.copied(open.block, moved, victim, now);
                self.open[s] = open;
                moved = 0;
                s = self.with_room(stream, now)?;
                open = self.open[s];
            }
            let (to, owner) = open.take();
            moved += 1;
            self.owner[owner] = lpn;
            let from = core::mem::replace(&mut self.map[lpn.index()], to);
            self.chip.copy(from, to, Oob { lpn, stream: s as u8 })?;
        }
        self.blocks.copied(open.block, moved, victim, now);
        self.open[s] = open;
        self.survivors = survivors;
        Ok(())
    }

    /// A stream with room for a survivor that belongs to `stream`: itself, or another one for want
    /// of a free block.
    fn with_room(&mut self, stream: usize, now: u64) -> Result<usize, FtlError> {
        if !self.open[stream].is_full() {
            return Ok(stream);
        }
        if !self.free.is_empty() {
            self.open_next(stream as u8, now)?;
            return Ok(stream);
        }
        self.counters.spills += 1;
        self.open.iter().position(|open| !open.is_full()).ok_or(FtlError::NoSpace)
    }

    /// Erases a withdrawn block and puts it on the free list, or retires it if it wore out.
    fn erase(&mut self, block: BlockId) -> Result<(), FtlError> {
        if self.erase_and_count(block)? && !self.swap_with_least_erased(block)? {
            self.free.push_back(block);
        }
        Ok(())
    }

    /// False if the block wore out; it stays unusable then.
    pub(super) fn erase_and_count(&mut self, block: BlockId) -> Result<bool, FtlError> {
        match self.chip.erase(block) {
            Ok(()) => {
                self.counters.erases += 1;
                self.blocks.erased(block);
                Ok(true)
            }
            Err(FlashError::WornOut(_)) => {
                self.counters.retired += 1;
                self.capacity = self.capacity.saturating_sub(self.pages);
                Ok(false)
            }
            Err(e) => Err(e.into()),
        }
    }
}
