//! What the areas beside a block's pages say, for the table of blocks in a checkpoint.
//!
//! What always holds: an entry is of a block that was not erased since, and that was full, or
//! unused, when it was looked at.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Flash, FlashError};
use thermocline_policy::State;

use crate::page_mapped::{
    banks::Banks, index::record::BlockEntry, shape::Shape, watermark::program_number,
};

/// Blocks that were looked at since they were erased.
pub(super) struct Surveys(Vec<Option<BlockEntry>>);

impl Surveys {
    /// None of so many was looked at.
    pub(super) fn new(blocks: u32) -> Self {
        Self(vec![None; blocks as usize])
    }

    /// Bytes of it.
    pub(super) const fn memory(&self) -> usize {
        self.0.capacity() * size_of::<Option<BlockEntry>>()
    }

    /// What is known of a block; nothing in particular if it was not looked at.
    pub(super) fn entry(&self, block: BlockId) -> BlockEntry {
        self.0[block.index()].unwrap_or_default()
    }

    /// A mount has looked at a full block.
    pub(super) fn set(&mut self, block: BlockId, entry: BlockEntry) {
        self.0[block.index()] = Some(entry);
    }

    /// A block was erased, or may be written on: nothing is known of it. Blocks of the log have no entry.
    pub(super) fn forget(&mut self, block: BlockId) {
        if let Some(entry) = self.0.get_mut(block.index()) {
            *entry = None;
        }
    }

    /// Looks at blocks that were not looked at since they were erased.
    pub(super) fn look_at<C: Flash>(
        &mut self,
        chip: &mut C,
        banks: &Banks,
        blocks: impl Iterator<Item = BlockId>,
    ) -> Result<(), FlashError> {
        for block in blocks {
            if self.0[block.index()].is_none() {
                let entry = match banks.block(block).state {
                    State::Free | State::Unusable => BlockEntry::default(),
                    State::Open | State::Closed | State::Aside | State::Condemned => {
                        survey(chip, banks, block)?
                    }
                };
                self.0[block.index()] = Some(entry);
            }
        }
        Ok(())
    }

    /// Forgets blocks that are not full: they change without being erased.
    pub(super) fn keep_full(&mut self, banks: &Banks, blocks: impl Iterator<Item = BlockId>) {
        for block in blocks {
            let state = banks.block(block).state;
            if !matches!(state, State::Closed | State::Aside | State::Condemned) {
                self.forget(block);
            }
        }
    }
}

/// What the areas of a block say, as far as it is programmed.
fn survey<C: Flash>(chip: &mut C, banks: &Banks, block: BlockId) -> Result<BlockEntry, FlashError> {
    let shape = Shape::of(chip.geometry());
    let bank = &banks[banks.bank_of(block)];
    let end = bank.stream_of(block).map_or(shape.pages(), |stream| bank.open(stream).programmed());
    let mut entry = BlockEntry::default();
    let mut look = |page: u32| match chip.read_oob(shape.data_page(block, page)) {
        Ok(oob) => Ok((oob.is_some(), oob)),
        Err(FlashError::Unreadable(_)) => Ok((true, None)),
        Err(e) => Err(e),
    };
    for page in 0..end {
        if let (_, Some(oob)) = look(page)? {
            (entry.first_sequence, entry.stream) = (program_number(oob.sequence), oob.stream);
            break;
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
