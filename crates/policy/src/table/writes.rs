//! The table of blocks while the host writes one page after another.
//!
//! Problem. A host write changes a count of each of two blocks and looks at one node of the index. Through the table,
//! pointers and lengths of its columns are read again for each page: the compiler does not know that a stored count
//! changes none of them. Idea. The columns are borrowed for all the pages together. Consequence. What is borrowed stays
//! in registers, and the table cannot be asked for anything else meanwhile.

use thermocline_flash::{BlockId, prefetch};

use super::{
    BlockTable, BlockView,
    columns::{Block, Columns, Side, State},
    costs::Costs,
    tree::Tree,
    view::Index,
};

/// What host writes change of a [`BlockTable`].
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
    /// The table for as long as nothing but host writes changes it.
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

    /// Asks for the cache lines that invalidating a page of `block` will need.
    #[inline(always)]
    pub fn prefetch(&self, block: BlockId) {
        prefetch(&self.view.columns.blocks, self.at(block));
    }

    /// A page of an open block was programmed by the host.
    #[inline(always)]
    pub fn wrote(&mut self, block: BlockId, now: u64) {
        self.writes().wrote(block, 1, now);
    }

    /// A page of `block` is no longer current.
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

    /// The stream that a block was opened for.
    #[inline(always)]
    #[must_use]
    pub const fn stream(&self, block: BlockId) -> u8 {
        self.blocks[self.at(block)].stream
    }

    /// Asks for the cache lines that invalidating a page of `block` will need.
    #[inline(always)]
    pub fn prefetch(&self, block: BlockId) {
        prefetch(self.blocks, self.at(block));
    }

    /// Pages of an open block were programmed by the host, the last of them at `now`. The table may learn of it later
    /// than that they are [no longer current](Self::invalidate), while the block is open.
    #[inline(always)]
    pub fn wrote(&mut self, block: BlockId, pages: u32, now: u64) {
        let at = self.at(block);
        let b = &mut self.blocks[at];
        b.valid = b.valid.wrapping_add(pages);
        if self.stamps_writes {
            self.stamps[at] = now;
        }
    }

    /// A page of `block` is no longer current.
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
