//! The search for the candidate with the lowest cost, with its scratch space.

use core::{cmp::Ordering, ops::Range};

use thermocline_flash::{BlockId, prefetch};

use super::{
    columns::{Columns, State},
    lists::{Near, Weights},
    tree::Costs,
    view::{BlockView, Index},
};
use crate::age::Ages;

/// Finds the candidate with the lowest `ratio · factor / age`, exactly and without a scan of all
/// blocks.
///
/// A policy that searches owns one for each bank. The state left by one search speeds up the next
/// and never changes its result.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The second best of the last search: often the best of the next, and always a good start.
    runner_up: Option<u32>,
    near: Near,
}

impl Search {
    /// The candidate with the lowest `ratio · factor / age(now − stamp)`, the lowest number among
    /// equals.
    pub fn cheapest(&mut self, blocks: &BlockView, now: u64, ages: &impl Ages) -> Option<BlockId> {
        let costs = Aged { columns: &blocks.columns, ages, now };
        let found = match &blocks.index {
            Index::Tree(tree) => {
                let best = tree.search(&costs, self.runner_up);
                self.runner_up = best.runner_up;
                best.block
            }
            Index::Lists(lists) => lists.search(&costs, &blocks.columns.stamps, &mut self.near),
        };
        found.map(|block| blocks.nth(block))
    }
}

/// Costs at one time.
struct Aged<'a, T> {
    columns: &'a Columns,
    ages: &'a T,
    now: u64,
}

impl<T: Ages> Costs for Aged<'_, T> {
    #[inline(always)]
    fn weight_at(&self, slot: usize) -> Option<(u32, f64)> {
        let block = self.columns.slots[slot];
        let b = self.columns.blocks.get(block as usize)?;
        let weight = || self.columns.costs.weight(block, b.valid);
        (b.state == State::Closed).then(|| (block, weight()))
    }
    #[inline(always)]
    fn prefetch(&self, slots: Range<usize>) {
        for &block in &self.columns.slots[slots] {
            prefetch(&self.columns.blocks, block as usize);
            prefetch(&self.columns.stamps, block as usize);
            self.columns.costs.prefetch(block as usize);
        }
    }
    #[inline(always)]
    fn stamp_of(&self, block: u32) -> u64 {
        self.columns.stamps[block as usize]
    }
    #[inline(always)]
    fn age(&self, stamp: u64) -> f64 {
        self.ages.factor(self.now.saturating_sub(stamp))
    }
    #[inline(always)]
    fn age_bound(&self, stamp: u64) -> f64 {
        self.ages.bound(self.now.saturating_sub(stamp))
    }
    #[inline(always)]
    fn cost(&self, block: u32, age: f64) -> f64 {
        self.columns.costs.cost(block, self.columns.blocks[block as usize].valid, age)
    }
    #[cold]
    #[inline(never)]
    fn order(&self, a: (u32, f64), b: (u32, f64)) -> Ordering {
        let terms = |(block, age): (u32, f64)| {
            let (num, den) =
                self.columns.costs.fraction(block, self.columns.blocks[block as usize].valid);
            (num, den, age)
        };
        let ((num, den, age), (other_num, other_den, other_age)) = (terms(a), terms(b));
        let (this, other) = (product(num * other_den, other_age), product(other_num * den, age));
        this.0.total_cmp(&other.0).then(this.1.total_cmp(&other.1))
    }
    #[inline(always)]
    fn stamp(&self, block: u32) -> Option<u64> {
        let b = self.columns.blocks.get(block as usize)?;
        let candidate = b.state == State::Closed && b.valid < self.columns.pages;
        candidate.then(|| self.columns.stamps[block as usize])
    }
}

impl<T: Ages> Weights for Aged<'_, T> {
    fn weight(&self, valid: u32, wear: f64) -> f64 {
        self.columns.costs.weight_by_wear(valid, wear)
    }
}

/// A product and its rounding error.
fn product(a: f64, b: f64) -> (f64, f64) {
    let rounded = a * b;
    // Adding 0.0 clears the sign of a zero.
    (rounded, libm::fma(a, b, -rounded) + 0.0)
}
