//! The index log: blocks that are written one after another, for ever.
//!
//! Each block has a *turn*, one more than the block written before it, and begins with a page that
//! repeats the summary. The log needs what was written since the newest complete checkpoint was begun;
//! blocks before that are erased and written again. As a block is erased before it is written, its
//! first page proves that everything done before that erase is on the chip.

use alloc::collections::VecDeque;

use thermocline_flash::{BlockId, Flash, FlashError, Geometry, Lpn, Oob, Ppn};

use super::record::{Head, Header, Kind, Page};
use crate::FtlError;

/// A block of the log in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    pub(crate) turn: u64,
    pub(crate) block: BlockId,
}

/// Where the log stands.
#[derive(Debug)]
pub(crate) struct Log {
    /// Blocks that the log still needs, oldest first; the last is being written.
    pub(crate) used: VecDeque<Used>,
    /// Blocks that may be erased and written.
    pub(crate) free: VecDeque<BlockId>,
    /// The next page of the block being written, header pages counted.
    pub(crate) next: u32,
    /// The turn of the block written last.
    pub(crate) turn: u64,
    /// Pages of the log that were programmed.
    pub(crate) programs: u64,
}

impl Log {
    /// A log of which nothing is written yet.
    pub(crate) const fn new(free: VecDeque<BlockId>) -> Self {
        Self { used: VecDeque::new(), free, next: u32::MAX, turn: 0, programs: 0 }
    }

    /// Pages that can be written before a block has to be freed, the first of each block not counted.
    pub(crate) fn room(&self, pages_per_block: u32, header_pages: u32) -> u32 {
        let per_block = pages_per_block - header_pages - 1;
        self.free.len() as u32 * per_block + pages_per_block.saturating_sub(self.next)
    }

    /// Whether the next page begins a block.
    pub(crate) const fn is_full(&self, pages_per_block: u32) -> bool {
        self.next >= pages_per_block
    }

    /// What stands beside a page of the log.
    fn oob(turn: u64, kind: Kind, time: u64) -> Oob {
        Oob { lpn: Lpn::NONE, stream: u8::MAX, sequence: turn, time, note: kind as u16 }
    }

    /// Erases the next block and writes its first page. Where either fails the block is marked as bad
    /// and another one taken.
    pub(crate) fn begin_block<C: Flash>(
        &mut self,
        chip: &mut C,
        page: &mut Page,
        sequence: u64,
        head: &Head,
        time: u64,
    ) -> Result<(), FtlError> {
        page.head(&Header::plain(Kind::Head, sequence), head);
        let (geometry, turn) = (*chip.geometry(), self.turn + 1);
        loop {
            let block = self.free.pop_front().ok_or(FtlError::ReadOnly)?;
            let at = geometry.ppn(block, geometry.header_pages);
            let done = chip
                .erase(block)
                .and_then(|()| chip.program(at, Self::oob(turn, Kind::Head, time), page.bytes()));
            if done.is_ok() {
                self.programs += 1;
                self.turn = turn;
                self.next = geometry.header_pages + 1;
                self.used.push_back(Used { turn, block });
                return Ok(());
            }
            if let Err(failed) = retire(chip, block, done) {
                // It was not the block's fault: it is erased again next time.
                self.free.push_front(block);
                return Err(failed);
            }
        }
    }

    /// Programs a page at the end of the block being written, which has room. False if the page could not
    /// be programmed: the block is then full, and bad.
    pub(crate) fn append<C: Flash>(
        &mut self,
        chip: &mut C,
        page: &Page,
        kind: Kind,
        time: u64,
    ) -> Result<bool, FtlError> {
        let geometry = *chip.geometry();
        let Some(last) = self.used.back() else { return Ok(false) };
        let (at, block) = (geometry.ppn(last.block, self.next), last.block);
        let done = chip.program(at, Self::oob(last.turn, kind, time), page.bytes());
        if done.is_ok() {
            self.programs += 1;
            self.next += 1;
            return Ok(true);
        }
        if matches!(done, Err(FlashError::Medium(_))) && !matches!(chip.read_oob(at), Ok(None)) {
            // It was programmed for all that.
            self.next += 1;
        }
        retire(chip, block, done)?;
        self.next = geometry.pages_per_block;
        Ok(false)
    }

    /// Lets go of the blocks before a turn.
    pub(crate) fn release<C: Flash>(&mut self, chip: &C, before: u64) {
        while let Some(oldest) = self.used.front().copied()
            && oldest.turn < before
            && self.used.len() > 1
        {
            self.used.pop_front();
            if !chip.is_bad(oldest.block) {
                self.free.push_back(oldest.block);
            }
        }
    }

    /// Where a page of a block of the log is, in the order in which pages were written.
    pub(crate) fn pages(geometry: Geometry, block: BlockId) -> impl Iterator<Item = Ppn> {
        (geometry.header_pages..geometry.pages_per_block).map(move |page| geometry.ppn(block, page))
    }
}

/// Marks a block as bad whose last use failed; what is no matter of the block is passed on.
fn retire<C: Flash>(
    chip: &mut C,
    block: BlockId,
    done: Result<(), FlashError>,
) -> Result<(), FtlError> {
    match done {
        Err(FlashError::ProgramFailed(_) | FlashError::EraseFailed(_)) => Ok(chip.mark_bad(block)?),
        // Known to the chip already.
        Ok(()) | Err(FlashError::WornOut(_) | FlashError::BadBlock(_)) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
