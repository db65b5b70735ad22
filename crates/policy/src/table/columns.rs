//! State of each erase block of a bank, in columns by block.

use alloc::vec::Vec;

use super::{
    costs::Costs,
    tree::{Leaves, NO_BLOCK, Node},
};

/// Use of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Erased, on the free list.
    Free,
    /// Being filled.
    Open,
    /// Full, and a candidate as soon as it has garbage.
    Closed,
    /// Full, but outside the index, because the placement has its own queue; or lent.
    Aside,
    /// Full, and a victim that is being cleaned in steps: not a candidate, with a shrinking number
    /// of survivors.
    Emptying,
    /// Not to be programmed again. Its data are being moved or cannot be read. Never a candidate.
    Condemned,
    /// Not usable: bad, or part of the layer's own records.
    Unusable,
}

/// What a policy may know about an erase block.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Valid pages.
    pub valid: u32,
    /// Erase count.
    pub erases: u32,
    /// Its leaf in the tree, or its row of lists.
    pub(super) slot: u32,
    /// The stream for which it was opened.
    pub stream: u8,
    /// Use of the block.
    pub state: State,
}

impl Block {
    /// The node of a block in a second index. `pages` is the number of data pages in a block.
    pub(super) fn side_node(&self, side: Side, block: u32, pages: u32) -> Node {
        let weight = match side {
            _ if self.valid == pages => f64::INFINITY,
            Side::LeastValid => f64::from(self.valid),
            Side::LeastErased => f64::from(self.erases),
        };
        Node::of(block, weight, 0, 0)
    }
}

/// The blocks of a bank, counted from its first.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub blocks: Vec<Block>,
    /// The time from which a block's age counts, by the policy's age source.
    pub stamps: Vec<u64>,
    /// The block at each slot, or [`NO_BLOCK`].
    pub slots: Vec<u32>,
    /// Data pages in a block.
    pub pages: u32,
    pub costs: Costs,
}

impl Columns {
    /// The node of a closed block in the victim index.
    #[inline(always)]
    pub fn node(&self, block: u32) -> Node {
        let valid = self.blocks[block as usize].valid;
        let weight = self.costs.weight(block, valid);
        Node::of(block, weight, self.stamps[block as usize], self.costs.terms(valid))
    }

    /// The node of a closed block in a second index: without ages, with slots in block order.
    pub fn side_node(&self, side: Side, block: u32) -> Node {
        self.blocks[block as usize].side_node(side, block, self.pages)
    }
}

impl Leaves for Columns {
    #[inline(always)]
    fn leaf(&self, slot: usize) -> Option<Node> {
        let block = self.slots[slot];
        let closed = block != NO_BLOCK && self.blocks[block as usize].state == State::Closed;
        closed.then(|| self.node(block))
    }
}

/// The order of a second index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Fewest valid pages first.
    LeastValid,
    /// Fewest erases first.
    LeastErased,
}

/// The leaves of a second index.
pub(super) struct SideLeaves<'a>(pub &'a Columns, pub Side);

impl Leaves for SideLeaves<'_> {
    fn leaf(&self, slot: usize) -> Option<Node> {
        let closed = self.0.blocks[slot].state == State::Closed;
        closed.then(|| self.0.side_node(self.1, slot as u32))
    }
}
