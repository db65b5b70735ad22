//! In place on a chip that keeps data: what its journal asks, and how its pages are read.

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Lpn, Ppn, Retrying};

use super::{InPlace, Rewriting};
use crate::{
    Counters, FtlError,
    journal::{Filled, Journal, Journaled, LOST, durability::Durability},
};

impl<C: Condition> InPlace<C> {
    /// Does something to the index log, if there is one.
    pub(super) fn with_journal(
        &mut self,
        act: impl FnOnce(&mut Journal, &mut Self) -> Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        let done = act(&mut journal, self);
        self.journal = Some(journal);
        done
    }

    /// Reads a page that holds data, and checks by its area that it is that page.
    pub(super) fn read_kept(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<(), FtlError> {
        let (block, page) = self.place(lpn);
        if let Some(rewriting) = self.rewriting
            && rewriting.block == block
            && rewriting.next <= page
        {
            let size = self.chip.geometry().page_size as usize;
            let there = &self.buffer[page as usize * size..][..into.len()];
            into.copy_from_slice(there);
            return Ok(());
        }
        let at = self.ppn(block, page);
        let Some(oob) = self.chip.read_with_oob(at, into)? else { return Ok(()) };
        // Of a block that could not be erased the journal knows nothing any more.
        let is_it = |journal: &Journal| match self.is_read_only {
            true => oob.lpn == lpn,
            false => journal.may_hold(block, lpn, &oob),
        };
        if self.journal.as_deref().is_none_or(is_it) {
            return Ok(());
        }
        into.fill(0);
        self.counters.misplaced += 1;
        Err(FlashError::Unreadable(at).into())
    }
}

impl<C: Condition> Journaled for InPlace<C> {
    type Chip = Retrying<C>;

    fn chip(&self) -> &Retrying<C> {
        &self.chip
    }

    fn chip_mut(&mut self) -> &mut Retrying<C> {
        &mut self.chip
    }

    fn logical_pages(&self) -> u32 {
        self.mapped.len() as u32
    }

    fn is_absent(&self, lpn: Lpn) -> bool {
        !self.mapped[lpn.index()] && !self.lost[lpn.index()]
    }

    fn is_lost(&self, lpn: Lpn) -> bool {
        let (block, page) = self.place(lpn);
        let waits = |rewriting: Rewriting| rewriting.block == block && rewriting.next <= page;
        let is_in_memory = self.rewriting.is_some_and(waits) && self.mapped[lpn.index()];
        self.lost[lpn.index()] || is_in_memory
    }

    fn map_entry(&self, lpn: Lpn) -> (Ppn, u16) {
        let (block, page) = self.place(lpn);
        let at = match (self.lost[lpn.index()], self.mapped[lpn.index()]) {
            (true, _) => LOST,
            (_, true) => self.ppn(block, page),
            _ => Ppn::NONE,
        };
        (at, 0)
    }

    fn filled(&self, block: BlockId) -> Filled {
        if block.0 >= self.needed_blocks() {
            return Filled::Blank;
        }
        let first = (block.0 * self.pages) as usize;
        let pages = &self.programmed[first..first + self.pages as usize];
        match pages.iter().rposition(|programmed| *programmed) {
            None => Filled::Blank,
            Some(_) if pages.iter().all(|programmed| *programmed) => Filled::Full,
            Some(last) => Filled::UpTo(last as u32 + 1),
        }
    }

    fn in_order(&self) -> bool {
        self.chip.in_order()
    }

    fn durability(&self) -> &Durability {
        &self.durability
    }

    fn durability_mut(&mut self) -> &mut Durability {
        &mut self.durability
    }

    fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn is_over(&self) -> bool {
        self.is_read_only
    }

    fn log_exhausted(&mut self) {
        self.log_is_exhausted = true;
        self.stop();
    }
}
