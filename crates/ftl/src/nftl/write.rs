//! A page write of the host.

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Lpn, Ppn};

use super::{Nftl, heaps::NOBODY, roles};
use crate::FtlError;

impl<C: Condition> Nftl<C> {
    /// Writes a page (spec §2.3): into the primary if its place there is free, else to the next
    /// page of the replacement; a full replacement is folded, and the page goes into the new
    /// primary.
    #[inline]
    pub(super) fn put(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.check_range(lpn)?;
        self.now = now;
        self.collect(now)?;
        let (v, offset) = (lpn.0 / self.pages, lpn.0 % self.pages);
        let pair = self.pairs[v as usize];
        let goes_into_primary = if self.in_order {
            pair.primary_used == offset
        } else {
            !self.programmed.is_set(lpn.index())
        };
        if !goes_into_primary && pair.replacement_used == self.pages {
            return self.fold_with(lpn, data, now);
        }
        let (mut block, page, role) = if goes_into_primary {
            (pair.primary, offset, roles::PRIMARY)
        } else {
            (pair.replacement, pair.replacement_used, roles::REPLACEMENT)
        };
        if block == BlockId::NONE {
            block = self.take_for_host(v)?;
        }
        let at = self.ppn(block, page);
        let oob = self.oob(lpn, role);
        if let Err(failed) = self.chip.program(at, oob, data) {
            self.not_programmed(at, lpn, goes_into_primary, failed)?;
            return self.put_elsewhere(lpn, data, now);
        }
        let was_live = self.now_at(lpn, at);
        self.change(v, |pair| {
            if goes_into_primary {
                pair.primary = block;
                pair.primary_used += 1;
            } else {
                pair.replacement = block;
                pair.replacement_used += 1;
            }
            pair.live += u32::from(!was_live);
            pair.last_write = now;
        });
        if goes_into_primary && !self.in_order {
            self.programmed.set(lpn.index());
        }
        Ok(())
    }

    /// The newest data of a page are elsewhere now; whether it was live before.
    #[inline]
    fn now_at(&mut self, lpn: Lpn, at: Ppn) -> bool {
        let was_dead = self.dead.clear(lpn.index());
        let old = core::mem::replace(&mut self.map[lpn.index()], at);
        Self::is_there(old) && !was_dead
    }

    /// The replacement is full: the page goes into the new primary.
    #[cold]
    fn fold_with(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        let (v, offset) = (lpn.0 / self.pages, lpn.0 % self.pages);
        self.fold(v, Some((offset, data)))?;
        self.dead.clear(lpn.index());
        self.counters.forced_folds += 1;
        self.change(v, |pair| pair.last_write = now);
        Ok(())
    }

    /// A page of the host was not programmed: its block is not written any more. An error where another
    /// block would not help.
    #[cold]
    fn not_programmed(
        &mut self,
        at: Ppn,
        lpn: Lpn,
        is_primary: bool,
        failed: FlashError,
    ) -> Result<(), FtlError> {
        if self.journal.is_none() {
            return Err(failed.into());
        }
        self.durability.last_failed();
        if self.map[lpn.index()] == Ppn::NONE
            && let Some(journal) = &mut self.journal
        {
            // It may have been programmed for all that: the next flush says that it holds no data.
            journal.dropped(lpn);
        }
        let block = self.chip.geometry().block_of(at);
        let v = lpn.0 / self.pages;
        let has_failed = matches!(failed, FlashError::ProgramFailed(_) | FlashError::BadBlock(_));
        if has_failed {
            self.counters.programs_failed += 1;
            self.failing.push(block);
        }
        let pair = self.pairs[v as usize];
        if block != pair.primary && block != pair.replacement {
            // It was taken for this page.
            self.owner[block.index()] = NOBODY;
            self.litter.push(block);
            self.needs_attention = true;
        } else if has_failed
            || matches!(failed, FlashError::OutOfOrder(_))
            || !matches!(self.chip.read_oob(at), Ok(None))
        {
            // It may have been programmed for all that.
            self.close_block(v, is_primary);
        }
        match failed {
            FlashError::ProgramFailed(_)
            | FlashError::BadBlock(_)
            | FlashError::OutOfOrder(_)
            | FlashError::NotErased(_) => self.clear_litter(),
            other => Err(other.into()),
        }
    }

    /// Nothing more is programmed in a block before it is erased.
    pub(super) fn close_block(&mut self, v: u32, is_primary: bool) {
        let pages = self.pages;
        if is_primary && !self.in_order {
            let first = v as usize * pages as usize;
            (first..first + pages as usize).for_each(|place| self.programmed.set(place));
        }
        self.change(v, |pair| {
            *(if is_primary { &mut pair.primary_used } else { &mut pair.replacement_used }) = pages;
        });
    }

    /// Tries again where a program failed.
    #[cold]
    fn put_elsewhere(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        if self.is_read_only {
            // A chip that programs nothing any more must not lose all its blocks to one write.
            return Err(FtlError::ReadOnly);
        }
        self.pause_checkpoints(true);
        let done = self.put(lpn, data, now);
        self.pause_checkpoints(false);
        done
    }

    /// A block for the host: never the last free one, which the next fold needs.
    #[cold]
    fn take_for_host(&mut self, v: u32) -> Result<BlockId, FtlError> {
        self.keep_pace()?;
        if self.dropped_since_sync && self.journal.is_some() {
            // Otherwise a loss of power could undo the erase of an older block in the same role, but
            // not this one's.
            self.chip.sync()?;
            self.durability.synced(self.durability.programs());
        }
        self.dropped_since_sync = false;
        let first = self.free.first().filter(|_| self.free.len() >= self.levels.least);
        let block = first.ok_or(FtlError::NoSpace)?;
        self.take(block, v);
        Ok(block)
    }
}
