//! A victim that is cleaned in steps.
//!
//! It is full, and in no index. Pages that the host overwrites, trims or marks in it meanwhile are not moved. On the
//! chip it is like any full block: after a loss of power it is one, with fewer survivors.

use alloc::vec::Vec;

use thermocline_flash::{BlockId, Lpn};

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
    /// The most copies after one page of the host.
    most: u64,
    /// Pages that the host may write until one pays.
    unpaid: u32,
    /// The pages that were current in it when they were listed, in physical order; and the stream of each, if it is known.
    listed: Vec<Lpn>,
    streams: Vec<u8>,
    /// Those of the list that were passed.
    passed: usize,
    /// Survivors moved so far.
    moved: u32,
    /// Pages that the last victim gave, or gives.
    gain: u32,
}

impl Partial {
    pub(super) fn none(pages: u32) -> Self {
        Self {
            block: BlockId::NONE,
            to: To::Ask,
            most: 0,
            unpaid: 1,
            listed: Vec::with_capacity(pages as usize),
            streams: Vec::with_capacity(pages as usize),
            passed: 0,
            moved: 0,
            gain: pages,
        }
    }

    #[inline(always)]
    pub(super) fn is_some(&self) -> bool {
        self.block != BlockId::NONE
    }

    #[inline(always)]
    pub(super) const fn block(&self) -> BlockId {
        self.block
    }

    #[inline(always)]
    pub(super) const fn to(&self) -> To {
        self.to
    }

    #[inline(always)]
    pub(super) const fn most(&self) -> u64 {
        self.most
    }

    /// At least 1.
    #[inline(always)]
    pub(super) const fn unpaid(&self) -> u32 {
        self.unpaid
    }

    /// Sets the number of pages up to and including the next that pays.
    #[inline(always)]
    pub(super) fn set_unpaid(&mut self, pages: u32) {
        self.unpaid = pages.max(1);
    }

    #[inline(always)]
    pub(super) const fn moved(&self) -> u32 {
        self.moved
    }

    /// A block is the victim from now on: its survivors, and the stream of each, which counts only if it is known.
    pub(super) fn begin(
        &mut self,
        block: BlockId,
        pages: u32,
        to: To,
        most: u64,
        survivors: (&[Lpn], &[u8]),
    ) {
        (self.block, self.to, self.most, self.moved, self.passed) = (block, to, most, 0, 0);
        let (lpns, streams) = survivors;
        self.gain = pages - lpns.len() as u32;
        self.listed.clear();
        self.listed.extend_from_slice(lpns);
        self.streams.clear();
        if to == To::Known {
            self.streams.extend_from_slice(streams);
        }
    }

    /// The next pages of the list, as many as there are up to a number.
    #[inline(always)]
    pub(super) fn coming(&self, pages: usize) -> &[Lpn] {
        let rest = &self.listed[self.passed..];
        &rest[..pages.min(rest.len())]
    }

    /// The streams of the next pages of the list.
    #[inline(always)]
    pub(super) fn coming_streams(&self) -> &[u8] {
        self.streams.get(self.passed..).unwrap_or(&[])
    }

    /// Advances in the list.
    #[inline(always)]
    pub(super) const fn pass(&mut self, pages: usize) {
        self.passed += pages;
    }

    /// Keeps the pages of the list that are not passed and are current.
    pub(super) fn retain(&mut self, is_current: impl Fn(Lpn) -> bool) {
        let mut kept = 0;
        for at in self.passed..self.listed.len() {
            self.listed[kept] = self.listed[at];
            if let Some(&stream) = self.streams.get(at) {
                self.streams[kept] = stream;
            }
            kept += usize::from(is_current(self.listed[kept]));
        }
        self.passed = 0;
        self.listed.truncate(kept);
        self.streams.truncate(kept);
    }

    /// Lists the survivors again. A newly listed one goes to the victim's own stream.
    pub(super) fn list_again(&mut self, survivors: impl Iterator<Item = Lpn>, own: u8) {
        let listed: Vec<Lpn> = survivors.collect();
        if self.to == To::Known {
            let known = |lpn| self.listed.iter().position(|&before| before == lpn);
            let stream = |lpn| known(lpn).and_then(|at| self.streams.get(at)).copied();
            self.streams = listed.iter().map(|&lpn| stream(lpn).unwrap_or(own)).collect();
        }
        (self.listed, self.passed) = (listed, 0);
    }

    /// Pages that the last victim gave, or gives.
    #[inline(always)]
    pub(super) fn gain(&self) -> u64 {
        self.gain.into()
    }

    /// Counts moved survivors.
    #[inline(always)]
    pub(super) const fn moved_more(&mut self, pages: u32) {
        self.moved += pages;
    }

    /// There is no victim any more.
    pub(super) const fn end(&mut self) {
        self.block = BlockId::NONE;
    }
}
