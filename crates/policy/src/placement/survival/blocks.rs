//! Full blocks by age: those of a bank in the order they closed, and the start of each bin.
//!
//! The oldest block of a bin becomes the youngest of the next one. The order does not change, only
//! the bounds of the two bins. So a block that changes bins touches only itself and its successor.
//!
//! Memory: 64 bytes a block, one cache line.

use alloc::{vec, vec::Vec};
use core::ops::{Index, IndexMut};

use thermocline_flash::{BlockId, prefetch};

use super::ages::{BINS, Bins};

/// The bin of blocks that closed since the last choice. Their valid pages have not been counted.
pub(super) const CLOSED: u8 = BINS as u8;
/// The bin of blocks that are not full.
pub(super) const NOWHERE: u8 = CLOSED + 1;
/// No block.
const NONE: u32 = u32::MAX;

/// State of a full block.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Block {
    /// Time of the first and the last page write. Both are the mean if the block has survivors.
    pub first: u64,
    pub last: u64,
    pub closed: u64,
    /// Its factor in the index.
    pub weight: f64,
    /// Time of the last observation, and the number of valid pages then.
    pub looked: u64,
    pub valid: u32,
    /// The blocks that closed before and after it.
    older: u32,
    younger: u32,
    pub bin: u8,
    pub stream: u8,
}

/// The full blocks of a bank.
#[derive(Clone, Debug)]
struct Bank {
    /// The oldest block of each bin.
    fronts: [u32; BINS + 1],
    /// When that block leaves the bin. [`CLOSED`] is emptied at the next choice.
    due: [u64; BINS],
    youngest: u32,
}

/// All blocks, and the order of the full ones.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    banks: Vec<Bank>,
    bins: Bins,
}

impl Index<BlockId> for Blocks {
    type Output = Block;

    #[inline(always)]
    fn index(&self, block: BlockId) -> &Block {
        &self.blocks[block.index()]
    }
}

impl IndexMut<BlockId> for Blocks {
    #[inline(always)]
    fn index_mut(&mut self, block: BlockId) -> &mut Block {
        &mut self.blocks[block.index()]
    }
}

impl Blocks {
    pub(super) fn new(blocks: u32, banks: u32, bins: Bins) -> Self {
        let unseen = Block {
            first: 0,
            last: 0,
            closed: 0,
            weight: 1.0,
            looked: 0,
            valid: 0,
            older: NONE,
            younger: NONE,
            bin: NOWHERE,
            stream: 0,
        };
        let bank = Bank { fronts: [NONE; BINS + 1], due: [u64::MAX; BINS], youngest: NONE };
        Self { blocks: vec![unseen; blocks as usize], banks: vec![bank; banks as usize], bins }
    }

    /// The oldest block of a bin.
    #[inline(always)]
    pub(super) fn front(&self, bank: u32, bin: u8) -> Option<BlockId> {
        let front = self.banks[bank as usize].fronts[usize::from(bin)];
        (front != NONE).then_some(BlockId(front))
    }

    /// When the oldest block of each bin leaves it; the maximum if the bin is empty.
    #[inline(always)]
    pub(super) fn due(&self, bank: u32) -> &[u64; BINS] {
        &self.banks[bank as usize].due
    }

    /// Prefetches the block that closed after this one.
    #[inline(always)]
    pub(super) fn prefetch_younger(&self, block: BlockId) {
        prefetch(&self.blocks, self[block].younger as usize);
    }

    /// Makes a block without a bin the youngest of one.
    pub(super) fn push(&mut self, bank: u32, bin: u8, block: BlockId) {
        // Later bins hold older blocks. Blocks that have just closed are the youngest.
        let own = &self.banks[bank as usize];
        let younger = if bin == CLOSED {
            NONE
        } else {
            let bins = (0..bin).rev().chain([CLOSED]);
            bins.map(|bin| own.fronts[usize::from(bin)])
                .find(|&front| front != NONE)
                .unwrap_or(NONE)
        };
        let older = match younger {
            NONE => own.youngest,
            _ => self.blocks[younger as usize].older,
        };
        if older != NONE {
            self.blocks[older as usize].younger = block.0;
        }
        match younger {
            NONE => self.banks[bank as usize].youngest = block.0,
            _ => self.blocks[younger as usize].older = block.0,
        }
        let new = &mut self[block];
        (new.older, new.younger, new.bin) = (older, younger, bin);
        if self.front(bank, bin).is_none() {
            self.set_front(bank, bin, block.0);
        }
    }

    /// Moves the oldest block of a bin to the next bin, as its youngest.
    #[inline(always)]
    pub(super) fn advance(&mut self, bank: u32, block: BlockId) {
        let own = &mut self.blocks[block.index()];
        let (from, younger) = (own.bin, own.younger);
        let to = if from == CLOSED { 0 } else { from + 1 };
        own.bin = to;
        self.succeed(bank, from, younger);
        if self.front(bank, to).is_none() {
            self.set_front(bank, to, block.0);
        }
    }

    /// Removes a block that is no longer full, if it was.
    pub(super) fn remove(&mut self, bank: u32, block: BlockId) {
        let Block { older, younger, bin, .. } = self[block];
        if bin == NOWHERE {
            return;
        }
        self[block].bin = NOWHERE;
        if self.front(bank, bin) == Some(block) {
            self.succeed(bank, bin, younger);
        }
        if older != NONE {
            self.blocks[older as usize].younger = younger;
        }
        match younger {
            NONE => self.banks[bank as usize].youngest = older,
            _ => self.blocks[younger as usize].older = older,
        }
    }

    /// Wear levelling moved a block's data to another, which becomes the youngest of their bin.
    pub(super) fn replace(&mut self, bank: u32, old: BlockId, new: BlockId) {
        let own = self[old];
        self.remove(bank, old);
        self.remove(bank, new);
        self[new] = Block { bin: NOWHERE, ..own };
        if own.bin != NOWHERE {
            self.push(bank, own.bin, new);
        }
    }

    /// After the oldest block left a bin, makes the next one the oldest, if it is in the same bin.
    #[inline(always)]
    fn succeed(&mut self, bank: u32, bin: u8, younger: u32) {
        let is_in_bin = self.blocks.get(younger as usize).is_some_and(|block| block.bin == bin);
        self.set_front(bank, bin, if is_in_bin { younger } else { NONE });
    }

    #[inline(always)]
    fn set_front(&mut self, bank: u32, bin: u8, front: u32) {
        let closed = self.blocks.get(front as usize).map(|block| block.closed);
        let own = &mut self.banks[bank as usize];
        own.fronts[usize::from(bin)] = front;
        if let Some(due) = own.due.get_mut(usize::from(bin)) {
            let next = usize::from(bin) + 1;
            *due = match closed {
                Some(closed) if next < BINS => closed + self.bins.start(next),
                _ => u64::MAX,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn bins_are_queues_whatever_joins_and_leaves() {
        let bins = Bins::new(4);
        let (mut blocks, bank) = (Blocks::new(120, 2, bins), 1);
        let mut queues = std::vec![VecDeque::new(); BINS + 1];
        let mut draw = 1_u64;
        for step in 0..20_000_u64 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let block = BlockId((draw >> 33) as u32 % 60 + 60);
            let bin = blocks[block].bin;
            match draw >> 61 {
                _ if bin == NOWHERE => {
                    // One block in eight replaces another, in any bin.
                    let bin = if draw >> 61 == 0 { (draw >> 40) as u8 % 12 } else { CLOSED };
                    blocks[block].closed = step;
                    blocks.push(bank, bin, block);
                    queues[usize::from(bin)].push_back(block);
                }
                0 => {
                    blocks.remove(bank, block);
                    queues[usize::from(bin)].retain(|&other| other != block);
                }
                _ if bin < 12 || bin == CLOSED => {
                    let front = queues[usize::from(bin)].pop_front().expect("the block is in it");
                    blocks.advance(bank, front);
                    let to = if bin == CLOSED { 0 } else { bin + 1 };
                    queues[usize::from(to)].push_back(front);
                }
                _ => {}
            }
            for (bin, queue) in (0_u8..).zip(&queues) {
                assert_eq!(blocks.front(bank, bin), queue.front().copied(), "{bin} after {step}");
                assert_eq!(blocks.front(0, bin), None, "the other bank's");
                assert!(queue.iter().all(|&block| blocks[block].bin == bin), "{bin} after {step}");
            }
            for (bin, &due) in blocks.due(bank).iter().enumerate() {
                let front = queues[bin].front().filter(|_| bin + 1 < BINS);
                let known = front.map(|&block| blocks[block].closed + bins.start(bin + 1));
                assert_eq!(due, known.unwrap_or(u64::MAX), "{bin} after {step}");
            }
        }
    }
}
