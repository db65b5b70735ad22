//! Writes the last page before a loss of power again, before any other change, even though it reads well.
//!
//! Problem. Cells that were not fully programmed may read well at the mount and fail later. By then the copy before
//! such a page, which was flushed, is garbage, and its block may be erased. Idea. Only the last page programmed can be
//! such a page. The mount keeps its data in memory, and they are programmed elsewhere first. An older copy never
//! replaces the page, since it may have been flushed itself. Consequence. On a chip whose pages [may
//! fade](thermocline_flash::Flash::may_fade), a mount after a loss of power costs one program and the memory of one
//! page.

use thermocline_flash::Chip;
use thermocline_policy::placement::Placement;

use super::{append::PageWrite, core::PageMapped, mount::LastPage, opening::open_next};
use crate::FtlError;

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Writes it, if there is one.
    pub(super) fn secure_last(&mut self, now: u64) -> Result<(), FtlError> {
        let Some(last) = self.parts.last.take() else { return Ok(()) };
        // A checkpoint would promise the page where it may fade.
        self.pause_checkpoints(true);
        let parts = self.parts.any();
        let done = parts
            .record(|journal, parts| journal.before_change(parts, now))
            .and_then(|()| self.secure(&last, now));
        self.pause_checkpoints(false);
        if done.is_err() {
            self.parts.last = Some(last);
        }
        self.parts.failures.last_may_fade(self.parts.last.is_some());
        done
    }

    /// The data go to another page of the block, or of a free one: nothing is cleaned before they are there.
    #[cold]
    fn secure(&mut self, last: &LastPage, now: u64) -> Result<(), FtlError> {
        let &LastPage { lpn, at, ref data } = last;
        if self.parts.failures.end_of_life().is_some() || self.parts.tables.data(lpn) != at {
            return Ok(());
        }
        let block = self.parts.tables.shape().block_of(at);
        let bank = self.parts.banks.bank_of(block);
        let home = &self.parts.banks[bank];
        let stream = home.block(block).stream;
        if home.open(usize::from(stream)).is_full() && home.free_blocks() > 0 {
            open_next(&mut self.parts, bank, stream, now)?;
        }
        let write = PageWrite { lpn, stream, data, now };
        self.append(bank, write, |_, word| word)?;
        self.parts.counters.copies += 1;
        Ok(())
    }
}
