//! Work left by the chip's failures, and whether the layer still takes writes.
//!
//! Invariant: a block is listed as condemned exactly while its state in the table of blocks is
//! *condemned*; the lists are empty until something fails; `writable` is 0 exactly while the layer is
//! read-only.
//!
//! *End of life.* A bank has to hold its share of the logical pages, the reserve, and a block of garbage
//! for each open one (see `banks`). The layer becomes read-only, permanently, when the blocks left are
//! too few for that, or when the room left is too small to collect anything, as can happen after several
//! failed programs at a time. From the first failure on the host never takes the reserve.

use alloc::{collections::VecDeque, vec::Vec};

use thermocline_flash::BlockId;

use super::banks::Banks;
use crate::EndOfLife;

/// A block that is not written any more and not empty yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condemned {
    pub(super) block: BlockId,
    pub(super) why: Why,
    /// All was moved but what cannot be read: it waits until the host has written or trimmed that.
    pub(super) waits: bool,
}

/// Why a block is condemned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// A program failed in it.
    ProgramFailed,
    /// Reading it needs much correction.
    Ailing,
    /// A survivor could not be read.
    HoldsUnreadable,
}

/// Whether the layer takes writes, and why not.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// Blocks that hold data and take no more writes. They are few, so scanning them once for each
    /// opened block costs little.
    condemned: Vec<Condemned>,
    /// Blocks whose reads needed much correction, with their erase counts at the time.
    ailing: VecDeque<(BlockId, u32)>,
    /// Retired blocks that are not marked bad on the chip yet.
    unmarked: Vec<BlockId>,
    /// Whether anything failed since the layer was built: free blocks may be fewer than the reserve,
    /// and the host does not take them.
    any: bool,
    /// Whether a crash used up more than the reserve, which is not refilled yet.
    lacks_reserve: bool,
    /// Whether a write found no room for all the failures.
    exhausted: bool,
    /// Whether the index log has no block left to be written.
    log_exhausted: bool,
    /// Whether the page that was programmed last before the mount may fade, and nothing was changed since.
    last_may_fade: bool,
    /// Whether the blocks that are left are too few.
    is_over: bool,
    /// Whether programs went on failing on a read-only layer: nothing is moved any more.
    frozen: bool,
    /// Logical pages below this number may be written: all pages, or none.
    writable: u32,
    logical_pages: u32,
}

impl Failures {
    /// Nothing failed.
    pub(super) fn new(logical_pages: u32) -> Self {
        Self { writable: logical_pages, logical_pages, ..Self::default() }
    }

    /// Logical pages below this number may be written.
    #[inline(always)]
    pub(super) const fn writable(&self) -> u32 {
        self.writable
    }

    /// Whether the layer takes no writes.
    pub(super) const fn is_read_only(&self) -> bool {
        self.writable == 0 && !self.last_may_fade
    }

    /// The page that was programmed last may fade: the first change waits for it, or need not any more.
    pub(super) const fn last_may_fade(&mut self, may_fade: bool) {
        self.last_may_fade = may_fade;
        self.settle();
    }

    /// Whether work is due before free space may be relied on.
    #[inline(always)]
    pub(super) const fn is_pending(&self) -> bool {
        !self.condemned.is_empty() || !self.unmarked.is_empty()
    }

    /// Whether anything failed since the layer was built.
    pub(super) const fn any(&self) -> bool {
        self.any
    }

    /// Something failed.
    pub(super) const fn happened(&mut self) {
        self.any = true;
    }

    /// Whether nothing is moved any more.
    pub(super) const fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Nothing is moved any more.
    pub(super) const fn freeze(&mut self) {
        self.frozen = true;
    }

    // Whether it takes writes.

    /// Takes writes only if the banks can hold all logical pages.
    pub(super) fn judge(&mut self, banks: &Banks) {
        self.is_over = !banks.can_hold_all() || self.exhausted || self.log_exhausted;
        self.settle();
    }

    const fn settle(&mut self) {
        let waits = self.lacks_reserve || self.last_may_fade;
        self.writable = if self.is_over || waits { 0 } else { self.logical_pages };
    }

    /// A write found no room for all the failures.
    pub(super) fn exhausted(&mut self, banks: &Banks) {
        self.exhausted = true;
        self.judge(banks);
    }

    /// The index log has no block left: no trim and no checkpoint can be written any more.
    #[cold]
    pub(super) const fn log_exhausted(&mut self) {
        (self.log_exhausted, self.is_over) = (true, true);
        self.settle();
    }

    /// After a mount: the host may have to wait until there is the reserve again.
    pub(super) fn after_mount(&mut self, banks: &Banks, is_short: bool) {
        self.any = is_short;
        self.lacks_reserve = banks.iter().any(|bank| bank.free_pages() < banks.reserve_pages());
        self.judge(banks);
        // A chip that is worn out may have less than the reserve.
        self.any |= self.is_read_only();
    }

    /// Whether writes are refused only because a crash cost more than the reserve. The layer takes them
    /// then, until it [turns out](Self::lacks_reserve) that the reserve cannot be made up.
    pub(super) fn forgive_reserve(&mut self, banks: &Banks) -> bool {
        if self.log_exhausted || !core::mem::take(&mut self.lacks_reserve) {
            return false;
        }
        self.judge(banks);
        true
    }

    /// There is less than the reserve after a crash, and it could not be made up.
    pub(super) fn lacks_reserve(&mut self, banks: &Banks) {
        self.lacks_reserve = true;
        self.judge(banks);
    }

    /// Why the layer takes no writes any more, if that is so.
    pub(super) fn end_of_life(&self) -> Option<EndOfLife> {
        if self.log_exhausted {
            return Some(EndOfLife::IndexLog);
        }
        self.is_over.then_some(EndOfLife::Blocks)
    }

    // Pending work.

    /// The condemned blocks, the newest last.
    pub(super) fn condemned(&self) -> &[Condemned] {
        &self.condemned
    }

    /// Lists a block as condemned: it takes no writes before it is emptied.
    pub(super) fn condemn(&mut self, block: BlockId, why: Why) {
        self.condemned.push(Condemned { block, why, waits: false });
    }

    /// All that can be read of a condemned block was moved.
    pub(super) fn wait(&mut self, i: usize) {
        self.condemned[i].waits = true;
    }

    /// A condemned block is empty.
    pub(super) fn emptied(&mut self, i: usize) {
        self.condemned.remove(i);
    }

    /// Reading a block needs much correction; it was erased so often.
    pub(super) fn add_ailing(&mut self, block: BlockId, erases: u32) {
        self.ailing.push_back((block, erases));
    }

    /// Blocks whose reads needed much correction, with their erases then, the oldest first.
    pub(super) const fn ailing(&self) -> &VecDeque<(BlockId, u32)> {
        &self.ailing
    }

    /// The block at that turn of [`ailing`](Self::ailing) is being scrubbed, or needs it no more.
    pub(super) fn remove_ailing(&mut self, turn: usize) {
        self.ailing.remove(turn);
    }

    /// Lists a retired block to be marked bad.
    pub(super) fn retire(&mut self, block: BlockId) {
        self.unmarked.push(block);
    }

    /// A retired block that is not marked bad yet.
    pub(super) fn unmarked(&self) -> Option<BlockId> {
        self.unmarked.last().copied()
    }

    /// That block is marked now.
    pub(super) fn marked(&mut self) {
        self.unmarked.pop();
    }
}
