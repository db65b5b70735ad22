//! Updates on a chip that keeps data.

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Lpn};

use super::{InPlace, Rewriting, notes};
use crate::FtlError;

impl<C: Condition> InPlace<C> {
    /// Logical pages of a block: the last one may have fewer than a block has.
    pub(super) fn pages_of(&self, block: BlockId) -> u32 {
        self.pages.min(self.mapped.len() as u32 - block.0 * self.pages)
    }

    /// Called before a change. After a clean mount the log records first that the store is in use, and a
    /// rewrite that the system below interrupted goes on.
    #[cold]
    pub(super) fn attend(&mut self) -> Result<(), FtlError> {
        if self.is_read_only {
            return Err(FtlError::ReadOnly);
        }
        let now = self.now;
        self.with_journal(|journal, layer| journal.before_change(layer, now))?;
        self.write_back()?;
        self.needs_attention = self.is_read_only;
        if self.is_read_only { Err(FtlError::ReadOnly) } else { Ok(()) }
    }

    /// As much of the checkpoint is written as is due for a block.
    pub(super) fn keep_pace(&mut self) -> Result<(), FtlError> {
        let now = self.now;
        self.with_journal(|journal, layer| journal.keep_pace(layer, now))?;
        self.durability.block_opened();
        Ok(())
    }

    /// Rewrites the block of a page, with new data for it. The log records that before the erase.
    pub(super) fn rewrite_kept(&mut self, lpn: Lpn, data: &[u8]) -> Result<(), FtlError> {
        let (block, page) = self.place(lpn);
        self.keep_pace()?;
        self.gather(block)?;
        let size = self.chip.geometry().page_size as usize;
        let new = &mut self.buffer[page as usize * size..][..size];
        if data.is_empty() {
            new.fill(0)
        } else {
            new.copy_from_slice(data)
        }
        let (first, count) = (block.0 * self.pages, self.pages_of(block));
        self.with_journal(|journal, layer| {
            journal.before_rewrite(layer, block, first..first + count)
        })?;
        match self.chip.erase(block) {
            Ok(()) => {}
            Err(
                e @ (FlashError::WornOut(_) | FlashError::BadBlock(_) | FlashError::EraseFailed(_)),
            ) => return self.not_erased(block, e),
            Err(e) => return Err(e.into()),
        }
        self.count_rewrite(block, count);
        self.lost[lpn.index()] = false;
        if !core::mem::replace(&mut self.mapped[lpn.index()], true) {
            self.valid[block.index()] += 1;
        }
        self.rewriting = Some(Rewriting { block, next: 0, has_failed: false });
        self.write_back()?;
        if self.is_read_only { Err(FtlError::ReadOnly) } else { Ok(()) }
    }

    /// Reads the data of a block into the buffer; pages that cannot be read are lost.
    fn gather(&mut self, block: BlockId) -> Result<(), FtlError> {
        let size = self.chip.geometry().page_size as usize;
        let mut buffer = core::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.resize(self.pages as usize * size, 0);
        let pages = (block.0 * self.pages..).map(Lpn).zip(buffer.chunks_exact_mut(size));
        let mut done = Ok(());
        for (lpn, into) in pages.take(self.pages_of(block) as usize) {
            if !self.mapped[lpn.index()] {
                continue;
            }
            match self.read_kept(lpn, into) {
                Ok(()) => {}
                Err(FtlError::Flash(FlashError::Unreadable(_))) => {
                    into.fill(0);
                    self.lose(lpn);
                }
                Err(e) => done = Err(e),
            }
        }
        self.buffer = buffer;
        done
    }

    /// Writes back the rest of an erased block. If the system below fails, the next change resumes it; a
    /// page that the chip fails to program is lost.
    pub(super) fn write_back(&mut self) -> Result<(), FtlError> {
        let size = self.chip.geometry().page_size as usize;
        while let Some(Rewriting { block, next, has_failed }) = self.rewriting {
            if next == self.pages_of(block) {
                self.rewriting = None;
                if has_failed {
                    self.stop();
                }
                break;
            }
            let lpn = Lpn(block.0 * self.pages + next);
            let note = if self.lost[lpn.index()] {
                notes::LOST
            } else if self.mapped[lpn.index()] {
                notes::DATA
            } else {
                notes::ABSENT
            };
            let (to, oob) = (self.ppn(block, next), self.oob(lpn, note));
            let data = &self.buffer[next as usize * size..][..size];
            let has_failed = match self.chip.program(to, oob, data) {
                Ok(()) => has_failed,
                Err(FlashError::ProgramFailed(_) | FlashError::BadBlock(_)) => {
                    self.durability.last_failed();
                    self.counters.programs_failed += 1;
                    self.lose(lpn);
                    true
                }
                Err(FlashError::NotErased(_) | FlashError::OutOfOrder(_)) => {
                    // The chip did a program that it reported as failed: write all pages again, under new
                    // sequence numbers.
                    self.durability.last_failed();
                    self.erase_again(block)?;
                    continue;
                }
                Err(e) => {
                    self.durability.last_failed();
                    self.needs_attention = true;
                    return Err(e.into());
                }
            };
            self.programmed[lpn.index()] = true;
            self.rewriting = Some(Rewriting { block, next: next + 1, has_failed });
        }
        Ok(())
    }

    /// Erases a block that is being rewritten, to write it back from its first page on.
    #[cold]
    fn erase_again(&mut self, block: BlockId) -> Result<(), FtlError> {
        match self.chip.erase(block) {
            Ok(()) => {}
            Err(
                e @ (FlashError::WornOut(_) | FlashError::BadBlock(_) | FlashError::EraseFailed(_)),
            ) => {
                self.rewriting = None;
                return self.not_erased(block, e);
            }
            Err(e) => return Err(e.into()),
        }
        self.counters.erases += 1;
        self.rewriting = Some(Rewriting { block, next: 0, has_failed: false });
        Ok(())
    }

    /// The data of a page are gone.
    fn lose(&mut self, lpn: Lpn) {
        if core::mem::take(&mut self.mapped[lpn.index()]) {
            let (block, _) = self.place(lpn);
            self.valid[block.index()] -= 1;
            self.counters.pages_lost += 1;
            self.lost[lpn.index()] = true;
        }
    }

    /// An erase failed, and there is no spare block. The data that the block still holds can be read.
    #[cold]
    fn not_erased(&mut self, block: BlockId, failed: FlashError) -> Result<(), FtlError> {
        self.counters.retired += 1;
        self.counters.erases_failed += u64::from(!matches!(failed, FlashError::BadBlock(_)));
        self.stop();
        for lpn in (block.0 * self.pages..).map(Lpn).take(self.pages_of(block) as usize) {
            if self.mapped[lpn.index()] && self.read_kept(lpn, &mut []).is_err() {
                self.lose(lpn);
            }
        }
        Err(FtlError::ReadOnly)
    }

    /// A page of the host was not programmed, the first time since its block was erased.
    #[cold]
    pub(super) fn not_programmed(
        &mut self,
        lpn: Lpn,
        data: &[u8],
        failed: FlashError,
    ) -> Result<(), FtlError> {
        self.durability.last_failed();
        let (block, page) = self.place(lpn);
        match failed {
            FlashError::ProgramFailed(_) | FlashError::BadBlock(_) => {
                self.counters.programs_failed += 1;
                self.programmed[lpn.index()] = true;
                self.stop();
                Err(FtlError::ReadOnly)
            }
            FlashError::OutOfOrder(_) | FlashError::NotErased(_) => self.rewrite_kept(lpn, data),
            other => {
                // It may have been programmed for all that: the next flush says that it holds no data.
                let is_blank = matches!(self.chip.read_oob(self.ppn(block, page)), Ok(None));
                self.programmed[lpn.index()] = !is_blank;
                if let Some(journal) =
                    self.journal.as_deref_mut().filter(|_| !self.lost[lpn.index()])
                {
                    journal.dropped(lpn);
                }
                Err(other.into())
            }
        }
    }

    /// The layer takes no more writes.
    pub(super) const fn stop(&mut self) {
        self.is_read_only = true;
        self.needs_attention = true;
    }
}
