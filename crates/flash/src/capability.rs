//! Optional capabilities of a chip beyond the contract of [`Flash`].

use crate::{BlockId, Flash, FlashError, Oob, Ppn};

/// A chip that reports its condition: erase counts, blocks at risk of losing data, lost data.
pub trait Condition: Flash {
    /// P/E cycles of the block so far.
    fn erase_count(&self, block: BlockId) -> u32;

    /// A block with a page whose last read needed much correction. Its data should be moved soon.
    /// Each block is reported once between two erases.
    fn ailing(&mut self) -> Option<BlockId> {
        None
    }

    /// [Reads](Flash::read) a page that the caller knows was programmed. A blank page means that
    /// its data are lost. A chip that stores no data cannot detect that and only reads.
    ///
    /// # Errors
    /// Those of [`read`](Flash::read); [`FlashError::Unreadable`] also for a blank page.
    #[inline(always)]
    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.read(from, into)
    }

    /// [Reads](Self::read_programmed) a page and its out-of-band area, so that the caller can
    /// compare the logical page. Returns `None` where the chip stores no area.
    ///
    /// # Errors
    /// Those of [`read_programmed`](Self::read_programmed).
    #[inline(always)]
    fn read_with_oob(&mut self, from: Ppn, into: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        self.read_programmed(from, into)?;
        self.read_oob(from)
    }

    /// Reads consecutive pages of one block until `into` is full, as one operation where the chip
    /// can. `seen` receives each page with its out-of-band area and returns whether it is the
    /// expected page.
    ///
    /// # Errors
    /// The first page that cannot be read or is not the expected one, and why.
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

/// A chip whose time is simulated by a [`Clock`](crate::Clock). The provided methods suit a chip
/// that runs in real time: `impl SimulatedTime for MyChip {}`.
pub trait SimulatedTime {
    /// Whether a bank would begin an operation at once.
    fn is_idle(&self, bank: u32) -> bool {
        let _ = bank;
        true
    }

    /// Advances time until a busy bank becomes idle.
    fn wait_for_a_bank(&mut self) {}

    /// Accounts for the processor time of recomputing a mean over all pages.
    fn hotness_scan(&mut self) {}
}

/// All three chip traits together: what the page-mapped layer requires.
pub trait Chip: Condition + SimulatedTime {}

impl<C: Condition + SimulatedTime + ?Sized> Chip for C {}
