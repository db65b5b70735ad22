//! NFTL on a chip that keeps data: the journal's interface, and the work before a change.

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Lpn, Ppn, Retrying};

use super::{Nftl, heaps::NOBODY};
use crate::{
    Counters, FtlError,
    journal::{Filled, Journal, Journaled, LOST, durability::Durability},
};

impl<C: Condition> Nftl<C> {
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

    /// Called before a change. After a clean mount the log records first that the store is in use, and
    /// leftovers of a crash or a failure are erased before anything is programmed.
    #[cold]
    pub(super) fn attend(&mut self) -> Result<(), FtlError> {
        if self.is_read_only {
            return Err(FtlError::ReadOnly);
        }
        // A checkpoint would promise a page where it may fade.
        self.pause_checkpoints(self.last.is_some());
        let done = self.attend_to_mount();
        self.pause_checkpoints(false);
        done?;
        self.needs_attention = self.is_read_only;
        if self.is_read_only { Err(FtlError::ReadOnly) } else { Ok(()) }
    }

    fn attend_to_mount(&mut self) -> Result<(), FtlError> {
        let now = self.now;
        self.with_journal(|journal, layer| {
            journal.before_change(layer, now)?;
            journal.secure(layer)
        })?;
        self.clear_litter()?;
        self.secure_last()
    }

    /// Whether no checkpoint may say where pages are.
    pub(super) fn pause_checkpoints(&mut self, is_paused: bool) {
        if let Some(journal) = &mut self.journal {
            journal.pause(is_paused);
        }
    }

    /// Before all is said to be in order: the page that was programmed last is written once more, where it may fade.
    pub(super) fn attend_to_last(&mut self) -> Result<(), FtlError> {
        if self.last.is_some() && !self.is_read_only { self.attend() } else { Ok(()) }
    }

    /// The page programmed last may fade: writes its data again. A fold before that also takes them from memory.
    fn secure_last(&mut self) -> Result<(), FtlError> {
        let Some(last) = self.last.clone().filter(|_| !self.is_read_only) else { return Ok(()) };
        if self.map[last.lpn.index()] == last.at {
            self.put(last.lpn, &last.data, self.now)?;
            self.counters.copies += 1;
        }
        self.last = None;
        Ok(())
    }

    /// A block is about to be taken: as much of the checkpoint is written as is due for each.
    pub(super) fn keep_pace(&mut self) -> Result<(), FtlError> {
        let now = self.now;
        self.with_journal(|journal, layer| journal.keep_pace(layer, now))
    }

    /// Reads a page, and checks by its area that it is that page. False if it holds no data.
    pub(super) fn read_from(
        &mut self,
        lpn: Lpn,
        at: Ppn,
        into: &mut [u8],
    ) -> Result<bool, FtlError> {
        if !Self::is_there(at) {
            into.fill(0);
            return if at == LOST { Err(FtlError::Lost(lpn)) } else { Ok(false) };
        }
        let Some(journal) = &self.journal else {
            self.chip.read(at, into)?;
            return Ok(true);
        };
        let block = self.chip.geometry().block_of(at);
        if let Some(oob) = self.chip.read_with_oob(at, into)?
            && !journal.may_hold(block, lpn, &oob)
        {
            into.fill(0);
            self.counters.misplaced += 1;
            return Err(FlashError::Unreadable(at).into());
        }
        Ok(true)
    }
}

impl<C: Condition> Journaled for Nftl<C> {
    type Chip = Retrying<C>;

    fn chip(&self) -> &Retrying<C> {
        &self.chip
    }

    fn chip_mut(&mut self) -> &mut Retrying<C> {
        &mut self.chip
    }

    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    fn is_absent(&self, lpn: Lpn) -> bool {
        self.map[lpn.index()] == Ppn::NONE
    }

    fn map_entry(&self, lpn: Lpn) -> (Ppn, u16) {
        (self.map[lpn.index()], 0)
    }

    fn filled(&self, block: BlockId) -> Filled {
        let v = self.owner[block.index()];
        if v == NOBODY {
            let waits = self.litter.contains(&block);
            return if waits { Filled::UpTo(self.pages) } else { Filled::Blank };
        }
        let pair = &self.pairs[v as usize];
        let used = if pair.primary == block {
            pair.primary_used
        } else if pair.replacement == block {
            pair.replacement_used
        } else {
            0
        };
        if used == self.pages { Filled::Full } else { Filled::UpTo(self.pages) }
    }

    fn in_order(&self) -> bool {
        self.in_order
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
