//! Cleaning that is paid for by the page: after each page that the host writes, what that page took is won back.
//!
//! Problem. Where victims are cleaned whole when a write needs a block, that write waits for all their survivors, while
//! those before it waited for none. Idea. The bank is kept at a *level* of free pages. A page of the host lowers it by
//! one; cleaning raises it, and of the block that a victim will become so much counts as free as the share of its
//! survivors that was moved:
//!
//! ```text
//! free pages + pages a block * moved / (moved + valid)
//! ```
//!
//! A victim of which `v` pages are valid and `g` are not gives `g` pages for `v` copies, so a page of the host pays `v / g`
//! copies. As pages die in a victim its share rises by itself, and less is owed. Consequence. The level is that of a
//! layer that cleans when it must: whenever an open block is full a free one is there.
//!
//! *Streams.* Each has an open block with some room, and all may become full at about the same time. The level has
//! half a block for each but one, which is what their rooms are in the mean. While the free pages are more than the
//! reserve has, a stream gets a free block although the reserve is not all in blocks: survivors find the rest in open
//! ones. Where no block is free a page of the host goes to another stream's open block, as survivors do.

use thermocline_flash::Chip;
use thermocline_policy::{
    placement::Placement,
    trigger::{Pacing, Trigger, Watermarks},
};

use super::{banks::Banks, config::Config, core::PageMapped, parts::Parts};
use crate::FtlError;

/// The most pages that one turn raises the level by, where it has fallen behind.
const MOST_RAISED: u64 = 2;

/// What pages of the host waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worst {
    /// Whether no victim is fuller than blocks are in the mean.
    takes_least: bool,
    /// Flash operations of the page that is being written, its own program aside.
    now: u64,
    /// The most of a page so far, its own program included.
    seen: u64,
}

impl Worst {
    pub(super) const fn of(takes_least: bool) -> Self {
        Self { takes_least, now: 0, seen: 0 }
    }

    /// Statistics begin.
    pub(super) const fn begin(&mut self) {
        (self.now, self.seen) = (0, 0);
    }

    /// The page that is being written took so many operations more.
    #[inline(always)]
    pub(super) fn add(&mut self, operations: u64) {
        self.now += operations;
        self.seen = self.seen.max(self.now + 1);
    }

    /// The next page begins.
    #[inline(always)]
    pub(super) const fn next(&mut self) {
        self.now = 0;
    }

    /// The most operations of a page; its program at least.
    pub(super) fn seen(&self) -> u64 {
        self.seen.max(1)
    }
}

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Whether victims are cleaned in steps.
    #[inline(always)]
    pub(super) const fn is_paced(&self) -> bool {
        self.is_paced
    }

    /// Wins back what a page of the host took.
    #[inline(never)]
    pub(super) fn pace(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        let before = self.own_operations();
        let done = self.raise(bank, now);
        self.worst.add(self.own_operations().saturating_sub(before));
        self.worst.next();
        done
    }

    /// Raises a bank to its level, as far as one page of the host pays for.
    fn raise(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        self.pay(bank, now)?;
        let (parts, partial) = (&mut self.parts, self.cleaner.partial(bank));
        // What is lent to survivors is not the host's, however short the steps are.
        let own = |moved: u32| parts.banks[bank].free_pages() + u64::from(moved);
        let is_short =
            partial.is_some_and(|partial| own(partial.moved()) <= parts.banks.reserve_pages());
        if is_short && !parts.failures.is_frozen() {
            return self.cleaner.finish(parts, bank, now);
        }
        Ok(())
    }

    /// Moves survivors towards the level, and erases at most one block.
    fn pay(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        let parts = &mut self.parts;
        let pages = u64::from(parts.tables.shape().pages());
        let Watermarks { low, .. } = parts.config.watermarks;
        let level = {
            let others = parts.banks[bank].open_streams().saturating_sub(1);
            u64::from(low) * pages + others * pages / 2
        };
        let mut goal = None;
        let (mut copies, mut has_erased) = (most_copies(&parts.banks, &parts.config, bank), false);
        while !parts.failures.is_frozen() {
            let home = &parts.banks[bank];
            let free = home.free_pages();
            let Some(partial) = self.cleaner.partial(bank) else {
                let goal = *goal.get_or_insert(level.min(free + MOST_RAISED));
                if free >= goal || !self.cleaner.begin_steps(parts, bank, now)? {
                    return Ok(());
                }
                continue;
            };
            let (moved, valid) =
                (u64::from(partial.moved()), u64::from(home.block(partial.block()).valid));
            let cost = moved + valid;
            let reached = free + (pages * moved).checked_div(cost).unwrap_or(pages);
            let goal = *goal.get_or_insert(level.min(reached + MOST_RAISED));
            if valid == 0 {
                // The next page pays for another erase.
                if has_erased {
                    return Ok(());
                }
                has_erased = true;
                self.cleaner.end_steps(parts, bank, now)?;
                continue;
            }
            if reached >= goal || copies == 0 {
                return Ok(());
            }
            let gain = pages.saturating_sub(cost).max(1);
            let owed = ((goal - reached) * cost).div_ceil(gain).min(valid).min(copies);
            self.cleaner.step(parts, bank, owed as u32, now)?;
            copies -= owed;
        }
        Ok(())
    }

    /// Free blocks that there must be for the host to get one: the low watermark, or any, where steps keep the
    /// reserve in pages. What of it is in open blocks the survivors of a victim find there.
    pub(super) fn least_free(&self, bank: usize) -> u32 {
        let (parts, low) = (&self.parts, self.parts.config.watermarks.low);
        let keeps_reserve = || parts.banks[bank].free_pages() > parts.banks.reserve_pages();
        if self.is_paced() && !parts.failures.any() && keeps_reserve() { 1 } else { low }
    }

    /// The stream that a page of the host goes to whose own has no room and cannot have a block before a victim is
    /// cleaned: one that has room.
    pub(super) fn another_stream(&self, bank: usize, stream: u8) -> Option<u8> {
        let home = &self.parts.banks[bank];
        let is_short = home.free_blocks() == 0 && self.least_free(bank) == 1;
        let is_apart = stream == home.read_only_stream();
        (is_short && !is_apart).then(|| home.roomiest())?
    }

    /// The most flash operations between a page of the host and its acknowledgement, where victims are cleaned in
    /// steps: its program, copies, and an erase; and a whole victim, where a victim may be fuller than the mean and the
    /// steps fall behind for it. Failures of the chip, swaps of worn blocks and the index log come on top.
    pub(super) fn most_operations(&self) -> Option<u64> {
        let Parts { banks, config, .. } = &self.parts;
        let least = |bank| copies_for(banks, config, bank, 1);
        let copies = |bank| most_copies(banks, config, bank);
        let keeps_up = (0..banks.len()).all(|bank| copies(bank) >= least(bank));
        let whole = if self.worst.takes_least { 0 } else { u64::from(banks.pages()) };
        let most = (0..banks.len()).map(copies).max()?;
        (keeps_up && config.trigger != Trigger::Falling).then_some(1 + most + 1 + whole)
    }

    /// Flash operations of the layer's own so far.
    #[inline(always)]
    pub(super) const fn own_operations(&self) -> u64 {
        let counters = &self.parts.counters;
        counters.copies + counters.erases
    }
}

/// The most copies after one page of the host.
fn most_copies(banks: &Banks, config: &Config, bank: usize) -> u64 {
    match config.pacing {
        Pacing::Most(most) => most.into(),
        Pacing::Off | Pacing::Paced => copies_for(banks, config, bank, MOST_RAISED),
    }
}

/// Copies that raise the level by that of so many pages, with victims as full as the full blocks of a device full of
/// data are in the mean: the copies of a second victim may follow those of a first.
fn copies_for(banks: &Banks, config: &Config, bank: usize, raised: u64) -> u64 {
    let open = banks.open();
    let valid = banks.mean_valid(bank, config.watermarks.low + open + open.div_ceil(2));
    (raised * u64::from(valid)).div_ceil(u64::from(banks.pages() - valid)) + 1
}
