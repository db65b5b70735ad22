//! Folding a pair into one block, and erasing what holds nothing.

use thermocline_flash::{BlockId, Condition, FlashError, Lpn, Oob, Ppn};

use super::{Nftl, heaps::NOBODY, look::look, pairs::Pair, roles};
use crate::FtlError;

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
        let target = self.free.first().ok_or(FtlError::NoSpace)?;
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
        self.list_survivors_and(v, None, merged.map(|(offset, _)| offset));
        let offsets = core::mem::take(&mut self.survivors);
        self.take(target, v);
        self.copy_to(target, v, &offsets, roles::FOLDED, merged)?;
        self.note_primary(v, &offsets);
        let used = offsets.len() as u32;
        self.survivors = offsets;
        self.change(v, |pair| {
            *pair = Pair {
                last_write: pair.last_write,
                primary: target,
                primary_used: used,
                live: used,
                ..Pair::EMPTY
            };
        });
        for block in [old.primary, old.replacement] {
            if block != BlockId::NONE {
                self.erase(block)?;
            }
        }
        Ok(())
    }

    /// Erases the blocks of a virtual block of which nothing is live.
    pub(super) fn drop_whole(&mut self, v: u32) -> Result<(), FtlError> {
        self.counters.victims += 1;
        self.list_survivors(v, None);
        debug_assert!(self.survivors.is_empty(), "virtual block {v} is not wholly dead");
        let old = self.pairs[v as usize];
        self.note_primary(v, &[]);
        self.change(v, |pair| *pair = Pair { last_write: pair.last_write, ..Pair::EMPTY });
        for block in [old.primary, old.replacement] {
            if block != BlockId::NONE {
                self.counters.reclaimed += 1;
                self.erase(block)?;
            }
        }
        Ok(())
    }

    /// Lists the offsets of live pages that are to be moved: of a virtual block, or of one of its
    /// blocks only. Pages there that are known to be dead are left, and with them their data.
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
            } else if at != Ppn::NONE && from.is_none_or(|b| geometry.block_of(at) == b) {
                if self.dead.clear(lpn.index()) {
                    self.map[lpn.index()] = Ppn::NONE;
                    self.counters.dead_left += 1;
                } else {
                    self.survivors.push(offset);
                }
            }
        }
    }

    /// Copies pages into an erased block, and marks the last of them. Where a page stands: at its
    /// own offset in a primary, unless the chip demands order; else one behind the other.
    pub(super) fn copy_to(
        &mut self,
        target: BlockId,
        v: u32,
        offsets: &[u32],
        role: u8,
        merged: Merged<'_>,
    ) -> Result<(), FtlError> {
        let in_log_order = self.in_order || role & roles::REPLACEMENT != 0;
        let first = self.ppn(target, 0);
        for (n, &offset) in (0..).zip(offsets) {
            let lpn = Lpn(v * self.pages + offset);
            let to = Ppn(first.0 + if in_log_order { n } else { offset });
            let is_last = n as usize + 1 == offsets.len();
            let oob = self.oob(lpn, if is_last { role | roles::LAST } else { role });
            match merged {
                Some((new, data)) if new == offset => self.chip.program(to, oob, data)?,
                _ => {
                    self.chip.copy(self.map[lpn.index()], to, oob)?;
                    self.counters.copies += 1;
                }
            }
            self.map[lpn.index()] = to;
        }
        Ok(())
    }

    /// What stands beside the next page to be programmed.
    #[inline]
    pub(super) const fn oob(&mut self, lpn: Lpn, role: u8) -> Oob {
        self.programs += 1;
        Oob { lpn, stream: role, sequence: self.programs, time: 0, note: 0 }
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
        if let Some(wear) = &mut self.wear {
            wear.taken(block, self.chip.erase_count(block));
        }
    }

    /// Erases a block, which is free from then on, or retired if that fails.
    pub(super) fn erase(&mut self, block: BlockId) -> Result<(), FtlError> {
        self.owner[block.index()] = NOBODY;
        let before = self.chip.erase_count(block);
        match self.chip.erase(block) {
            Ok(()) => {
                self.counters.erases += 1;
                self.erased = true;
                self.free.push_back(block);
                if let Some(wear) = &mut self.wear {
                    wear.erased(block, before, self.chip.erase_count(block));
                }
                Ok(())
            }
            Err(FlashError::WornOut(_) | FlashError::EraseFailed(_)) => {
                self.counters.erases_failed += 1;
                self.counters.retired += 1;
                self.set_usable(self.usable - 1);
                if let Some(wear) = &mut self.wear {
                    wear.retired(block, before);
                }
                if !self.chip.is_bad(block) {
                    // What was copied out of it must last before the mark does.
                    self.chip.sync()?;
                    self.chip.mark_bad(block)?;
                }
                Ok(())
            }
            Err(e) => Err(e.into()),
        }
    }
}
