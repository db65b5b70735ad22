//! Folding a pair into one block, and erasing what holds nothing.

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Lpn, Oob, Ppn};

use super::{Nftl, heaps::NOBODY, look::look, pairs::Pair, roles};
use crate::{FtlError, journal::LOST};

/// A page that is being written and goes into the new primary at once.
pub(super) type Merged<'a> = Option<(u32, &'a [u8])>;

impl<C: Condition> Nftl<C> {
    /// Copies the live pages of a virtual block to a free block, each to its own offset, and erases
    /// the blocks they came from. The caller sees to it that a block is free and that there is
    /// something to copy or to merge.
    ///
    /// Both blocks' out-of-band areas are read: a device that keeps no table of pages finds the
    /// newest copies by them, and the thesis charges it (§4.1.1, `2·P·t_ro`).
    pub(super) fn fold(&mut self, v: u32, merged: Merged<'_>) -> Result<(), FtlError> {
        self.keep_pace()?;
        let old = self.pairs[v as usize];
        self.counters.victims += 1;
        self.counters.victims_valid += u64::from(old.live);
        self.counters.folds += 1;
        for block in [old.primary, old.replacement] {
            if block != BlockId::NONE {
                let first = self.ppn(block, 0);
                for page in 0..self.pages {
                    look(&mut self.chip, Ppn(first.0 + page))?;
                }
            }
        }
        let target =
            self.move_to_new(v, None, roles::FOLDED, merged, |layer, _| layer.free.first())?;
        if target == BlockId::NONE {
            self.note_primary(v, &[]);
        }
        let used = self.survivors.len() as u32;
        self.change(v, |pair| {
            *pair = Pair {
                last_write: pair.last_write,
                primary: target,
                primary_used: used,
                live: used,
                ..Pair::EMPTY
            };
        });
        self.unproved = true;
        self.release([old.primary, old.replacement])
    }

    /// Copies live pages of a virtual block, from one of its blocks or from both, to an erased block, maps
    /// them there and returns it. The tables change only after all copies. The log records left-out pages
    /// first: a durable target proves that none is missing in it.
    ///
    /// A target that fails is abandoned: it is marked bad before anything else is programmed. A page that
    /// cannot be read is lost, and a checkpoint records that before its block is erased.
    pub(super) fn move_to_new(
        &mut self,
        v: u32,
        from: Option<BlockId>,
        role: u8,
        merged: Merged<'_>,
        choose: impl Fn(&Self, u32) -> Option<BlockId>,
    ) -> Result<BlockId, FtlError> {
        for attempt in 0.. {
            self.list_survivors_and(v, from, merged.map(|(offset, _)| offset));
            let offsets = core::mem::take(&mut self.survivors);
            let now = self.now;
            if let Err(e) = self.with_journal(|journal, layer| journal.settle(layer, now)) {
                self.survivors = offsets;
                return Err(e);
            }
            if offsets.is_empty() {
                // All that was live is lost.
                return Ok(BlockId::NONE);
            }
            let Some(target) = choose(self, attempt) else {
                self.survivors = offsets;
                return Err(FtlError::NoSpace);
            };
            self.take(target, v);
            let copied = self.copy_to(target, v, &offsets, role, merged);
            if copied.is_ok() {
                self.point_to(target, v, &offsets, role);
                self.survivors = offsets;
                return Ok(target);
            }
            self.survivors = offsets;
            if let Err(failed) = copied {
                self.abandon(target, failed)?;
            }
        }
        Err(FtlError::NoSpace)
    }

    /// Not all pages could be copied to a target, which is let go of. An error where there is no remedy.
    #[cold]
    fn abandon(&mut self, target: BlockId, failed: FlashError) -> Result<(), FtlError> {
        if self.journal.is_none() {
            return Err(failed.into());
        }
        self.durability.last_failed();
        self.owner[target.index()] = NOBODY;
        self.litter.push(target);
        (self.gave_up, self.needs_attention) = (true, true);
        match failed {
            FlashError::ProgramFailed(_) | FlashError::BadBlock(_) => {
                self.counters.programs_failed += 1;
                self.failing.push(target);
            }
            FlashError::Unreadable(from) => self.lose(from)?,
            other => return Err(other.into()),
        }
        self.clear_litter()?;
        if self.is_read_only { Err(FtlError::ReadOnly) } else { Ok(()) }
    }

    /// The page at `from` cannot be read for a move: it is an error from now on, also after the next
    /// mount.
    fn lose(&mut self, from: Ppn) -> Result<(), FtlError> {
        let v = self.owner[self.chip.geometry().block_of(from).index()];
        let first = v * self.pages;
        let lpns = first..first + self.pages_of(v);
        if let Some(lpn) = lpns.map(Lpn).find(|lpn| self.map[lpn.index()] == from) {
            self.counters.pages_lost += 1;
            self.map[lpn.index()] = LOST;
            self.change(v, |pair| pair.live -= 1);
        }
        self.with_journal(|journal, layer| journal.record_losses(layer))
    }

    /// Erases the blocks of a virtual block of which nothing is live.
    pub(super) fn drop_whole(&mut self, v: u32) -> Result<(), FtlError> {
        self.counters.victims += 1;
        self.list_survivors(v, None);
        debug_assert!(self.survivors.is_empty(), "virtual block {v} is not wholly dead");
        let old = self.pairs[v as usize];
        self.note_primary(v, &[]);
        self.change(v, |pair| *pair = Pair { last_write: pair.last_write, ..Pair::EMPTY });
        self.counters.reclaimed += u64::from(old.blocks());
        self.release([old.primary, old.replacement])?;
        self.dropped_since_sync = true;
        Ok(())
    }

    /// Lists the offsets of live pages to move: of a virtual block, or of one of its blocks. Pages
    /// known to be dead are left behind and dropped.
    pub(super) fn list_survivors(&mut self, v: u32, from: Option<BlockId>) {
        self.list_survivors_and(v, from, None);
    }

    fn list_survivors_and(&mut self, v: u32, from: Option<BlockId>, merged: Option<u32>) {
        self.survivors.clear();
        let geometry = *self.chip.geometry();
        for offset in 0..self.pages_of(v) {
            let lpn = Lpn(v * self.pages + offset);
            let at = self.map[lpn.index()];
            if merged == Some(offset) {
                self.survivors.push(offset);
            } else if Self::is_there(at) && from.is_none_or(|b| geometry.block_of(at) == b) {
                if self.dead.clear(lpn.index()) {
                    self.map[lpn.index()] = Ppn::NONE;
                    self.counters.dead_left += 1;
                    if let Some(journal) = &mut self.journal {
                        journal.dropped(lpn);
                    }
                } else {
                    self.survivors.push(offset);
                }
            }
        }
    }

    /// Copies pages into an erased block: each at its own offset in a primary, unless the chip demands
    /// order; else in sequence. The area of each gives the number that follow.
    fn copy_to(
        &mut self,
        target: BlockId,
        v: u32,
        offsets: &[u32],
        role: u8,
        merged: Merged<'_>,
    ) -> Result<(), FlashError> {
        for (n, &offset) in (0..).zip(offsets) {
            let lpn = Lpn(v * self.pages + offset);
            let to = self.place_in(target, role, n, offset);
            let left = offsets.len() as u32 - 1 - n;
            let last = if left == 0 { roles::LAST } else { 0 };
            let oob = Oob { note: left as u16, ..self.oob(lpn, role | last) };
            match merged {
                Some((new, data)) if new == offset => self.chip.program(to, oob, data)?,
                _ => {
                    let from = self.map[lpn.index()];
                    if let Some(last) = self.last.as_ref().filter(|last| last.at == from) {
                        self.chip.program(to, oob, &last.data)?;
                        self.counters.copies += 1;
                        continue;
                    }
                    if self.journal.is_some() {
                        self.check_place(lpn, from)?;
                    }
                    self.chip.copy(from, to, oob)?;
                    self.counters.copies += 1;
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn place_in(&self, target: BlockId, role: u8, n: u32, offset: u32) -> Ppn {
        let in_log_order = self.in_order || role & roles::REPLACEMENT != 0;
        self.ppn(target, if in_log_order { n } else { offset })
    }

    /// The pages were copied: the map leads to them.
    fn point_to(&mut self, target: BlockId, v: u32, offsets: &[u32], role: u8) {
        for (n, &offset) in (0..).zip(offsets) {
            self.map[(v * self.pages + offset) as usize] = self.place_in(target, role, n, offset);
        }
        if role & roles::REPLACEMENT == 0 {
            self.note_primary(v, offsets);
        }
    }

    /// Whether the page at `from` is that logical page, and was programmed since its block was erased.
    fn check_place(&mut self, lpn: Lpn, from: Ppn) -> Result<(), FlashError> {
        let block = self.chip.geometry().block_of(from);
        let Some(oob) = self.chip.read_oob(from)? else {
            return Err(FlashError::Unreadable(from));
        };
        let is_it = self.journal.as_ref().is_none_or(|journal| journal.may_hold(block, lpn, &oob));
        if is_it {
            return Ok(());
        }
        self.counters.misplaced += 1;
        Err(FlashError::Unreadable(from))
    }

    /// The out-of-band area of the next page.
    #[inline]
    pub(super) fn oob(&mut self, lpn: Lpn, role: u8) -> Oob {
        Oob { lpn, stream: role, sequence: self.durability.next(), time: 0, note: 0 }
    }

    /// The primary of a virtual block is a new one, programmed at these offsets.
    pub(super) fn note_primary(&mut self, v: u32, offsets: &[u32]) {
        if !self.in_order {
            let first = v as usize * self.pages as usize;
            self.programmed.clear_range(first, self.pages as usize);
            for &offset in offsets {
                self.programmed.set(first + offset as usize);
            }
        }
    }

    /// A free block is now one of a virtual block's.
    pub(super) fn take(&mut self, block: BlockId, v: u32) {
        self.free.remove(block);
        self.owner[block.index()] = v;
        self.durability.block_opened();
        if let Some(wear) = &mut self.wear {
            wear.taken(block, self.chip.erase_count(block));
        }
    }
}
