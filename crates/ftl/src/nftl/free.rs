//! Erased blocks: first in, first out, and any one of them on demand.

use alloc::{vec, vec::Vec};

use thermocline_flash::BlockId;

/// A queue of blocks by links, so that wear levelling can take one from its midst.
#[derive(Clone, Debug)]
pub(super) struct FreeList {
    /// Of each block the one before and the one behind.
    links: Vec<(BlockId, BlockId)>,
    first: BlockId,
    last: BlockId,
    len: u32,
}

impl FreeList {
    /// An empty queue for blocks less than `blocks`.
    pub(super) fn new(blocks: usize) -> Self {
        Self {
            links: vec![(BlockId::NONE, BlockId::NONE); blocks],
            first: BlockId::NONE,
            last: BlockId::NONE,
            len: 0,
        }
    }

    pub(super) const fn len(&self) -> u32 {
        self.len
    }

    pub(super) const fn first(&self) -> Option<BlockId> {
        if self.len == 0 { None } else { Some(self.first) }
    }

    pub(super) fn push_back(&mut self, block: BlockId) {
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

    /// The blocks in the order in which they will be taken.
    pub(super) fn iter(&self) -> impl Iterator<Item = BlockId> + Clone {
        core::iter::successors(self.first(), |block| {
            Some(self.links[block.index()].1).filter(|next| *next != BlockId::NONE)
        })
    }
}
