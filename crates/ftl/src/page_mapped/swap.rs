//! Even wearing near the end of life: the data of the least erased block move into the most erased
//! one (CAT paper, §3.2: "we swap the segment with maximum erase times and the segment with minimum
//! erase times").
//!
//! Data that have lain still in the least erased block will lie still in the worn one; the fresh
//! block goes into circulation instead.

use alloc::collections::BTreeSet;

use thermocline_flash::{BlockId, Chip, FlashError};
use thermocline_policy::{Candidates, State, placement::Placement, wear::WearLeveling};

use super::PageMapped;
use crate::FtlError;

/// Closed blocks by erase count. Kept only once a block came near its end of life: until then
/// nobody asks.
#[derive(Debug, Default)]
pub(super) struct ByErases(Option<BTreeSet<(u32, BlockId)>>);

impl ByErases {
    #[inline]
    pub(super) fn closed(&mut self, block: BlockId, erases: u32) {
        if let Some(set) = &mut self.0 {
            set.insert((erases, block));
        }
    }

    /// The closed blocks of a table by erase count.
    fn of(&mut self, blocks: &Candidates) -> &BTreeSet<(u32, BlockId)> {
        self.0.get_or_insert_with(|| {
            let all = (0..blocks.len()).map(|n| blocks.nth(n));
            all.filter(|&b| matches!(blocks.block(b).state, State::Closed | State::Aside))
                .map(|b| (blocks.block(b).erases, b))
                .collect()
        })
    }

    #[inline]
    pub(super) fn left(&mut self, block: BlockId, erases: u32) {
        if let Some(set) = &mut self.0 {
            set.remove(&(erases, block));
        }
    }
}

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Moves the data of the least erased block into `worn`, just erased, if that is due; the least
    /// erased block is then on the free list in its place.
    pub(super) fn swap_with_least_erased(
        &mut self,
        bank: usize,
        worn: BlockId,
        now: u64,
    ) -> Result<bool, FtlError> {
        let WearLeveling::Swap(swap) = self.config.wear_leveling else { return Ok(false) };
        let home = &mut self.banks[bank];
        let erases = home.blocks.block(worn).erases;
        if erases < swap.from_erases {
            return Ok(false);
        }
        let Some(&(least, fresh)) = home.wear.of(&home.blocks).first() else { return Ok(false) };
        if erases.saturating_sub(least) < swap.gap {
            return Ok(false);
        }
        let block = *home.blocks.block(fresh);
        home.blocks.open(worn, block.stream, home.blocks.stamp(fresh));
        let geometry = *self.chip.geometry();
        let (from_owner, to_owner) =
            (fresh.index() * self.pages as usize, worn.index() * self.pages as usize);
        let (mut to, mut left) = (0, false);
        for page in 0..self.pages {
            let lpn = self.owner[from_owner + page as usize];
            let from = geometry.ppn(fresh, self.header + page);
            if self.map[lpn.index()] != from {
                continue;
            }
            let at = geometry.ppn(worn, self.header + to);
            let oob = self.oob(lpn, block.stream, now);
            match self.chip.copy(from, at, oob) {
                Ok(()) => {}
                Err(FlashError::Unreadable(_)) => {
                    self.counters.pages_lost += 1;
                    left = true;
                    continue;
                }
                Err(failed) => return self.swap_failed(bank, fresh, worn, to, failed, now),
            }
            self.owner[to_owner + to as usize] = lpn;
            self.map[lpn.index()] = at;
            if P::KNOWS_HOT && self.placement.is_hot(lpn) {
                self.banks[bank].blocks.warm(worn, 1);
            }
            to += 1;
        }
        let home = &mut self.banks[bank];
        home.blocks.copied(worn, to, fresh, home.blocks.stamp(fresh));
        home.blocks.closing(worn, &*home.victim);
        self.placement.replaced(bank as u32, fresh, worn, &mut home.blocks);
        home.blocks.closed(worn);
        home.wear.closed(worn, erases);
        self.counters.copies += u64::from(to);
        self.counters.swap_copies += u64::from(to);
        if left {
            self.recount(bank, fresh, now);
            self.keep(bank, fresh);
            return Ok(true);
        }
        let home = &mut self.banks[bank];
        home.blocks.withdraw(fresh);
        home.wear.left(fresh, least);
        if self.erase_and_count(bank, fresh)? {
            self.counters.swap_erases += 1;
            self.banks[bank].free.push_back(fresh);
        }
        Ok(true)
    }
}
