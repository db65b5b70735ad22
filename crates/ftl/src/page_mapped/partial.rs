//! A victim that is cleaned in steps.
//!
//! It is full, and in no index. What the host writes, trims or has marked in it meanwhile is not moved. Nothing on the
//! chip tells it from another full block: after a loss of power it is one, with fewer survivors.

use alloc::{boxed::Box, vec};

use thermocline_flash::BlockId;

/// Where survivors of a victim go; the placement was asked when it was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    /// All to one stream.
    One(u8),
    /// Each to a stream that is known.
    Known,
    /// The placement wants to be asked about each when it is moved.
    Ask,
}

/// The victim of a bank that is cleaned in steps, or none.
pub(super) struct Partial {
    block: BlockId,
    to: To,
    /// The page at which the next step begins to look.
    next: u32,
    /// Survivors moved so far.
    moved: u32,
    /// The stream of each page, where it is known.
    streams: Box<[u8]>,
}

impl Partial {
    pub(super) fn none(pages: u32) -> Self {
        let streams = vec![0; pages as usize].into_boxed_slice();
        Self { block: BlockId::NONE, to: To::Ask, next: 0, moved: 0, streams }
    }

    pub(super) fn is_some(&self) -> bool {
        self.block != BlockId::NONE
    }

    pub(super) const fn block(&self) -> BlockId {
        self.block
    }

    pub(super) const fn to(&self) -> To {
        self.to
    }

    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    pub(super) const fn moved(&self) -> u32 {
        self.moved
    }

    /// The stream of a page, where it is known.
    pub(super) fn stream(&self, page: u32) -> u8 {
        self.streams[page as usize]
    }

    /// A block is the victim from now on.
    pub(super) fn begin(&mut self, block: BlockId, to: To) {
        (self.block, self.to, self.next, self.moved) = (block, to, 0, 0);
    }

    /// The streams of survivors are known.
    pub(super) fn know(&mut self, streams: impl Iterator<Item = (u32, u8)>) {
        for (page, stream) in streams {
            self.streams[page as usize] = stream;
        }
    }

    /// The next step begins to look at that page.
    pub(super) const fn go_to(&mut self, page: u32) {
        self.next = page;
    }

    /// The next step begins to look at the first page.
    pub(super) const fn rewind(&mut self) {
        self.next = 0;
    }

    /// So many more survivors were moved.
    pub(super) const fn moved_more(&mut self, pages: u32) {
        self.moved += pages;
    }

    /// There is no victim any more.
    pub(super) const fn end(&mut self) {
        self.block = BlockId::NONE;
    }
}
