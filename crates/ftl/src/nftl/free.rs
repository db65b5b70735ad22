//! Erased blocks: the first in an order, and any one of them on demand.

use alloc::{vec, vec::Vec};

use thermocline_flash::BlockId;
use thermocline_policy::{Lowest, nftl::FreeOrder};

/// A queue of blocks by links, so that wear levelling can take one from its midst.
#[derive(Clone, Debug)]
pub(super) struct FreeList {
    /// Of each block the one before and the one behind.
    links: Vec<(BlockId, BlockId)>,
    first: BlockId,
    last: BlockId,
    len: u32,
    /// Whether erased blocks go to the front.
    is_stack: bool,
    /// The blocks by number, where the lowest is taken.
    lowest: Option<Lowest>,
}

impl FreeList {
    /// An empty queue for blocks less than `blocks`.
    pub(super) fn new(blocks: usize, order: FreeOrder) -> Self {
        Self {
            links: vec![(BlockId::NONE, BlockId::NONE); blocks],
            first: BlockId::NONE,
            last: BlockId::NONE,
            len: 0,
            is_stack: order == FreeOrder::Lifo,
            lowest: (order == FreeOrder::Lowest).then(|| Lowest::new(blocks)),
        }
    }

    pub(super) const fn len(&self) -> u32 {
        self.len
    }

    /// The block to be taken next.
    pub(super) fn first(&self) -> Option<BlockId> {
        match &self.lowest {
            Some(lowest) => lowest.lowest().map(BlockId),
            None => (self.len > 0).then_some(self.first),
        }
    }

    /// A block was erased.
    pub(super) fn push(&mut self, block: BlockId) {
        if !self.is_stack || self.len == 0 {
            return self.push_back(block);
        }
        self.links[block.index()] = (BlockId::NONE, self.first);
        self.links[self.first.index()].0 = block;
        self.first = block;
        self.len += 1;
    }

    /// A block is the last to be taken, by any order but that of numbers.
    pub(super) fn push_back(&mut self, block: BlockId) {
        if let Some(lowest) = &mut self.lowest {
            lowest.insert(block.0);
        }
        self.links[block.index()] = (self.last, BlockId::NONE);
        match self.last {
            BlockId::NONE => self.first = block,
            last => self.links[last.index()].1 = block,
        }
        self.last = block;
        self.len += 1;
    }

    /// Takes out a block that is in the queue.
    pub(super) fn remove(&mut self, block: BlockId) {
        if let Some(lowest) = &mut self.lowest {
            lowest.remove(block.0);
        }
        let (before, behind) = self.links[block.index()];
        match before {
            BlockId::NONE => self.first = behind,
            before => self.links[before.index()].1 = behind,
        }
        match behind {
            BlockId::NONE => self.last = before,
            behind => self.links[behind.index()].0 = before,
        }
        self.len -= 1;
    }

    /// All blocks, from the front of the queue.
    pub(super) fn iter(&self) -> impl Iterator<Item = BlockId> + Clone {
        core::iter::successors((self.len > 0).then_some(self.first), |block| {
            Some(self.links[block.index()].1).filter(|next| *next != BlockId::NONE)
        })
    }
}
