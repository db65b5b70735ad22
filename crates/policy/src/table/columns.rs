//! What is known of each erase block of a bank, in columns by block.

use alloc::vec::Vec;

use super::{
    costs::Costs,
    tree::{Leaves, NO_BLOCK, Node},
};

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Erased, on the free list.
    Free,
    /// Being filled.
    Open,
    /// Full: a candidate as soon as a page of it is garbage.
    Closed,
    /// Full, but set aside: not in the index, for a placement keeps a queue of its own.
    Aside,
    /// Full, and a victim that is being cleaned in steps: no candidate, and its survivors become fewer.
    Emptying,
    /// Not to be written any more, but holding data that are on their way out, or cannot be read: never
    /// a candidate.
    Condemned,
    /// Not to be used: bad, or holding the layer's own records.
    Unusable,
}

/// What a policy may know of an erase block.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Pages whose data are current.
    pub valid: u32,
    /// Times erased.
    pub erases: u32,
    /// Its leaf in the tree, or its row of lists.
    pub(super) slot: u32,
    /// The stream it was opened for.
    pub stream: u8,
    /// What it is used for.
    pub state: State,
}

impl Block {
    /// The block, of that number and with these data pages, as a second index sees it.
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
    /// The time a block's age counts from, by the policy's age source.
    pub stamps: Vec<u64>,
    /// Block at each slot, or [`NO_BLOCK`].
    pub slots: Vec<u32>,
    /// Data pages in a block.
    pub pages: u32,
    pub costs: Costs,
}

impl Columns {
    /// A closed block as the index of victims sees it.
    #[inline(always)]
    pub fn node(&self, block: u32) -> Node {
        let valid = self.blocks[block as usize].valid;
        let weight = self.costs.weight(block, valid);
        Node::of(block, weight, self.stamps[block as usize], self.costs.terms(valid))
    }

    /// A closed block as a second index sees it: no ages, slots in block order.
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

/// What a second index puts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The least valid pages.
    LeastValid,
    /// The fewest erases.
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
