//! Blocks without data: they are erased, or marked bad if they failed.
//!
//! Invariants, on a chip that keeps data:
//! * the index log has recorded every trim before a block is erased, and the numbers of its pages, where the
//!   checkpoint does not account for them;
//! * before the sources of a fold or a move are erased their copies are durable, and the log has
//!   recorded that;
//! * if the system below fails an erase, the block waits, and nothing is programmed before it is erased:
//!   an abandoned target never outlives the sequence numbers meant for it.

use thermocline_flash::{BlockId, Condition, Flash, FlashError};

use super::{Nftl, RESERVE, heaps::NOBODY};
use crate::FtlError;

impl<C: Condition> Nftl<C> {
    /// Erases unused blocks, one after another.
    pub(super) fn release(&mut self, blocks: [BlockId; 2]) -> Result<(), FtlError> {
        for block in blocks {
            if block != BlockId::NONE {
                self.owner[block.index()] = NOBODY;
                self.litter.push(block);
            }
        }
        self.clear_litter()
    }

    /// Erases what waits for it.
    pub(super) fn clear_litter(&mut self) -> Result<(), FtlError> {
        if self.unproved {
            self.prove()?;
        }
        while let Some(&block) = self.litter.first() {
            if let Err(e) = self.erase(block) {
                self.needs_attention = true;
                return Err(e);
            }
            self.litter.remove(0);
        }
        if self.gave_up {
            self.sync()?;
        }
        Ok(())
    }

    /// Makes the erases of given-up targets durable. Otherwise a target could reappear beside later
    /// programs in its source blocks.
    #[cold]
    fn sync(&mut self) -> Result<(), FtlError> {
        self.needs_attention = true;
        self.chip.sync()?;
        self.durability.synced(self.durability.programs());
        self.gave_up = false;
        Ok(())
    }

    /// Makes copies durable, and records that in the log, before their source blocks are erased: a target
    /// not known to be durable has its sources beside it.
    fn prove(&mut self) -> Result<(), FtlError> {
        let proved = self.with_journal(|journal, layer| journal.record_sync(layer));
        self.needs_attention |= proved.is_err();
        proved?;
        self.dropped_since_sync &= self.journal.is_none();
        self.unproved = false;
        Ok(())
    }

    /// Erases a block, which is free from then on, or retired if that fails.
    fn erase(&mut self, block: BlockId) -> Result<(), FtlError> {
        let before = self.chip.erase_count(block);
        if self.journal.is_some() {
            self.with_journal(|journal, layer| journal.before_erase(layer, block))?;
            if let Some(at) = self.failing.iter().position(|&failed| failed == block) {
                self.retire(block, before)?;
                self.failing.swap_remove(at);
                return Ok(());
            }
        }
        match self.chip.erase(block) {
            Ok(()) => {
                self.counters.erases += 1;
                self.erased = true;
                self.free.push(block);
                if let Some(wear) = &mut self.wear {
                    wear.erased(block, before, self.chip.erase_count(block));
                }
                Ok(())
            }
            Err(FlashError::WornOut(_) | FlashError::EraseFailed(_) | FlashError::BadBlock(_)) => {
                self.counters.erases_failed += 1;
                self.retire(block, before)
            }
            Err(e) => Err(e.into()),
        }
    }

    /// A block is used no more.
    #[cold]
    fn retire(&mut self, block: BlockId, erases: u32) -> Result<(), FtlError> {
        if !self.chip.is_bad(block) {
            // The copies must be durable before the mark.
            self.chip.sync()?;
            self.chip.mark_bad(block)?;
        }
        self.counters.retired += 1;
        self.set_usable(self.usable - 1);
        if let Some(wear) = &mut self.wear {
            wear.retired(block, erases);
        }
        self.judge();
        Ok(())
    }

    /// A chip that keeps data ends when a virtual block may find no block for a fold.
    pub(super) fn judge(&mut self) {
        let needed = self.pairs.len() as u64 + u64::from(RESERVE);
        if self.journal.is_some() && u64::from(self.usable) < needed {
            self.stop();
        }
    }

    /// The layer takes no more writes.
    pub(super) const fn stop(&mut self) {
        self.is_read_only = true;
        self.needs_attention = true;
    }
}
