//! Lists of erase blocks by valid pages: the index for ages counted from the last invalidation.
//!
//! Problem. The [tree](super::tree) bounds the costs below a node because blocks opened one after
//! another have similar ages. Ages that restart whenever a page is invalidated are unrelated to
//! that order. The bounds are then loose, and a search visits a fifth of all blocks.
//!
//! Idea. An invalidation changes two things at once: the block has one valid page less, and it
//! becomes the youngest block. So it moves from one list to the end of the next. Among blocks with
//! equal valid counts (and equal erase counts where wear matters: a *row* of lists for each erase
//! count) the order of arrival is the order of age, and the first block costs least. A search
//! visits the heads from the fewest valid pages up, and stops where even the oldest block of the
//! row could not outweigh the valid pages.
//!
//! Consequence. A search visits at most one block for each number of valid pages in a row,
//! independent of the number of blocks. A host write relinks one block. Blocks that cost nothing at
//! any age are in a [set](Lowest), because a list would have to be scanned for the lowest number. A
//! search still scans ties: the blocks of the best lists whose cost equals that of their head. Ages
//! are equal only where the clock did not advance, or where a transformation equalises them: a
//! staircase ties all blocks of its oldest step.
//!
//! Memory: 8 bytes a block, 16 bytes for each number of valid pages in a row, an eighth of a byte a
//! block for the set.

use alloc::{vec, vec::Vec};

use super::tree::{Costs, NO_BLOCK, SLACK, is_better};
use crate::lowest::Lowest;

/// Block weights, needed by a search in addition to ages and costs.
pub(super) trait Weights: Costs {
    /// The weight of blocks with `valid` valid pages and a factor of wear.
    fn weight(&self, valid: u32, wear: f64) -> f64;
}

/// A block's neighbours in its list.
#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
}

/// Blocks in the order of their stamps, the oldest first.
#[derive(Clone, Copy, Debug)]
struct List {
    /// The stamp of the first block, so that comparing heads does not access their blocks.
    stamp: u64,
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: Self = Self { stamp: u64::MAX, first: NO_BLOCK, last: NO_BLOCK };
}

/// The lists of the blocks with one erase count; of all blocks if wear does not matter.
#[derive(Clone, Debug)]
struct Row {
    /// Lower bound of the stamps of all blocks in the row.
    oldest: u64,
    /// The factor of wear.
    wear: f64,
    /// Erase count.
    erases: u32,
    /// Closed blocks, including those without garbage.
    blocks: u32,
    /// Blocks with fewer valid pages cost nothing and are in no list.
    least_costly: u32,
    /// All lists of fewer valid pages are empty.
    least_valid: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Lists {
    links: Vec<Link>,
    /// `pages` lists a row. A block with only valid pages is not a candidate, so it has no list.
    lists: Vec<List>,
    rows: Vec<Row>,
    /// The rows that have blocks, sorted by erase count.
    used: Vec<u32>,
    /// The unused rows.
    spare: Vec<u32>,
    /// Candidates that cost nothing.
    costless: Lowest,
    pages: usize,
}

/// Lists that a search found about equally good, and the cost of their heads.
pub(super) type Near = Vec<(f64, usize)>;

impl Lists {
    pub(super) fn new(blocks: usize, pages: u32) -> Self {
        Self {
            links: vec![Link { prev: NO_BLOCK, next: NO_BLOCK }; blocks],
            lists: Vec::new(),
            rows: Vec::new(),
            used: Vec::new(),
            spare: Vec::new(),
            costless: Lowest::new(blocks),
            pages: pages as usize,
        }
    }

    /// The row for blocks with `erases` erases, which gets one more block. Blocks with fewer than
    /// `least_costly` valid pages cost nothing there.
    pub(super) fn enter_row(&mut self, erases: u32, wear: f64, least_costly: u32) -> u32 {
        let at = self.used.binary_search_by_key(&erases, |&row| self.rows[row as usize].erases);
        let row = at.map(|at| self.used[at]).unwrap_or_else(|at| {
            let row = self.spare.pop().unwrap_or_else(|| {
                self.lists.resize(self.lists.len() + self.pages, List::EMPTY);
                self.rows.len() as u32
            });
            let least_valid = self.pages as u32;
            let new = Row { oldest: u64::MAX, wear, erases, blocks: 0, least_costly, least_valid };
            match self.rows.get_mut(row as usize) {
                Some(spare) => *spare = new,
                None => self.rows.push(new),
            }
            self.used.insert(at, row);
            row
        });
        self.rows[row as usize].blocks += 1;
        row
    }

    fn leave_row(&mut self, row: u32) {
        let Row { erases, ref mut blocks, .. } = self.rows[row as usize];
        *blocks -= 1;
        if *blocks == 0 {
            let at = self.used.binary_search_by_key(&erases, |&row| self.rows[row as usize].erases);
            self.spare.push(self.used.remove(at.expect("a row with a block is in use")));
        }
    }

    /// Inserts a block of a row when it is closed.
    pub(super) fn insert(&mut self, block: u32, row: u32, valid: u32, stamps: &[u64]) {
        if valid < self.rows[row as usize].least_costly {
            self.costless.insert(block);
        } else if (valid as usize) < self.pages {
            self.link(block, row, valid, stamps);
        }
    }

    /// Moves a closed block that has `valid` valid pages, one less than before, and a younger
    /// stamp.
    #[inline]
    pub(super) fn fell(&mut self, block: u32, row: u32, valid: u32, stamps: &[u64]) {
        let least_costly = self.rows[row as usize].least_costly;
        let was = valid + 1;
        if was < least_costly {
            return; // what costs nothing costs nothing with less to copy
        }
        if (was as usize) < self.pages {
            self.unlink(block, row, was, stamps);
        }
        if valid < least_costly {
            self.costless.insert(block);
        } else {
            self.link(block, row, valid, stamps);
        }
    }

    /// Moves a closed block that has `valid` valid pages, one more than before, and a younger
    /// stamp.
    pub(super) fn rose(&mut self, block: u32, row: u32, valid: u32, stamps: &[u64]) {
        let least_costly = self.rows[row as usize].least_costly;
        if valid < least_costly {
            return; // costs nothing still
        }
        let was = valid - 1;
        if was < least_costly {
            self.costless.remove(block);
        } else {
            self.unlink(block, row, was, stamps);
        }
        if (valid as usize) < self.pages {
            self.link(block, row, valid, stamps);
        }
    }

    /// Removes a closed block that was emptied from its row.
    pub(super) fn withdraw(&mut self, block: u32, row: u32, valid: u32, stamps: &[u64]) {
        if valid < self.rows[row as usize].least_costly {
            self.costless.remove(block);
        } else if (valid as usize) < self.pages {
            self.unlink(block, row, valid, stamps);
        }
        self.tighten(row);
        self.leave_row(row);
    }

    /// Makes the bounds of a row exact. Invalidations loosen them, which costs searches some extra
    /// visits. Blocks leave rows often enough to keep that small.
    fn tighten(&mut self, row: u32) {
        let lists = &self.lists[row as usize * self.pages..][..self.pages];
        let row = &mut self.rows[row as usize];
        let lists = &lists[row.least_valid as usize..];
        let empty = lists.iter().take_while(|list| list.first == NO_BLOCK).count();
        row.least_valid += empty as u32;
        row.oldest = lists[empty..].iter().map(|list| list.stamp).min().unwrap_or(u64::MAX);
    }

    fn list(&mut self, row: u32, valid: u32) -> &mut List {
        &mut self.lists[row as usize * self.pages + valid as usize]
    }

    /// Inserts a block after all that are not younger, which is nearly always at the end. A block
    /// that was open for a long time passes those invalidated meanwhile, at most one for each
    /// invalidation.
    fn link(&mut self, block: u32, row: u32, valid: u32, stamps: &[u64]) {
        let stamp = stamps[block as usize];
        let mut next = NO_BLOCK;
        let mut prev = self.list(row, valid).last;
        while prev != NO_BLOCK && stamps[prev as usize] > stamp {
            next = prev;
            prev = self.links[prev as usize].prev;
        }
        self.links[block as usize] = Link { prev, next };
        let list = &mut self.lists[row as usize * self.pages + valid as usize];
        match prev {
            NO_BLOCK => {
                (list.first, list.stamp) = (block, stamp);
                let row = &mut self.rows[row as usize];
                row.oldest = row.oldest.min(stamp);
                row.least_valid = row.least_valid.min(valid);
            }
            _ => self.links[prev as usize].next = block,
        }
        match next {
            NO_BLOCK => list.last = block,
            _ => self.links[next as usize].prev = block,
        }
    }

    fn unlink(&mut self, block: u32, row: u32, valid: u32, stamps: &[u64]) {
        let Link { prev, next } = self.links[block as usize];
        let list = &mut self.lists[row as usize * self.pages + valid as usize];
        match prev {
            NO_BLOCK => {
                list.first = next;
                list.stamp = stamps.get(next as usize).copied().unwrap_or(u64::MAX);
            }
            _ => self.links[prev as usize].next = next,
        }
        match next {
            NO_BLOCK => list.last = prev,
            _ => self.links[next as usize].prev = prev,
        }
    }

    /// The candidate with the lowest weight, the lowest number among equals; [`NO_BLOCK`] if there
    /// is none. Scans the lists of that weight.
    pub(super) fn lightest(&self, weight: impl Fn(u32, f64) -> f64) -> u32 {
        if let Some(block) = self.costless.lowest() {
            return block;
        }
        let (mut least, mut best) = (f64::INFINITY, NO_BLOCK);
        for &at in &self.used {
            let row = &self.rows[at as usize];
            for valid in row.least_valid..self.pages as u32 {
                let mut block = self.lists[at as usize * self.pages + valid as usize].first;
                if block == NO_BLOCK {
                    continue;
                }
                let weight = weight(valid, row.wear);
                if weight > least {
                    break;
                }
                if weight < least {
                    (least, best) = (weight, NO_BLOCK);
                }
                while block != NO_BLOCK {
                    best = best.min(block);
                    block = self.links[block as usize].next;
                }
            }
        }
        best
    }

    /// The block with the lowest cost, the lowest number among equals. `near` is scratch space.
    pub(super) fn search(
        &self,
        costs: &impl Weights,
        stamps: &[u64],
        near: &mut Near,
    ) -> Option<u32> {
        if let Some(block) = self.costless.lowest() {
            return Some(block);
        }
        near.clear();
        let mut least = f64::INFINITY;
        for &row in &self.used {
            least = self.search_row(row as usize, least, costs, near);
        }
        // Finds the lowest number among equals, and blocks that rounding put behind a head.
        let mut best = None;
        for &(mut cost, list) in &*near {
            let List { mut stamp, first: mut block, .. } = self.lists[list];
            let mut age = costs.age(stamp);
            while cost * SLACK <= least {
                if is_better(costs, (block, cost, age), best) {
                    best = Some((block, cost, age));
                }
                block = self.links[block as usize].next;
                if block == NO_BLOCK {
                    break;
                }
                if stamps[block as usize] != stamp {
                    stamp = stamps[block as usize];
                    age = costs.age(stamp);
                    cost = costs.cost(block, age);
                }
            }
        }
        best.map(|(block, ..)| block)
    }

    /// The lowest cost of the heads of a row, or `least`. Collects the lists that come close to it
    /// in `near`.
    fn search_row(&self, at: usize, mut least: f64, costs: &impl Weights, near: &mut Near) -> f64 {
        let row = &self.rows[at];
        if row.least_valid as usize >= self.pages {
            return least;
        }
        let per_age = SLACK / costs.age_bound(row.oldest);
        let lists = &self.lists[at * self.pages..][..self.pages];
        let mut oldest = u64::MAX;
        let mut weight_of_oldest = 0.0;
        for valid in row.least_valid..self.pages as u32 {
            let list = &lists[valid as usize];
            if list.first == NO_BLOCK {
                continue;
            }
            let weight = costs.weight(valid, row.wear);
            if weight * per_age > least {
                return least;
            }
            // A list that is heavier than an earlier one and no older costs more, unless costs are
            // 0 or infinite.
            if list.stamp >= oldest && weight * SLACK > weight_of_oldest && least.is_normal() {
                continue;
            }
            if list.stamp < oldest {
                (oldest, weight_of_oldest) = (list.stamp, weight);
            }
            // Negated, because with an age factor of 0 the product may be NaN.
            let worse = weight * (SLACK / costs.age_bound(list.stamp)) > least;
            if !worse {
                let cost = costs.cost(list.first, costs.age(list.stamp));
                if cost * SLACK <= least {
                    least = least.min(cost);
                    near.retain(|&(other, _)| other * SLACK <= least);
                    near.push((cost, at * self.pages + valid as usize));
                }
            }
        }
        least
    }
}
