//! The block table of a checkpoint: what the out-of-band areas of each block show, and whether a
//! block was rewritten since.
//!
//! Invariants:
//! * an entry belongs to a block that was full or unused when it was read, and was not erased
//!   since;
//! * all pages of a block have numbers from `least` on;
//! * a block that is not `young` was full when the newest complete checkpoint began its table of blocks,
//!   at number `base`, and was not erased since. When a young block is erased, the log records its numbers
//!   above `base`, so a mount knows for every number whether its page was erased rightly.

use alloc::{vec, vec::Vec};

use super::journaled::{Filled, Journaled};
use crate::journal::{
    index::record::{BlockEntry, Complete},
    watermark::program_number,
};
use crate::shape::Shape;
use thermocline_flash::{BlockId, Flash, FlashError, Lpn, Oob};

/// The entries of all blocks.
pub(super) struct Surveys {
    /// Entries of blocks that were read since their last erase.
    entries: Vec<Option<BlockEntry>>,
    least: Vec<u64>,
    /// Blocks that were there at the mount and were not looked at page by page since.
    unseen: Vec<bool>,
    young: Vec<bool>,
    base: u64,
    /// Blocks that will not be young any more when the checkpoint of that number is complete, and the base
    /// then.
    settled: Vec<bool>,
    coming: (u32, u64),
}

impl Surveys {
    /// For `blocks` blocks, none of them read yet.
    pub(super) fn new(blocks: u32) -> Self {
        let blocks = blocks as usize;
        Self {
            entries: vec![None; blocks],
            least: vec![0; blocks],
            unseen: vec![false; blocks],
            young: vec![true; blocks],
            base: 0,
            settled: vec![false; blocks],
            coming: (0, 0),
        }
    }

    /// Bytes of it.
    pub(super) const fn memory(&self) -> usize {
        let of_block = size_of::<Option<BlockEntry>>() + size_of::<u64>() + 3;
        self.entries.capacity() * of_block
    }

    /// The entry of a block; the default if it was not read.
    pub(super) fn entry(&self, block: BlockId) -> BlockEntry {
        let settled = self.settled[block.index()];
        BlockEntry { settled, ..self.entries[block.index()].unwrap_or_default() }
    }

    /// A mount has looked at a block.
    pub(super) fn found(&mut self, block: BlockId, entry: BlockEntry, is_full: bool) {
        self.least[block.index()] = entry.first_sequence;
        self.unseen[block.index()] = true;
        // A block that was closed early may be continued.
        self.young[block.index()] = !(entry.settled && is_full);
        if is_full {
            self.entries[block.index()] = Some(entry);
        }
    }

    /// A mount has found the base.
    pub(super) const fn set_base(&mut self, base: u64) {
        self.base = base;
    }

    /// Whether the out-of-band area of a page names that logical page, and was programmed after the last
    /// erase of its block.
    #[inline]
    pub(super) fn may_hold(&self, block: BlockId, lpn: Lpn, oob: &Oob) -> bool {
        oob.lpn == lpn && program_number(oob.sequence) >= self.least[block.index()]
    }

    /// The least number that a page of a block can have: its erase came before that.
    pub(super) fn least(&self, block: BlockId) -> u64 {
        self.least[block.index()]
    }

    /// Whether a block was there at the mount and this is the first question.
    pub(super) fn look_once(&mut self, block: BlockId) -> bool {
        core::mem::take(&mut self.unseen[block.index()])
    }

    /// Called before the table of blocks of a checkpoint is written.
    pub(super) fn begin_table<L: Journaled + ?Sized>(&mut self, checkpoint: u32, layer: &L) {
        self.coming = (checkpoint, layer.durability().programs());
        for (block, settled) in (0..).map(BlockId).zip(&mut self.settled) {
            *settled = layer.filled(block) == Filled::Full;
        }
    }

    pub(super) const fn base_of_table(&self) -> u64 {
        self.coming.1
    }

    /// That is the newest complete checkpoint.
    pub(super) fn completed(&mut self, complete: &Complete) {
        if complete.checkpoint == 0 || complete.checkpoint != self.coming.0 {
            return;
        }
        self.base = self.coming.1;
        for (young, settled) in self.young.iter_mut().zip(&self.settled) {
            *young &= !settled;
        }
        self.coming.0 = 0;
    }

    /// The numbers of a block's pages that the log has to have before the block is erased.
    pub(super) fn numbers_to_tell<C: Flash>(
        &self,
        chip: &mut C,
        block: BlockId,
    ) -> Result<Vec<u64>, FlashError> {
        let mut numbers = Vec::new();
        if self.young.get(block.index()) != Some(&true) {
            return Ok(numbers);
        }
        let shape = Shape::of(chip.geometry());
        for page in 0..shape.pages() {
            match chip.read_oob(shape.data_page(block, page)) {
                Ok(Some(oob)) => numbers.push(program_number(oob.sequence)),
                Ok(None) | Err(FlashError::Unreadable(_)) => {}
                Err(e) => return Err(e),
            }
        }
        numbers.retain(|&number| number > self.base);
        Ok(numbers)
    }

    /// Forgets a block that is about to be erased, after `programs` programs. Blocks of the log have no
    /// entry.
    pub(super) fn erased(&mut self, block: BlockId, programs: u64) {
        if block.index() < self.entries.len() {
            self.entries[block.index()] = None;
            self.least[block.index()] = programs + 1;
            self.unseen[block.index()] = false;
            self.young[block.index()] = true;
            self.settled[block.index()] = false;
        }
    }

    /// Looks at blocks that were not looked at since they were erased.
    pub(super) fn look_at<L: Journaled + ?Sized>(
        &mut self,
        layer: &mut L,
        blocks: impl Iterator<Item = BlockId>,
    ) -> Result<(), FlashError> {
        for block in blocks {
            if self.entries[block.index()].is_none() {
                let pages = layer.chip().geometry().data_pages_per_block();
                let entry = match layer.filled(block) {
                    Filled::Blank => BlockEntry::default(),
                    Filled::UpTo(end) => survey(layer, block, end)?,
                    Filled::Full => survey(layer, block, pages)?,
                };
                self.entries[block.index()] = Some(entry);
            }
        }
        Ok(())
    }

    /// Forgets blocks that are not full: they change without being erased.
    pub(super) fn keep_full<L: Journaled + ?Sized>(
        &mut self,
        layer: &L,
        blocks: impl Iterator<Item = BlockId>,
    ) {
        for block in blocks {
            if layer.filled(block) != Filled::Full {
                self.entries[block.index()] = None;
            }
        }
    }
}

/// Reads the areas of a block's programmed pages. Where pages are programmed in order, the first has the
/// lowest number.
fn survey<L: Journaled + ?Sized>(
    layer: &mut L,
    block: BlockId,
    end: u32,
) -> Result<BlockEntry, FlashError> {
    let (in_order, chip) = (layer.in_order(), layer.chip_mut());
    let shape = Shape::of(chip.geometry());
    let mut entry = BlockEntry::default();
    let mut look = |page: u32| match chip.read_oob(shape.data_page(block, page)) {
        Ok(oob) => Ok((oob.is_some(), oob)),
        Err(FlashError::Unreadable(_)) => Ok((true, None)),
        Err(e) => Err(e),
    };
    for page in 0..end {
        if let (_, Some(oob)) = look(page)? {
            let number = program_number(oob.sequence);
            if entry.first_sequence == 0 {
                (entry.first_sequence, entry.stream) = (number, oob.stream);
            }
            entry.first_sequence = entry.first_sequence.min(number);
            if in_order {
                break;
            }
        }
    }
    for page in (0..end).rev() {
        let (programmed, oob) = look(page)?;
        if programmed {
            entry.programmed = entry.programmed.max(page + 1);
        }
        if let Some(oob) = oob {
            entry.newest_time = oob.time;
            break;
        }
    }
    Ok(entry)
}
