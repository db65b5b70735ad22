//! A volatile write cache: what was done since the last sync, and what of it power leaves.
//!
//! Operations wait in the order in which they were done. What is done late is seen at once, so the
//! cache knows what each page of a block with waiting operations shows.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_flash::{BlockId, Geometry, Oob, Ppn};

use super::Scar;

/// A page that waits to be programmed.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) oob: Oob,
    pub(super) data: Box<[u8]>,
    /// What went wrong with it, if anything.
    pub(super) scar: Option<Scar>,
}

/// An operation that waits.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Program(Ppn, Arc<Page>),
    Erase(BlockId),
    MarkBad(BlockId),
}

/// What becomes of an operation when power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Lost,
    Done,
    /// A program that leaves its page like this.
    Scarred(Scar),
    /// An erase that leaves each page of its block as it was or torn.
    Torn,
    /// An erase that was done for some pages of its block, and what was programmed behind it for some.
    Mixed,
}

/// What a page shows.
pub(super) enum Shown<'a> {
    Waiting(&'a Page),
    /// Its block waits to be erased.
    Blank,
    /// What the chip below shows.
    Below,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    waiting: VecDeque<Operation>,
    /// Operations that have left the queue.
    gone: u64,
    pages: BTreeMap<Ppn, Arc<Page>>,
    /// How many erases of a block wait.
    erases: BTreeMap<BlockId, u32>,
    bad: BTreeSet<BlockId>,
}

impl Cache {
    pub(super) fn shown(&self, page: Ppn, geometry: &Geometry) -> Shown<'_> {
        match self.pages.get(&page) {
            Some(waiting) => Shown::Waiting(waiting),
            None if self.erases.contains_key(&geometry.block_of(page)) => Shown::Blank,
            None => Shown::Below,
        }
    }

    pub(super) fn erases(&self, block: BlockId) -> u32 {
        self.erases.get(&block).copied().unwrap_or(0)
    }

    pub(super) fn is_bad(&self, block: BlockId) -> bool {
        self.bad.contains(&block)
    }

    pub(super) fn program(&mut self, to: Ppn, page: Page) {
        let page = Arc::new(page);
        self.pages.insert(to, Arc::clone(&page));
        self.waiting.push_back(Operation::Program(to, page));
    }

    pub(super) fn erase(&mut self, block: BlockId, geometry: &Geometry) {
        for page in 0..geometry.pages_per_block {
            self.pages.remove(&geometry.ppn(block, page));
        }
        *self.erases.entry(block).or_default() += 1;
        self.waiting.push_back(Operation::Erase(block));
    }

    pub(super) fn mark_bad(&mut self, block: BlockId) {
        self.bad.insert(block);
        self.waiting.push_back(Operation::MarkBad(block));
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The number of the next operation, counting all that ever waited.
    pub(super) fn end(&self) -> u64 {
        self.gone + self.waiting.len() as u64
    }

    /// Lets go of the oldest operation, if its number is below `end`.
    pub(super) fn pop(&mut self, end: u64) -> Option<Operation> {
        let oldest = (self.gone < end).then(|| self.waiting.pop_front()).flatten()?;
        self.gone += 1;
        match &oldest {
            Operation::Program(to, page) => {
                if self.pages.get(to).is_some_and(|newest| Arc::ptr_eq(newest, page)) {
                    self.pages.remove(to);
                }
            }
            Operation::Erase(block) => {
                if let Some(erases) = self.erases.get_mut(block) {
                    *erases -= 1;
                    if *erases == 0 {
                        self.erases.remove(block);
                    }
                }
            }
            Operation::MarkBad(block) => {
                self.bad.remove(block);
            }
        }
        Some(oldest)
    }

    /// Power fails: draws what becomes of every operation, and forgets them.
    ///
    /// An erase lasts only with everything before it. Therefore one is drawn that is the last to last,
    /// wholly or in part: what was done before it is all done. Of the rest each program is kept, lost
    /// or torn, unless its block was to be erased before.
    pub(super) fn lose(
        &mut self,
        geometry: &Geometry,
        in_order: bool,
        draws: &mut Xoshiro256PlusPlus,
    ) -> Vec<(Operation, Fate)> {
        let waiting = std::mem::take(self).waiting;
        let erases: Vec<usize> =
            (0..waiting.len()).filter(|&at| matches!(waiting[at], Operation::Erase(_))).collect();
        // None of them is as likely as each.
        let last = erases.get(draws.random_range(0..=erases.len())).copied();
        let how = [Fate::Done, Fate::Torn, Fate::Mixed][draws.random_range(0..3)];
        // Now and then all of the rest is kept, or nothing.
        let kept = (draws.random_range(-0.5..=1.5_f64)).clamp(0.0, 1.0);

        let mut lost_blocks = BTreeSet::new();
        let mut fates = Vec::with_capacity(waiting.len());
        for (at, operation) in waiting.into_iter().enumerate() {
            let block = match &operation {
                Operation::Program(to, _) => geometry.block_of(*to),
                Operation::Erase(block) | Operation::MarkBad(block) => *block,
            };
            let is_erase = matches!(operation, Operation::Erase(_));
            let fate = if last.is_some_and(|last| at < last) {
                Fate::Done
            } else if last == Some(at) {
                if how == Fate::Torn {
                    lost_blocks.insert(block);
                }
                how
            } else if is_erase {
                lost_blocks.insert(block);
                Fate::Lost
            } else if lost_blocks.contains(&block) || !draws.random_bool(kept) {
                Fate::Lost
            } else if matches!(operation, Operation::Program(..)) && draws.random_bool(0.3) {
                Fate::Scarred(if draws.random_bool(0.5) { Scar::Torn } else { Scar::TornPayload })
            } else {
                Fate::Done
            };
            fates.push((operation, fate));
        }
        if in_order {
            keep_holes(&mut fates, geometry);
        }
        fates
    }
}

/// A page that was lost in front of one that was kept is programmed, but shows itself as blank: the chip
/// below knows no holes. Both are of the same life of their block, for what was done before an erase
/// that left a trace is done, and what was done after one that left none is lost.
fn keep_holes(fates: &mut [(Operation, Fate)], geometry: &Geometry) {
    let mut kept_behind = BTreeSet::new();
    for (operation, fate) in fates.iter_mut().rev() {
        let Operation::Program(to, _) = operation else { continue };
        let block = geometry.block_of(*to);
        if *fate != Fate::Lost {
            kept_behind.insert(block);
        } else if kept_behind.contains(&block) {
            *fate = Fate::Scarred(Scar::Blank);
        }
    }
}
