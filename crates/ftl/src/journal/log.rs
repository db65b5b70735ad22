//! The blocks of the index log, written in a ring.
//!
//! Invariant: a block that is not bad is either in use or free, and the last one in use is
//! programmed up to the next page.
//!
//! Each block has a *turn*, one more than the block written before it, and begins with a page that
//! repeats the summary. The log needs everything from the begin of the newest complete checkpoint on;
//! earlier blocks are erased and reused. A block is erased before it is written, so its first page
//! proves that everything done before that erase is on the chip.

use alloc::{collections::VecDeque, vec::Vec};

use thermocline_flash::{BlockId, Flash, FlashError, Geometry, Lpn, Oob, Ppn};

use crate::{
    FtlError,
    journal::index::{
        record::{Kind, Page},
        summary::{PAGE_MAPPED, stream_of},
    },
};

/// A block of the log in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    pub(crate) turn: u64,
    pub(crate) block: BlockId,
    /// It holds facts that stand nowhere else, or pages of the newest complete checkpoint.
    pub(crate) is_kept: bool,
}

/// Where the log stands.
#[derive(Debug)]
pub(crate) struct Log {
    /// Blocks that the log still needs, oldest first; the last is being written.
    used: VecDeque<Used>,
    /// Blocks that may be erased and written.
    free: VecDeque<BlockId>,
    /// The next page of the block being written, header pages counted.
    next: u32,
    /// The turn of the block written last.
    turn: u64,
    /// Pages that were written to it.
    written: u32,
    /// Pages of the log that were programmed.
    programs: u64,
    /// The stream byte of each page: the kind of layer, counted down.
    stream: u8,
}

impl Log {
    /// A log of which nothing is written yet.
    pub(crate) const fn new(free: VecDeque<BlockId>) -> Self {
        Self::found(VecDeque::new(), free, None, (0, 0))
    }

    /// A log that continues in the last block in use, if it can; `turn` was the last, and the other
    /// arguments say how far it is written.
    pub(crate) const fn found(
        used: VecDeque<Used>,
        free: VecDeque<BlockId>,
        next: Option<u32>,
        (turn, written): (u64, u32),
    ) -> Self {
        let next = match next {
            Some(next) => next,
            None => u32::MAX,
        };
        Self { used, free, next, turn, written, programs: 0, stream: stream_of(PAGE_MAPPED) }
    }

    /// The log is of that kind of layer.
    pub(crate) const fn set_layer(&mut self, layer: u8) {
        self.stream = stream_of(layer);
    }

    /// Whether no block is left to be written after this one.
    pub(crate) fn has_no_free_block(&self) -> bool {
        self.free.is_empty()
    }

    /// The turn of the block being written.
    pub(crate) fn turn(&self) -> Option<u64> {
        self.used.back().map(|used| used.turn)
    }

    /// Pages that were written to that block.
    pub(crate) const fn written(&self) -> u32 {
        self.written
    }

    /// The page written last, and whether it is a head; nothing where that is not known to be whole.
    pub(crate) fn last_page(&self, geometry: &Geometry) -> Option<(Ppn, bool)> {
        let head = geometry.header_pages + 1;
        let is_inside = (head..=geometry.pages_per_block).contains(&self.next);
        let last = self.used.back().filter(|_| is_inside)?;
        Some((geometry.ppn(last.block, self.next - 1), self.next == head))
    }

    /// The page written last stands once more, or will: it is not missed where it is.
    pub(crate) const fn forget_last(&mut self) {
        self.written = self.written.saturating_sub(1);
    }

    /// Turns before the next one that are kept: a bit each, the lowest of the first byte for the last.
    pub(crate) fn kept(&self) -> Vec<u8> {
        let mut kept = Vec::new();
        for used in self.used.iter().filter(|used| used.is_kept) {
            let back = (self.turn - used.turn) as usize;
            kept.resize(kept.len().max(back / 8 + 1), 0);
            kept[back / 8] |= 1 << (back % 8);
        }
        kept
    }

    /// Turns from that one on are kept: they hold the newest complete checkpoint.
    pub(crate) fn keep_from(&mut self, turn: u64) {
        self.used.iter_mut().for_each(|used| used.is_kept |= used.turn >= turn);
    }

    /// Pages of the log that were programmed.
    pub(crate) const fn programs(&self) -> u64 {
        self.programs
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

    /// The out-of-band area of a page of the log.
    const fn oob(&self, turn: u64, kind: Kind, time: u64) -> Oob {
        Oob { lpn: Lpn::NONE, stream: self.stream, sequence: turn, time, note: kind as u16 }
    }

    /// Erases the next block and writes its first page, a head. Where either fails the block is marked as
    /// bad and another one taken.
    pub(crate) fn begin_block<C: Flash>(
        &mut self,
        chip: &mut C,
        head: &Page,
        time: u64,
    ) -> Result<(), FtlError> {
        let (geometry, turn) = (*chip.geometry(), self.turn + 1);
        loop {
            let block = self.free.pop_front().ok_or(FtlError::ReadOnly)?;
            let at = geometry.ppn(block, geometry.header_pages);
            let done = chip
                .erase(block)
                .and_then(|()| chip.program(at, self.oob(turn, Kind::Head, time), head.bytes()));
            if done.is_ok() {
                self.programs += 1;
                (self.turn, self.written) = (turn, 1);
                self.next = geometry.header_pages + 1;
                self.used.push_back(Used { turn, block, is_kept: false });
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
        let Some(last) = self.used.back_mut() else { return Ok(false) };
        let (at, block) = (geometry.ppn(last.block, self.next), last.block);
        last.is_kept |= kind.is_kept();
        let turn = last.turn;
        let done = chip.program(at, self.oob(turn, kind, time), page.bytes());
        if done.is_ok() {
            self.programs += 1;
            self.written += 1;
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

    /// Releases blocks before a turn that hold no kept record, as the last head says.
    pub(crate) fn release_unkept<C: Flash>(&mut self, chip: &C, before: u64) {
        let Self { used, free, .. } = self;
        used.retain(|used| {
            let is_needed = used.is_kept || used.turn >= before;
            if !is_needed && !chip.is_bad(used.block) {
                free.push_back(used.block);
            }
            is_needed
        });
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
}

/// Marks a block bad after a failed operation; passes on errors that are not the block's fault.
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
