//! Emptying blocks that must not, or should not, hold data any longer: those that are condemned (see
//! `retire`), and those whose reads needed much correction, before it is too much (*scrubbing*).
//!
//! A block is emptied as if it were cleaned, but its pages stay in their stream, and the placement is
//! not asked. That happens in the background ([`Layer::scrub`](crate::Layer::scrub), idle time), and
//! under load whenever an open block is full: condemned blocks then, and one that ails. Emptying takes
//! room and gives none back if the block is not to be used again, so it waits until there is room for
//! the survivors of the next victim, too.

use thermocline_flash::{BlockId, Chip};
use thermocline_policy::{State, placement::Placement};

use super::{
    PageMapped,
    retire::{Condemned, Why},
};
use crate::FtlError;

/// What came of an attempt to empty a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Emptied {
    /// It went on.
    Yes,
    /// There is nothing to be done, or not before the host writes what was lost.
    Waits,
    /// There is no room for its pages now.
    NoRoom,
}

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Asks the chip which blocks ail.
    #[inline(always)]
    fn ask_who_ails(&mut self) {
        while let Some(block) = self.chip.ailing() {
            self.note_ailing(block);
        }
    }

    #[cold]
    fn note_ailing(&mut self, block: BlockId) {
        if block.0 < self.chip.geometry().blocks() {
            self.failures.ailing.push_back((block, self.block(block).erases));
        }
    }

    /// One step in the background; false if there is nothing to do, or nothing that can be done now.
    pub(super) fn scrub_once(&mut self, now: u64) -> Result<bool, FtlError> {
        self.ask_who_ails();
        if !self.batch.is_empty() || !self.failures.unmarked.is_empty() {
            self.erase_batch(now)?;
            return Ok(true);
        }
        let mut crowded = None;
        for i in 0..self.failures.condemned.len() {
            match self.empty(i, now)? {
                Emptied::Yes => return Ok(true),
                Emptied::Waits => {}
                Emptied::NoRoom => crowded = Some(self.failures.condemned[i].block),
            }
        }
        let mut turn = 0;
        while let Some(&(block, _)) = self.failures.ailing.get(turn) {
            match self.scrub_at(turn, now)? {
                Some(Emptied::NoRoom) => {
                    crowded = Some(block);
                    turn += 1;
                }
                Some(_) => return Ok(true),
                None => {}
            }
        }
        match crowded {
            // What is cleaned is not to be written again.
            Some(_) if self.writable == 0 => Ok(false),
            Some(block) => self.clean(self.bank_of(block), &mut false, now),
            None => Ok(false),
        }
    }

    /// Before a bank is cleaned: scrubs the block that has ailed longest in it.
    #[inline(always)]
    pub(super) fn scrub_under_load(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        self.ask_who_ails();
        if self.failures.ailing.is_empty() { Ok(()) } else { self.scrub_one_of(bank, now) }
    }

    #[cold]
    fn scrub_one_of(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        let turn = self.failures.ailing.iter().position(|&(block, _)| self.bank_of(block) == bank);
        if let Some(turn) = turn {
            self.scrub_at(turn, now)?;
        }
        Ok(())
    }

    /// Scrubs a block that ails, unless it was erased since or holds no data; nothing then. For want of
    /// room it keeps its turn.
    fn scrub_at(&mut self, turn: usize, now: u64) -> Result<Option<Emptied>, FtlError> {
        let (block, erases) = self.failures.ailing[turn];
        let bank = self.bank_of(block);
        let home = &self.banks[bank];
        let is = *home.blocks.block(block);
        let open = home.open.iter().position(|open| open.block == block);
        let is_full = matches!(is.state, State::Closed | State::Aside);
        if is.erases != erases || !is_full && open.is_none() {
            self.failures.ailing.remove(turn);
            return Ok(None);
        }
        let own_room = open.map_or(0, |stream| u64::from(home.open[stream].room()));
        if u64::from(is.valid) + own_room > home.free_pages() {
            return Ok(Some(Emptied::NoRoom));
        }
        self.failures.ailing.remove(turn);
        if let Some(stream) = open {
            self.close_early(bank, stream);
        }
        self.condemn(bank, block, Why::Ails);
        self.empty(self.failures.condemned.len() - 1, now).map(Some)
    }

    /// Empties the condemned blocks of a bank as far as there is room.
    #[cold]
    #[inline(never)]
    pub(super) fn tend(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        self.mark_retired()?;
        let mut i = 0;
        while let Some(&Condemned { block, .. }) = self.failures.condemned.get(i) {
            if self.bank_of(block) == bank {
                self.empty(i, now)?;
            }
            // Programs that fail meanwhile add blocks at the end.
            i += usize::from(self.failures.condemned.get(i).is_some_and(|c| c.block == block));
        }
        Ok(())
    }

    /// Moves what can be read of a condemned block, and retires it or erases it if nothing is left.
    fn empty(&mut self, i: usize, now: u64) -> Result<Emptied, FtlError> {
        let Condemned { block, why, waits } = self.failures.condemned[i];
        let bank = self.bank_of(block);
        let home = &self.banks[bank];
        let valid = home.blocks.block(block).valid;
        if valid > 0 && (waits || self.failures.hopeless) {
            return Ok(Emptied::Waits);
        }
        if valid > 0 {
            let gone = if why == Why::ProgramFailed { self.pages } else { 0 };
            if u64::from(valid + gone) > home.free_pages() {
                return Ok(Emptied::NoRoom);
            }
            match self.move_all(bank, block, now) {
                Err(FtlError::NoSpace) => return Ok(Emptied::NoRoom),
                Err(FtlError::ReadOnly) => {
                    self.failures.hopeless = true;
                    return Ok(Emptied::Waits);
                }
                moved => moved?,
            }
            if self.banks[bank].blocks.block(block).valid > 0 {
                self.failures.condemned[i].waits = true;
                if why != Why::ProgramFailed {
                    self.resize(bank, |usable| usable - 1);
                }
                return Ok(Emptied::Yes);
            }
        }
        self.failures.condemned.remove(i);
        self.drop_marked(block);
        self.banks[bank].blocks.withdraw(block);
        if why == Why::ProgramFailed {
            self.failures.unmarked.push(block);
        } else {
            self.counters.scrubbed += u64::from(why == Why::Ails);
            if waits {
                self.resize(bank, |usable| usable + 1);
            }
            self.batch.push(block);
        }
        self.erase_batch(now)?;
        Ok(Emptied::Yes)
    }

    /// Moves the current pages of a block to others of its stream; what cannot be read stays.
    fn move_all(&mut self, bank: usize, block: BlockId, now: u64) -> Result<(), FtlError> {
        if self.index.is_some() {
            self.awaken(now)?;
        }
        let stream = self.banks[bank].blocks.block(block).stream;
        self.survivors.clear();
        self.gather_survivors(block);
        self.counters.copies += self.survivors.len() as u64;
        let moved = self.move_survivors(bank, block, |_, _| stream, now);
        self.recount(bank, block, now);
        moved
    }
}
