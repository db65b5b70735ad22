//! A stream's open block: the next page to program.
//!
//! Invariant: the pages before the next one are programmed, or a program of them failed in a
//! way that may have written them; the others are blank.

use crate::shape::Shape;
use thermocline_flash::{BlockId, Ppn};

/// A page about to be programmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) at: Ppn,
    /// Its place in the reverse map.
    pub(super) slot: usize,
}

impl Target {
    /// Page number `i` of a run that begins here.
    #[inline(always)]
    pub(super) const fn nth(self, i: usize) -> Self {
        Self { at: Ppn(self.at.0 + i as u32), slot: self.slot + i }
    }
}

/// The open block of a stream, or none, which counts as full.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenBlock {
    block: BlockId,
    /// Data pages programmed so far.
    next: u32,
    /// Those counted in the table of blocks, while that learns of pages in lots.
    counted: u32,
    pages: u32,
    /// Physical page of the first data page, and its place in the reverse map.
    first: Ppn,
    first_slot: u32,
    /// When the host wrote the last of those not counted yet.
    last: u64,
    /// When it wrote the youngest of the copies not counted yet, where the placement knows.
    youngest: Option<u64>,
}

impl OpenBlock {
    pub(super) const fn none(pages: u32) -> Self {
        Self {
            block: BlockId::NONE,
            next: pages,
            counted: pages,
            pages,
            first: Ppn::NONE,
            first_slot: 0,
            last: 0,
            youngest: None,
        }
    }

    /// A block with `programmed` data pages programmed.
    pub(super) const fn of(shape: &Shape, block: BlockId, programmed: u32) -> Self {
        Self {
            block,
            next: programmed,
            counted: programmed,
            pages: shape.pages(),
            first: shape.data_page(block, 0),
            first_slot: shape.first_slot(block) as u32,
            last: 0,
            youngest: None,
        }
    }

    /// The block, or [`BlockId::NONE`].
    #[inline(always)]
    pub(super) const fn block(&self) -> BlockId {
        self.block
    }

    /// Data pages programmed so far.
    #[inline(always)]
    pub(super) const fn programmed(&self) -> u32 {
        self.next
    }

    #[inline(always)]
    pub(super) const fn is_full(&self) -> bool {
        self.next == self.pages
    }

    pub(super) const fn room(&self) -> u32 {
        self.pages - self.next
    }

    /// The next page; the block must not be full.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Target {
        debug_assert!(!self.is_full(), "{:?} is full", self.block);
        let target = Target {
            at: Ppn(self.first.0 + self.next),
            slot: (self.first_slot + self.next) as usize,
        };
        self.next += 1;
        target
    }

    /// The next page, which the host writes at `now`, if there is one.
    #[inline(always)]
    pub(super) fn take_if_room(&mut self, now: u64) -> Option<Target> {
        if self.is_full() {
            return None;
        }
        self.last = now;
        Some(self.take())
    }

    /// Takes up to `most` next pages. Returns the first and the number taken.
    #[inline(always)]
    pub(super) fn take_run(&mut self, most: usize) -> (Target, u32) {
        let target = Target {
            at: Ppn(self.first.0.wrapping_add(self.next)),
            slot: (self.first_slot + self.next) as usize,
        };
        let count = self.room().min(u32::try_from(most).unwrap_or(u32::MAX));
        self.next += count;
        (target, count)
    }

    /// The page taken last was not programmed after all. Returns it.
    pub(super) const fn untake(&mut self) -> Ppn {
        self.next -= 1;
        Ppn(self.first.0 + self.next)
    }

    /// Nothing more is programmed into the block.
    pub(super) const fn fill(&mut self) {
        (self.next, self.counted) = (self.pages, self.pages);
    }

    /// All pages programmed so far are counted in the table of blocks.
    pub(super) const fn all_counted(&mut self) {
        self.counted = self.next;
    }

    /// The page taken last could not be programmed, and is not to be counted.
    pub(super) const fn skip(&mut self) {
        self.counted += 1;
    }

    /// When the host wrote the last of the pages not counted yet.
    pub(super) const fn last_written(&self) -> u64 {
        self.last
    }

    /// The host wrote the youngest of the copies taken last at this time.
    pub(super) fn date(&mut self, youngest: u64) {
        self.youngest = self.youngest.max(Some(youngest));
    }

    /// When it wrote the youngest of the copies that are being counted.
    pub(super) const fn take_youngest(&mut self) -> Option<u64> {
        self.youngest.take()
    }

    /// The pages programmed and not counted in the table of blocks yet; they count as counted now.
    pub(super) const fn count(&mut self) -> u32 {
        let new = self.next - self.counted;
        self.counted = self.next;
        new
    }
}
