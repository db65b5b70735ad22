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
        let Some(victim) = self.victim.choose(&mut self.blocks, now) else { return Ok(false) };
        let block = *self.blocks.block(victim);
        debug_assert!(self.blocks.is_candidate(victim), "{victim:?} has no garbage");
        if u64::from(block.valid) > self.free_pages() {
            return Ok(false); // blocks wore out until even the reserve is gone
        }
        self.counters.cleaning_runs += u64::from(!core::mem::replace(cleaned, true));
        self.counters.victims += 1;
        self.counters.victims_valid += u64::from(block.valid);
        self.placement.cleaning(&Cleaning {
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
        if block.stream == self.read_only_stream() {
            let stream = block.stream;
            self.move_survivors(victim, block.valid, |_, _| stream, now)?;
        } else if P::SORTS {
            self.move_sorted(victim, block.valid, now)?;
        } else {
            self.move_survivors(victim, block.valid, |p, lpn| p.survivor(lpn, now), now)?;
        }
        self.counters.copies += u64::from(block.valid);
        self.blocks.withdraw(victim);
        self.wear.left(victim, block.erases);
        self.erase(victim)?;
        Ok(true)
    }

    /// Moves the survivors of `victim` in physical order.
    #[inline(always)]
    fn move_survivors(
        &mut self,
        victim: BlockId,
        valid: u32,
        stream: impl Fn(&mut P, Lpn) -> u8,
        now: u64,
    ) -> Result<(), FtlError> {
        let first = victim.index() * self.pages as usize;
        let first_page = self.chip.geometry().ppn(victim, self.header).0;
        let pages = self.pages as usize;
        for ahead in 0..AHEAD.min(pages) {
            self.prefetch_survivor(first + ahead);
        }
        let mut left = valid;
        for page in 0..pages {
            if left == 0 {
                break;
            }
            if page + AHEAD < pages {
                self.prefetch_survivor(first + page + AHEAD);
            }
            let lpn = self.owner[first + page];
            let from = Ppn(first_page + page as u32);
            if self.map[lpn.index()] == from {
                let stream = stream(&mut self.placement, lpn);
                self.move_page(lpn, from, victim, stream, now)?;
                left -= 1;
            }
        }
        debug_assert_eq!(left, 0, "{victim:?} had fewer survivors than valid pages");
        Ok(())
    }

    #[inline(always)]
    fn prefetch_survivor(&self, owner: usize) {
        let lpn = self.owner[owner];
        prefetch(&self.map, lpn.index());
        self.placement.prefetch(lpn);
    }

    /// Moves the survivors of `victim` in the order the placement wants.
    fn move_sorted(&mut self, victim: BlockId, valid: u32, now: u64) -> Result<(), FtlError> {
        let first = victim.index() * self.pages as usize;
        let first_page = self.chip.geometry().ppn(victim, self.header).0;
        let mut survivors = core::mem::take(&mut self.survivors);
        survivors.clear();
        survivors.extend((0..self.pages as usize).filter_map(|page| {
            let lpn = self.owner[first + page];
            (self.map[lpn.index()] == Ppn(first_page + page as u32)).then_some(lpn)
        }));
        debug_assert_eq!(survivors.len(), valid as usize, "valid pages of {victim:?}");
        self.placement.order(&mut survivors, now);
        for &lpn in &survivors {
            let stream = self.placement.survivor(lpn, now);
            self.move_page(lpn, self.map[lpn.index()], victim, stream, now)?;
        }
        self.survivors = survivors;
        Ok(())
    }

    #[inline(always)]
    pub(super) fn move_page(
        &mut self,
        lpn: Lpn,
        from: Ppn,
        victim: BlockId,
        stream: u8,
        now: u64,
    ) -> Result<(), FtlError> {
        let mut s = usize::from(stream);
        if self.open[s].is_full() {
            if self.free.is_empty() {
                s = self.open.iter().position(|o| !o.is_full()).ok_or(FtlError::NoSpace)?;
                self.counters.spills += 1;
            } else {
                self.open_next(stream, now)?;
            }
        }
        let open = &mut self.open[s];
        let (to, owner) = open.take();
        self.blocks.copied(open.block, victim);
        self.owner[owner] = lpn;
        self.map[lpn.index()] = to;
        self.chip.copy(from, to, Oob { lpn, stream: s as u8 })?;
        Ok(())
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
