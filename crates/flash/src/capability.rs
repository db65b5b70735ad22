//! What some chips can do beside the contract of [`Flash`], and a translation layer makes use of.

use crate::{BlockId, Flash, FlashError, Oob, Ppn};

/// A chip that knows its condition: the wear of its blocks, data in danger, data lost.
pub trait Condition: Flash {
    /// How many times a block was erased in its life.
    fn erase_count(&self, block: BlockId) -> u32;

    /// A block with a page whose reading needed much correction: its data should be moved soon. Each block
    /// is reported once between two erases.
    fn ailing(&mut self) -> Option<BlockId> {
        None
    }

    /// [Reads](Flash::read) a page that the caller knows was programmed: if it is blank, its data are lost.
    /// A chip that keeps no data cannot tell, and only reads.
    ///
    /// # Errors
    /// Those of [`read`](Flash::read); [`FlashError::Unreadable`] also for a blank page.
    #[inline(always)]
    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.read(from, into)
    }

    /// [Reads](Self::read_programmed) a page with its out-of-band area, so that the caller can compare the logical page; nothing
    /// where the chip keeps no area.
    ///
    /// # Errors
    /// Those of [`read_programmed`](Self::read_programmed).
    #[inline(always)]
    fn read_with_oob(&mut self, from: Ppn, into: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        self.read_programmed(from, into)?;
        self.read_oob(from)
    }

    /// Reads neighbouring pages of one block, as many as fill `into`, as one operation
    /// where the chip can. `seen` gets each page with its area, and says whether that is the right one.
    ///
    /// # Errors
    /// The first page that cannot be read, or is not the right one, and why.
    fn read_run(
        &mut self,
        from: Ppn,
        into: &mut [u8],
        seen: &mut dyn FnMut(Ppn, Option<Oob>) -> bool,
    ) -> Result<(), (Ppn, FlashError)> {
        let size = self.geometry().page_size as usize;
        for (page, into) in (from.0..).map(Ppn).zip(into.chunks_exact_mut(size)) {
            let oob = self.read_with_oob(page, into).map_err(|e| (page, e))?;
            if !seen(page, oob) {
                return Err((page, FlashError::Unreadable(page)));
            }
        }
        Ok(())
    }
}

/// A chip whose time is simulated, by a [`Clock`](crate::Clock). Every provided method is right for a chip
/// that takes its real time: `impl SimulatedTime for MyChip {}`.
pub trait SimulatedTime {
    /// Whether a bank would begin an operation now.
    fn is_idle(&self, bank: u32) -> bool {
        let _ = bank;
        true
    }

    /// Lets time pass until a busy bank becomes idle.
    fn wait_for_a_bank(&mut self) {}

    /// The controller recomputed a mean over all pages; takes the time of its processor.
    fn hotness_scan(&mut self) {}
}

/// A chip with all of that: what the page-mapped layer runs on.
pub trait Chip: Condition + SimulatedTime {}

impl<C: Condition + SimulatedTime + ?Sized> Chip for C {}
