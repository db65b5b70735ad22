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
//! copies. As pages die in a victim its share rises by itself, and less is owed. Consequence. Whenever an open block is
//! full a free one is there.
//!
//! *The level* is the pages of the reserve and one block. A victim is then chosen when a block was filled, as without
//! pacing, and that block is a candidate: what the host wrote last may be what dies first. A block ahead leaves less spare
//! space, and a small chip has little. There the level is the reserve and the `g` pages that the victim gives. Survivors
//! that were moved exist twice until their block is erased. The reserve lends the room for them, as it does to a layer
//! that cleans whole victims, and gets it back with the block.
//!
//! *Lots.* Where a page owes few copies, one pays for several: as many copies as take about as long as an erase, for which
//! one page waits anyway. Which page pays next is known in advance, so those before it are written in a run. The one that
//! fills the open block pays as well, for the next one needs a block.
//!
//! *Streams.* Each has an open block with some room, and all may become full at about the same time. The level has
//! half a block for each but one, which is what their rooms are in the mean, and a whole one at least. While the free pages are more than the
//! reserve has, a stream gets a free block although the reserve is not all in blocks: survivors find the rest in open
//! ones. Where no block is free a page of the host goes to another stream's open block, as survivors do.

use thermocline_flash::Chip;
use thermocline_policy::{placement::Placement, trigger::Trigger};

use super::{
    core::PageMapped,
    parts::Parts,
    steps::{MOST_RAISED, copies_for, lot, most_copies},
};
use crate::FtlError;

/// Blocks of spare space of a bank from which on one of them is kept ahead.
const MANY_SPARE: u32 = 32;

/// The most pages that the host writes before one pays.
const MOST_UNPAID: u64 = 16;

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

    /// The host wrote so many pages to a bank, no more than it may until one pays: the last of them pays for all, if it
    /// is the turn of one, or if the block that all pages go to is full.
    #[inline(always)]
    pub(super) fn pace(&mut self, bank: usize, pages: u32, now: u64) -> Result<(), FtlError> {
        let left = self.cleaner.unpaid(bank) - pages;
        let is_full = |stream: u8| self.parts.banks[bank].open(usize::from(stream)).is_full();
        if left > 0 && !self.parts.placement.host_stream().is_some_and(is_full) {
            self.cleaner.partial[bank].set_unpaid(left);
            self.worst.next();
            return Ok(());
        }
        self.take_turn(bank, now)
    }

    #[inline(never)]
    fn take_turn(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        let before = self.own_operations();
        let done = self.raise(bank, now);
        self.worst.add(self.own_operations() - before);
        self.worst.next();
        done
    }

    /// Raises a bank to its level, as far as one page of the host pays for.
    #[inline(always)]
    fn raise(&mut self, bank: usize, now: u64) -> Result<(), FtlError> {
        let (left, unpaid) = self.pay(bank, now)?;
        self.cleaner.partial[bank].set_unpaid(unpaid);
        let (parts, partial) = (&mut self.parts, self.cleaner.partial(bank));
        // What is lent to survivors is not the host's, however short the steps are.
        let own = |moved: u32| left + u64::from(moved);
        let is_short =
            partial.is_some_and(|partial| own(partial.moved()) <= parts.banks.reserve_pages());
        if is_short && !parts.failures.is_frozen() {
            return self.cleaner.finish(parts, bank, now);
        }
        Ok(())
    }

    /// Moves survivors towards the level, or erases their block. Returns the free pages that are left, and how many the
    /// host may write until one pays again.
    #[inline(always)]
    fn pay(&mut self, bank: usize, now: u64) -> Result<(u64, u32), FtlError> {
        let parts = &mut self.parts;
        let pages = u64::from(parts.banks.pages());
        let low = u64::from(parts.config.watermarks.low);
        let is_ahead = parts.banks.has_spare_blocks(bank, MANY_SPARE);
        let (lot, most_unpaid) = (lot(pages), MOST_UNPAID.min(pages / 4));
        let at_most = |unpaid: u64| unpaid.min(most_unpaid) as u32;
        // One page waits for an erase or for copies, unless many are owed.
        let mut has_erased = self.worst.now > 0;
        loop {
            let home = &parts.banks[bank];
            let (free, open) = home.free_and_open();
            if parts.failures.is_frozen() {
                return Ok((free, 1));
            }
            let others = open.saturating_sub(1) * pages / 2;
            let others = if others == 0 { 0 } else { others.max(pages) };
            let level = |gain: u64, unpaid: u32| {
                let ahead = if is_ahead { pages } else { (gain + u64::from(unpaid)).min(pages) };
                low.saturating_sub(1) * pages + ahead + others
            };
            let least = level(self.cleaner.partial[bank].gain(), 1);
            if has_erased && free + most_unpaid >= least {
                return Ok((free, 1));
            }
            let Some(partial) = self.cleaner.partial(bank) else {
                if free >= least || !self.cleaner.begin_steps(parts, bank, now)? {
                    return Ok((free, at_most(free.saturating_sub(least))));
                }
                continue;
            };
            let (moved, valid) =
                (u64::from(partial.moved()), u64::from(home.block(partial.block()).valid));
            if valid == 0 {
                if has_erased {
                    return Ok((free, 1));
                }
                has_erased = true;
                self.cleaner.end_steps(parts, bank, now)?;
                continue;
            }
            // In shares of a page: the free ones, and that of the victim which is free in advance.
            let cost = moved + valid;
            let gain = pages.saturating_sub(cost).max(1);
            let unpaid = at_most(lot * gain / cost).max(1);
            let (reached, wanted) = (free * cost + pages * moved, level(gain, unpaid) * cost);
            if reached >= wanted {
                return Ok((free, at_most((reached - wanted) / cost)));
            }
            let most = partial.most().min(catch_up(cost, gain).max(lot));
            let owed = (wanted - reached).div_ceil(gain).min(valid).min(most);
            self.cleaner.step(parts, bank, owed as u32, now)?;
            let has_caught_up = owed < valid && owed < most;
            let unpaid = if has_caught_up { unpaid } else { 1 };
            return Ok((free - owed, unpaid));
        }
    }

    /// Free blocks that there must be for the host to get one: the low watermark, or any, where steps keep the
    /// reserve in pages. What of it is in open blocks the survivors of a victim find there.
    pub(super) fn least_free(&self, bank: usize) -> u32 {
        let (parts, low) = (&self.parts, self.parts.config.watermarks.low);
        // What was moved of a victim comes back with it.
        let lent = self.cleaner.partial(bank).map_or(0, |partial| u64::from(partial.moved()));
        let keeps_reserve = || parts.banks[bank].free_pages() + lent > parts.banks.reserve_pages();
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

/// The most copies of a page, where a victim takes so many and gives so many pages: what each owes beside the one that
/// waits for the erase, and a quarter more, so that what was left is made up for.
fn catch_up(cost: u64, gain: u64) -> u64 {
    let twice = (MOST_RAISED * cost).div_ceil(gain);
    if gain > 1 { (5 * cost).div_ceil(4 * (gain - 1)).min(twice) } else { twice }
}
