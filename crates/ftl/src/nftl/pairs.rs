//! Virtual blocks, and the index that finds the best one to fold.
//!
//! A *pair* is a virtual block with both a primary and a replacement block: folding it gains a
//! block. One block alone gains nothing. A virtual block without live pages is *wholly dead*: its
//! blocks are erased without a fold, before any pair is folded.
//!
//! Greedy takes the most dead pages, the lowest number among equals: a set for each number of dead
//! pages, which knows its lowest member. Cost-benefit (age · (1 − u) / 2u, where u = live / used, so
//! (1 − u) / 2u = dead / 2 live) depends on live and dead pages and on the age: among pairs with the
//! same counts the oldest is best, so only the first of each [heap](super::heaps) is compared.

use alloc::{vec, vec::Vec};

use thermocline_flash::BlockId;
use thermocline_policy::Lowest;

use super::{config::Choice, heaps::Heaps};

/// A virtual block: the blocks that hold its pages, and its counts of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// When the host wrote it last.
    pub(super) last_write: u64,
    pub(super) primary: BlockId,
    pub(super) replacement: BlockId,
    /// Pages programmed in each.
    pub(super) primary_used: u32,
    pub(super) replacement_used: u32,
    /// Pages that hold current data not known to be dead.
    pub(super) live: u32,
}

impl Pair {
    pub(super) const EMPTY: Self = Self {
        last_write: 0,
        primary: BlockId::NONE,
        replacement: BlockId::NONE,
        primary_used: 0,
        replacement_used: 0,
        live: 0,
    };

    pub(super) const fn used(&self) -> u32 {
        self.primary_used + self.replacement_used
    }

    /// Pages programmed and not live: the spec's and the thesis' d.
    pub(super) const fn dead(&self) -> u32 {
        self.used() - self.live
    }

    pub(super) const fn blocks(&self) -> u32 {
        (self.primary.0 != BlockId::NONE.0) as u32 + (self.replacement.0 != BlockId::NONE.0) as u32
    }

    const fn standing(&self) -> Standing {
        if self.blocks() > 0 && self.live == 0 {
            if self.blocks() == 2 { Standing::DeadPair } else { Standing::DeadBlock }
        } else if self.blocks() == 2 {
            Standing::Pair
        } else {
            Standing::Nothing
        }
    }
}

/// Where a virtual block stands in the index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Nothing,
    /// Wholly dead, one block.
    DeadBlock,
    /// Wholly dead, both blocks.
    DeadPair,
    Pair,
}

/// The index of pairs and of wholly dead virtual blocks.
#[derive(Clone, Debug)]
pub(super) struct Index {
    /// Pairs by dead pages.
    by_dead: Vec<Lowest>,
    /// The numbers of dead pages that pairs have, counted from the most there can be.
    most_dead: Lowest,
    /// Wholly dead virtual blocks: all, or those of one block if pairs are kept apart.
    wholly_dead: Lowest,
    /// Wholly dead pairs, if only collections take them.
    dead_pairs: Option<Lowest>,
    /// Pairs by live and dead pages, where cost-benefit chooses.
    by_age: Option<Heaps>,
    /// Most dead pages that a pair can have.
    most: u32,
}

impl Index {
    /// `pairs_apart`: wholly dead pairs are kept apart from wholly dead single blocks.
    pub(super) fn new(virtual_blocks: u32, pages: u32, choice: Choice, pairs_apart: bool) -> Self {
        let (numbers, most) = (virtual_blocks as usize, 2 * pages);
        let kinds = pages as usize * (most as usize + 1);
        Self {
            by_dead: vec![Lowest::new(numbers); most as usize + 1],
            most_dead: Lowest::new(most as usize + 1),
            wholly_dead: Lowest::new(numbers),
            dead_pairs: pairs_apart.then(|| Lowest::new(numbers)),
            by_age: (choice == Choice::CostBenefit).then(|| Heaps::new(numbers, kinds)),
            most,
        }
    }

    /// Updates the index after a change of a virtual block.
    #[inline]
    pub(super) fn changed(&mut self, v: u32, before: &Pair, after: &Pair) {
        let (was, is) = (before.standing(), after.standing());
        if (was, is) != (Standing::Nothing, Standing::Nothing) {
            self.moved(v, (was, before), (is, after));
        }
    }

    fn moved(&mut self, v: u32, (was, before): (Standing, &Pair), (is, after): (Standing, &Pair)) {
        if was != is || before.dead() != after.dead() {
            match was {
                Standing::Pair => self.leave(v, before.dead()),
                Standing::DeadBlock => self.wholly_dead.remove(v),
                Standing::DeadPair => self.dead_pairs().remove(v),
                Standing::Nothing => {}
            }
            match is {
                Standing::Pair => self.enter(v, after.dead()),
                Standing::DeadBlock => self.wholly_dead.insert(v),
                Standing::DeadPair => self.dead_pairs().insert(v),
                Standing::Nothing => {}
            }
        }
        let kind = |p: &Pair| ((p.live - 1) * (self.most + 1) + p.dead()) as usize;
        if let Some(heaps) = &mut self.by_age {
            if was == Standing::Pair {
                heaps.remove(kind(before), v);
            }
            if is == Standing::Pair {
                heaps.insert(kind(after), v, after.last_write);
            }
        }
    }

    fn enter(&mut self, v: u32, dead: u32) {
        self.by_dead[dead as usize].insert(v);
        self.most_dead.insert(self.most - dead);
    }

    fn leave(&mut self, v: u32, dead: u32) {
        let alike = &mut self.by_dead[dead as usize];
        alike.remove(v);
        if alike.lowest().is_none() {
            self.most_dead.remove(self.most - dead);
        }
    }

    /// The lowest virtual block of which nothing is live.
    pub(super) fn wholly_dead(&self) -> Option<u32> {
        match (self.wholly_dead.lowest(), self.dead_pair()) {
            (Some(block), Some(pair)) => Some(block.min(pair)),
            (block, pair) => block.or(pair),
        }
    }

    /// The lowest wholly dead pair, if pairs are kept apart.
    pub(super) fn dead_pair(&self) -> Option<u32> {
        self.dead_pairs.as_ref()?.lowest()
    }

    /// Where wholly dead pairs stand.
    const fn dead_pairs(&mut self) -> &mut Lowest {
        match &mut self.dead_pairs {
            Some(apart) => apart,
            None => &mut self.wholly_dead,
        }
    }

    /// The pair with most dead pages, the lowest among equals, and the number of its dead pages.
    pub(super) fn most_dead(&self) -> Option<(u32, u32)> {
        let dead = self.most - self.most_dead.lowest()?;
        Some((self.by_dead[dead as usize].lowest()?, dead))
    }

    /// The pair to fold at `now`, by whichever rule the index was made for.
    pub(super) fn best(&self, now: u64) -> Option<u32> {
        match &self.by_age {
            None => self.most_dead().map(|(v, _)| v),
            Some(heaps) => self.best_by_age(heaps, now),
        }
    }

    /// Greatest age · dead / live, compared as fractions of integers: ties are exact.
    fn best_by_age(&self, heaps: &Heaps, now: u64) -> Option<u32> {
        let mut best: Option<(u128, u128, u32)> = None;
        for (kind, v, stamp) in heaps.firsts() {
            let (live, dead) = (kind as u32 / (self.most + 1) + 1, kind as u32 % (self.most + 1));
            let benefit = u128::from(now.saturating_sub(stamp)) * u128::from(dead);
            let live = u128::from(live);
            let is_better = best.is_none_or(|(most, least, lowest)| {
                let (this, other) = (benefit * least, most * live);
                this > other || (this == other && v < lowest)
            });
            if is_better {
                best = Some((benefit, live, v));
            }
        }
        match best {
            // Nothing has an age or nothing has dead pages: all are alike, whatever their place.
            Some((0, ..)) => self.by_dead.iter().filter_map(Lowest::lowest).min(),
            other => other.map(|(.., v)| v),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The best by a scan of all pairs, in exact fractions.
    fn naive(pairs: &[Pair], choice: Choice, now: u64) -> Option<u32> {
        let score = |p: &Pair| match choice {
            Choice::Greedy => (u128::from(p.dead()), 1),
            Choice::CostBenefit => {
                (u128::from(now - p.last_write) * u128::from(p.dead()), u128::from(2 * p.live))
            }
        };
        let mut best: Option<(u32, &Pair)> = None;
        for (v, pair) in (0..).zip(pairs).filter(|(_, p)| p.blocks() == 2 && p.live > 0) {
            let ((n, d), (most, of)) = (score(pair), best.map_or((0, 1), |(_, b)| score(b)));
            if best.is_none() || n * of > most * d {
                best = Some((v, pair));
            }
        }
        best.map(|(v, _)| v)
    }

    proptest! {
        #[test]
        fn the_index_finds_what_a_look_at_all_finds(
            choice in prop::sample::select(&[Choice::Greedy, Choice::CostBenefit][..]),
            pages in 1_u32..12,
            pairs_apart in any::<bool>(),
            numbers in 1_u32..200,
            // How coarse time is, and where it begins.
            coarse in 1_u64..50,
            begin in prop::sample::select(&[0, u64::MAX / 2][..]),
            steps in prop::collection::vec((any::<u32>(), any::<u32>(), 0_u8..8), 1..400),
        ) {
            let mut pairs = vec![Pair::EMPTY; numbers as usize];
            let mut index = Index::new(numbers, pages, choice, pairs_apart);
            for (time, (v, draw, what)) in (0..).zip(steps) {
                let (v, now) = (v % numbers, begin + time / coarse);
                let before = pairs[v as usize];
                let after = &mut pairs[v as usize];
                match what {
                    0 => *after = Pair { last_write: before.last_write, ..Pair::EMPTY },
                    // Pages are freed, or come back; it was not written.
                    1 | 2 => after.live = draw % (before.used().min(pages) + 1),
                    _ => {
                        let primary_used = draw % (pages + 1);
                        let replacement_used = (draw >> 8) % (pages + 1);
                        let most = (primary_used + replacement_used).min(pages);
                        *after = Pair {
                            last_write: now,
                            primary: if primary_used > 0 { BlockId(v) } else { BlockId::NONE },
                            replacement: if replacement_used > 0 {
                                BlockId(v + numbers)
                            } else {
                                BlockId::NONE
                            },
                            primary_used,
                            replacement_used,
                            live: if most == 0 { 0 } else { (draw >> 16) % (most + 1) },
                        };
                    }
                }
                index.changed(v, &before, after);
                for now in [now, now + 1, now + 1_000_000] {
                    prop_assert_eq!(index.best(now), naive(&pairs, choice, now));
                }
                let most_dead = naive(&pairs, Choice::Greedy, now);
                prop_assert_eq!(index.most_dead().map(|(v, _)| v), most_dead);
                let is_dead = |p: &Pair| p.blocks() > 0 && p.live == 0;
                let dead = (0..).zip(&pairs).find(|(_, p)| is_dead(p)).map(|(v, _)| v);
                prop_assert_eq!(index.wholly_dead(), dead);
                let is_pair = |p: &Pair| p.blocks() == 2 && p.live == 0;
                let pair = (0..).zip(&pairs).find(|(_, p)| is_pair(p)).map(|(v, _)| v);
                prop_assert_eq!(index.dead_pair(), pair.filter(|_| pairs_apart));
            }
        }
    }
}
