//! Pacing: after each host page write, garbage collection regains the space that the page took.
//!
//! Problem. If a write that needs a block cleans a whole victim, it waits for all survivors, while the writes before it
//! waited for none. Idea. The bank keeps a *level* of free pages. A host page lowers it by one; cleaning raises it. Of
//! a victim's block the share of its survivors already moved counts as free:
//!
//! ```text
//! free pages + pages a block * moved / (moved + valid)
//! ```
//!
//! A victim with `v` valid and `g` invalid pages gives `g` pages for `v` copies, so a host page pays `v / g` copies.
//! When pages of a victim die its share rises, and fewer copies are due. Consequence. Whenever an open block is full, a
//! block is free.
//!
//! *The level* is the pages of the reserve and one block. So a victim is chosen when a block has been filled, as
//! without pacing, and that block is a candidate: the newest data may die first. A block ahead reduces the spare space,
//! of which a small chip has little. There the level is the reserve and the `g` pages that the victim gives. Moved
//! survivors exist twice until their block is erased. The reserve lends the room for them, as without pacing, and gets
//! it back with the block.
//!
//! *Lots.* If a page owes few copies, one page pays for several: about as many copies as take the time of an erase, for
//! which one page waits anyway. The next page to pay is known in advance, so those before it are written in a run. The
//! page that fills the open block pays as well, since the next one needs a block.
//!
//! *Streams.* Each has an open block with some room, and all may become full at about the same time. The level has half
//! a block for each stream but one, their mean room, and at least one block. While there are more free pages than the
//! reserve, a stream gets a free block even if the reserve is partly in open blocks: survivors find room there. If no
//! block is free, a host page goes to another stream's open block, as survivors do.

use thermocline_flash::Chip;
use thermocline_policy::{placement::Placement, trigger::Trigger};

use super::{
    core::PageMapped,
    parts::Parts,
    steps::{MOST_RAISED, copies_for, lot, most_copies},
};
use crate::FtlError;

/// From this many blocks of spare space on, a bank keeps one block ahead.
const MANY_SPARE: u32 = 32;

/// The most pages that the host writes before one pays.
const MOST_UNPAID: u64 = 16;

/// The longest waits of host pages.
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

    /// Adds operations to the page being written.
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

    /// Accounts for pages that the host wrote to a bank, at most up to the next that pays: the last one pays for all,
    /// if a payment is due or the open block of all host writes is full.
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
        // Room lent to survivors is not the host's, however far the steps lag behind.
        let own = |moved: u32| left + u64::from(moved);
        let is_short =
            partial.is_some_and(|partial| own(partial.moved()) <= parts.banks.reserve_pages());
        if is_short && !parts.failures.is_frozen() {
            return self.cleaner.finish(parts, bank, now);
        }
        Ok(())
    }

    /// Moves survivors towards the level, or erases their block. Returns the free pages left, and the number that the
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

    /// Free blocks required before the host gets one: the low watermark, or any block if steps keep the
    /// reserve in pages. Survivors of a victim find the part of the reserve that is in open blocks.
    pub(super) fn least_free(&self, bank: usize) -> u32 {
        let (parts, low) = (&self.parts, self.parts.config.watermarks.low);
        // The erase of a victim returns the pages of its moved survivors.
        let lent = self.cleaner.partial(bank).map_or(0, |partial| u64::from(partial.moved()));
        let keeps_reserve = || parts.banks[bank].free_pages() + lent > parts.banks.reserve_pages();
        if self.is_paced() && !parts.failures.any() && keeps_reserve() { 1 } else { low }
    }

    /// A stream with room for a host page whose own stream has none and gets no block before a victim is cleaned.
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

/// The most copies of a page, for a victim that costs `cost` copies and gives `gain` pages: the share of each page
/// beside the one that waits for the erase, and a quarter more, to catch up.
fn catch_up(cost: u64, gain: u64) -> u64 {
    let twice = (MOST_RAISED * cost).div_ceil(gain);
    if gain > 1 { (5 * cost).div_ceil(4 * (gain - 1)).min(twice) } else { twice }
}
