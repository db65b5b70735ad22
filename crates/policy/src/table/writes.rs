//! The table of blocks during consecutive host writes.
//!
//! Problem. A host write changes a count of each of two blocks and reads one node of the index.
//! Through the table, pointers and lengths of its columns are reloaded for each page, because the
//! compiler cannot prove that a stored count does not change them. Idea. The columns are borrowed
//! once for a run of pages. Consequence. They stay in registers, and the table is not accessible
//! otherwise meanwhile.

use thermocline_flash::{BlockId, prefetch};

use super::{
    BlockTable, BlockView,
    columns::{Block, Columns, Side, State},
    costs::Costs,
    tree::Tree,
    view::Index,
};

/// The parts of a [`BlockTable`] that host writes change.
#[derive(Debug)]
pub struct Writes<'a> {
    blocks: &'a mut [Block],
    stamps: &'a mut [u64],
    costs: &'a Costs,
    pages: u32,
    first: u32,
    index: &'a mut Index,
    side: Option<&'a mut (Side, Tree)>,
    stamps_writes: bool,
}

impl BlockTable {
    /// Borrows the table for a run of host writes.
    #[inline(always)]
    pub const fn writes(&mut self) -> Writes<'_> {
        let BlockView { columns, first, index, side, .. } = &mut self.view;
        let Columns { blocks, stamps, pages, costs, .. } = columns;
        Writes {
            blocks: blocks.as_mut_slice(),
            stamps: stamps.as_mut_slice(),
            costs,
            pages: *pages,
            first: *first,
            index,
            side: side.as_mut(),
            stamps_writes: self.stamps_writes,
        }
    }

    /// Prefetches what invalidating a page of `block` needs.
    #[inline(always)]
    pub fn prefetch(&self, block: BlockId) {
        prefetch(&self.view.columns.blocks, self.at(block));
    }

    /// The host programmed a page of an open block.
    #[inline(always)]
    pub fn wrote(&mut self, block: BlockId, now: u64) {
        self.writes().wrote(block, 1, now);
    }

    /// Invalidates a page of `block`.
    #[inline(always)]
    pub fn invalidate(&mut self, block: BlockId, now: u64) {
        self.writes().invalidate(block, now);
    }
}

impl Writes<'_> {
    #[inline(always)]
    const fn at(&self, block: BlockId) -> usize {
        (block.0 - self.first) as usize
    }

    /// The stream for which a block was opened.
    #[inline(always)]
    #[must_use]
    pub const fn stream(&self, block: BlockId) -> u8 {
        self.blocks[self.at(block)].stream
    }

    /// Prefetches what invalidating a page of `block` needs.
    #[inline(always)]
    pub fn prefetch(&self, block: BlockId) {
        prefetch(self.blocks, self.at(block));
    }

    /// The host programmed pages of an open block, the last of them at `now`. While the block is
    /// open, the call may come after some of them were [invalidated](Self::invalidate).
    #[inline(always)]
    pub fn wrote(&mut self, block: BlockId, pages: u32, now: u64) {
        let at = self.at(block);
        let b = &mut self.blocks[at];
        b.valid = b.valid.wrapping_add(pages);
        if self.stamps_writes {
            self.stamps[at] = now;
        }
    }

    /// Invalidates a page of `block`.
    #[inline(always)]
    pub fn invalidate(&mut self, block: BlockId, now: u64) {
        let at = self.at(block);
        let b = &mut self.blocks[at];
        b.valid = b.valid.wrapping_sub(1);
        let Block { valid, slot, state, .. } = *b;
        match self.index {
            Index::Tree(tree) => {
                let slot = slot as usize;
                if state == State::Closed && !self.costs.exceeds(at as u32, valid, tree.heed(slot))
                {
                    let weight = self.costs.weight(at as u32, valid);
                    let terms = self.costs.terms(valid);
                    tree.improve(slot, weight, at as u32, terms, || self.stamps[at]);
                }
            }
            Index::Lists(lists) => {
                self.stamps[at] = now;
                if state == State::Closed {
                    lists.fell(at as u32, slot, valid, self.stamps);
                }
            }
        }
        if state == State::Closed
            && let Some((side, tree)) = &mut self.side
        {
            let node = self.blocks[at].side_node(*side, at as u32, self.pages);
            tree.improve(at, node.weight, at as u32, node.terms, || 0);
        }
    }
}
