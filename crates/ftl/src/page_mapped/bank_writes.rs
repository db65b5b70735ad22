//! A bank during a run of host writes: the fields that these change, borrowed once for the run, as those of the
//! [table of blocks](Writes) are.

use thermocline_flash::{BlockId, Ppn};
use thermocline_policy::{Writes, placement::Place};

use super::open_block::{OpenBlock, Target};
use crate::shape::Shape;

/// The fields of a [`Bank`](super::bank::Bank) that host writes change.
pub(super) struct BankWrites<'a> {
    pub(super) number: u32,
    pub(super) shape: Shape,
    pub(super) blocks: Writes<'a>,
    pub(super) open: &'a mut [OpenBlock],
    pub(super) live: &'a mut u32,
}

impl BankWrites<'_> {
    /// The place of a page's data, as a placement sees it.
    #[inline(always)]
    pub(super) fn place(&self, at: Ppn) -> Place {
        let block = self.shape.block_of(at);
        let stream = self.blocks.stream(block);
        let next = self.open[usize::from(stream)].programmed();
        Place { bank: self.number, block, stream, page: self.shape.page_of(at), next }
    }

    /// Begins a run of single pages. The table of blocks is updated only at the [end](Self::end): an open block is no
    /// candidate, so only its last write and its number of pages matter.
    pub(super) fn begin(&mut self) {
        self.open.iter_mut().for_each(OpenBlock::all_counted);
    }

    /// The next page of a stream's open block, to be programmed with new data at `now`; nothing if the block is full.
    #[inline(always)]
    pub(super) fn take_if_room(&mut self, stream: usize, now: u64) -> Option<Target> {
        self.open[stream].take_if_room(now)
    }

    /// The page taken last from a stream's open block could not be programmed.
    pub(super) fn skip(&mut self, stream: usize) {
        self.open[stream].skip();
    }

    /// The table of blocks learns of the pages that were taken.
    pub(super) fn end(&mut self) {
        for open in &mut *self.open {
            let pages = open.count();
            if pages > 0 {
                self.blocks.wrote(open.block(), pages, open.last_written());
                *self.live = self.live.wrapping_add(pages);
            }
        }
    }

    /// Counts the pages last taken from a stream's open block as host writes, the last at `now`. Returns
    /// the block.
    #[inline(always)]
    pub(super) fn wrote(&mut self, stream: usize, pages: u32, now: u64) -> BlockId {
        let block = self.open[stream].block();
        self.blocks.wrote(block, pages, now);
        *self.live += pages;
        block
    }

    /// The data at `at` are no longer current.
    #[inline(always)]
    pub(super) fn invalidate(&mut self, at: Ppn, now: u64) {
        self.invalidate_in(self.shape.block_of(at), now);
    }

    /// A page of a block is no longer current.
    #[inline(always)]
    pub(super) fn invalidate_in(&mut self, block: BlockId, now: u64) {
        // Pages of the run that are no longer current are not counted yet.
        *self.live = self.live.wrapping_sub(1);
        self.blocks.invalidate(block, now);
    }

    /// Asks for the cache lines that superseding the data at `at` will need of the table of blocks.
    #[inline(always)]
    pub(super) fn prefetch(&self, at: Ppn) {
        self.blocks.prefetch(self.shape.block_of(at));
    }
}
