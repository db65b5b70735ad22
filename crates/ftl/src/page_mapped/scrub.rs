//! Empties condemned blocks (see `retire`), and blocks whose reads needed much correction, before
//! they become unreadable (*scrubbing*).
//!
//! A block is emptied like a victim, but its pages stay in their stream, and the placement is not asked.
//! This happens in the background ([`Upkeep::scrub`](crate::Upkeep::scrub), idle time), and under load
//! whenever an open block is full: then the condemned blocks and one ailing block. Emptying a block that
//! will not be used again takes room and returns none, so it waits until there is room for the survivors
//! of the next victim too.

use thermocline_flash::{BlockId, Chip, Condition, Flash};
use thermocline_policy::{State, placement::Placement};

use super::{
    core::PageMapped,
    erasing::drop_marked,
    failures::{Condemned, Why},
    parts::Parts,
    retire::{condemn, mark_retired, resize},
};
use crate::FtlError;

/// The outcome of an attempt to empty a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Emptied {
    /// It went on.
    Yes,
    /// Nothing to do, or not before the host writes the lost pages.
    Waits,
    /// No room for its pages now.
    NoRoom,
}

/// Collects the blocks that the chip reports as ailing.
#[inline(always)]
fn collect_ailing<C: Chip, P>(parts: &mut Parts<C, P>) {
    while let Some(block) = parts.chip.ailing() {
        note_ailing(parts, block);
    }
}

#[cold]
fn note_ailing<C: Chip, P>(parts: &mut Parts<C, P>, block: BlockId) {
    if block.0 < parts.chip.geometry().blocks() {
        parts.failures.add_ailing(block, parts.banks.block(block).erases);
    }
}

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// One step in the background; false if there is nothing to do, or nothing that can be done now.
    pub(super) fn scrub_once(&mut self, now: u64) -> Result<bool, FtlError> {
        self.secure_last(now)?;
        collect_ailing(&mut self.parts);
        if !self.cleaner.withdrawn().is_empty() || self.parts.failures.unmarked().is_some() {
            self.cleaner.erase_withdrawn(&mut self.parts, now)?;
            return Ok(true);
        }
        let mut without_room = None;
        for i in 0..self.parts.failures.condemned().len() {
            match self.empty(i, now)? {
                Emptied::Yes => return Ok(true),
                Emptied::Waits => {}
                Emptied::NoRoom => without_room = Some(self.parts.failures.condemned()[i].block),
            }
        }
        let mut turn = 0;
        while let Some(&(block, _)) = self.parts.failures.ailing().get(turn) {
            match self.scrub_at(turn, now)? {
                Some(Emptied::NoRoom) => {
                    without_room = Some(block);
                    turn += 1;
                }
                Some(_) => return Ok(true),
                None => {}
            }
        }
        match without_room {
            // Collected blocks will not be written again.
            Some(_) if self.parts.failures.is_read_only() => Ok(false),
            Some(block) => {
                let bank = self.parts.banks.bank_of(block);
                self.cleaner.clean(&mut self.parts, bank, &mut false, now)
            }
            None => Ok(false),
        }
    }

    /// Before a bank is cleaned: scrubs the block that was reported as ailing first.
    #[inline(always)]
    pub(super) fn scrub_under_load(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        collect_ailing(&mut self.parts);
        if self.parts.failures.ailing().is_empty() {
            return Ok(());
        }
        self.scrub_one_of(bank, now)
    }

    #[cold]
    fn scrub_one_of(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        let mut ailing = self.parts.failures.ailing().iter();
        if let Some(turn) = ailing.position(|&(block, _)| self.parts.banks.bank_of(block) == bank) {
            self.scrub_at(turn, now)?;
        }
        Ok(())
    }

    /// Scrubs an ailing block, unless it was erased since or holds no data; nothing then. For want of
    /// room it keeps its turn.
    fn scrub_at(&mut self, turn: usize, now: u64) -> Result<Option<Emptied>, FtlError> {
        let (block, erases) = self.parts.failures.ailing()[turn];
        let bank = self.parts.banks.bank_of(block);
        let home = &mut self.parts.banks[bank];
        let is = *home.block(block);
        let open = home.stream_of(block);
        let is_full = matches!(is.state, State::Closed | State::Aside);
        if is.erases != erases || !is_full && open.is_none() {
            self.parts.failures.remove_ailing(turn);
            return Ok(None);
        }
        let own_room = open.map_or(0, |stream| u64::from(home.open(stream).room()));
        if u64::from(is.valid) + own_room > home.free_pages() {
            return Ok(Some(Emptied::NoRoom));
        }
        self.parts.failures.remove_ailing(turn);
        if let Some(stream) = open {
            home.close_open(&mut self.parts.placement, stream);
        }
        condemn(&mut self.parts, bank, block, Why::Ailing);
        let last = self.parts.failures.condemned().len() - 1;
        self.empty(last, now).map(Some)
    }

    /// Empties the condemned blocks of a bank as far as there is room.
    #[cold]
    #[inline(never)]
    pub(super) fn empty_condemned(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        mark_retired(&mut self.parts)?;
        let mut i = 0;
        while let Some(&Condemned { block, .. }) = self.parts.failures.condemned().get(i) {
            if self.parts.banks.bank_of(block) == bank {
                self.empty(i, now)?;
            }
            // Programs that fail meanwhile add blocks at the end.
            let is_there = self.parts.failures.condemned().get(i).is_some_and(|c| c.block == block);
            i += usize::from(is_there);
        }
        Ok(())
    }

    /// Moves what can be read of a condemned block, and retires it or erases it if nothing is left.
    fn empty(&mut self, i: usize, now: u64) -> Result<Emptied, FtlError> {
        let Condemned { block, why, waits } = self.parts.failures.condemned()[i];
        let bank = self.parts.banks.bank_of(block);
        let valid = self.parts.banks[bank].block(block).valid;
        if valid > 0 {
            if waits || self.parts.failures.is_frozen() {
                return Ok(Emptied::Waits);
            }
            let pages = self.parts.tables.shape().pages();
            let gone = if why == Why::ProgramFailed { pages } else { 0 };
            if u64::from(valid + gone) > self.parts.banks[bank].free_pages() {
                return Ok(Emptied::NoRoom);
            }
            match self.cleaner.move_all(&mut self.parts, block, now) {
                Err(FtlError::NoSpace) => return Ok(Emptied::NoRoom),
                Err(FtlError::ReadOnly) => {
                    self.parts.failures.freeze();
                    return Ok(Emptied::Waits);
                }
                moved => moved?,
            }
            if self.parts.banks[bank].block(block).valid > 0 {
                self.parts.failures.wait(i);
                if why != Why::ProgramFailed {
                    resize(&mut self.parts, bank, |usable| usable - 1);
                }
                return Ok(Emptied::Yes);
            }
        }
        self.parts.failures.emptied(i);
        drop_marked(&mut self.parts, block);
        if why == Why::ProgramFailed {
            self.parts.banks[bank].withdraw(block);
            self.parts.failures.retire(block);
        } else {
            self.parts.counters.scrubbed += u64::from(why == Why::Ailing);
            if waits {
                resize(&mut self.parts, bank, |usable| usable + 1);
            }
            self.cleaner.withdraw(&mut self.parts, block);
        }
        self.cleaner.erase_withdrawn(&mut self.parts, now)?;
        Ok(Emptied::Yes)
    }
}
