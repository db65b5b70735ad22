//! First-in-first-out queues of erase blocks, for placements with their own cleaning order.
//!
//! The links are in one array indexed by block, so a block leaves the middle of its queue in one
//! step and nothing is allocated while a device runs. Memory: 12 bytes a block.

use alloc::{vec, vec::Vec};

use thermocline_flash::BlockId;

use crate::{BlockView, State};

const NONE: u32 = u32::MAX;

/// A block's queue and its neighbours in it.
#[derive(Clone, Copy, Debug)]
struct Link {
    queue: u32,
    prev: u32,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
    len: u32,
}

/// Queues of blocks. A block is in at most one of them.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    links: Vec<Link>,
    ends: Vec<Ends>,
}

impl Queues {
    pub(super) fn new(blocks: u32, queues: u32) -> Self {
        Self {
            links: vec![Link { queue: NONE, prev: NONE, next: NONE }; blocks as usize],
            ends: vec![Ends { first: NONE, last: NONE, len: 0 }; queues as usize],
        }
    }

    /// The queue of a block.
    pub(super) fn of(&self, block: BlockId) -> Option<u32> {
        let queue = self.links[block.index()].queue;
        (queue != NONE).then_some(queue)
    }

    pub(super) fn len(&self, queue: u32) -> u32 {
        self.ends[queue as usize].len
    }

    /// The oldest entry of a queue.
    pub(super) fn front(&self, queue: u32) -> Option<BlockId> {
        let first = self.ends[queue as usize].first;
        (first != NONE).then_some(BlockId(first))
    }

    /// The oldest full block of a queue. Wear levelling empties blocks without notice; those are
    /// dropped when they reach the head.
    pub(super) fn oldest(&mut self, queue: u32, blocks: &BlockView) -> Option<BlockId> {
        while let Some(block) = self.front(queue) {
            if matches!(blocks.block(block).state, State::Closed | State::Aside) {
                return Some(block);
            }
            self.remove(block);
        }
        None
    }

    /// The oldest block with garbage. At most `most` blocks before it move to the end, as if
    /// cleaned without copying a page.
    pub(super) fn first_with_garbage(
        &mut self,
        queue: u32,
        blocks: &BlockView,
        most: u32,
    ) -> Option<BlockId> {
        for _ in 0..=most {
            let block = self.oldest(queue, blocks)?;
            if blocks.has_garbage(block) {
                return Some(block);
            }
            self.push(queue, block);
        }
        None
    }

    /// Removes a block from its queue, if any, and appends it to `queue`.
    pub(super) fn push(&mut self, queue: u32, block: BlockId) {
        self.remove(block);
        let ends = &mut self.ends[queue as usize];
        let prev = core::mem::replace(&mut ends.last, block.0);
        ends.len += 1;
        match prev {
            NONE => ends.first = block.0,
            _ => self.links[prev as usize].next = block.0,
        }
        self.links[block.index()] = Link { queue, prev, next: NONE };
    }

    /// Removes a block from its queue, if any.
    pub(super) fn remove(&mut self, block: BlockId) {
        let Link { queue, prev, next } = self.links[block.index()];
        if queue == NONE {
            return;
        }
        let ends = &mut self.ends[queue as usize];
        ends.len -= 1;
        match prev {
            NONE => ends.first = next,
            _ => self.links[prev as usize].next = next,
        }
        match next {
            NONE => ends.last = prev,
            _ => self.links[next as usize].prev = prev,
        }
        self.links[block.index()] = Link { queue: NONE, prev: NONE, next: NONE };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_leave_in_the_order_they_came_and_from_the_middle() {
        let mut queues = Queues::new(5, 2);
        for block in [3, 1, 4] {
            queues.push(0, BlockId(block));
        }
        queues.push(1, BlockId(1));
        queues.remove(BlockId(2));
        assert_eq!((queues.len(0), queues.len(1), queues.front(0)), (2, 1, Some(BlockId(3))));
        queues.remove(BlockId(3));
        assert_eq!((queues.front(0), queues.of(BlockId(1))), (Some(BlockId(4)), Some(1)));
        queues.remove(BlockId(4));
        assert_eq!((queues.front(0), queues.len(0), queues.of(BlockId(4))), (None, 0, None));
    }
}
