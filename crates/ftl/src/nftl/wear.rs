//! Erase counts for static wear levelling.
//!
//! Invariant: every usable block is counted, and the least erased block in use and the most
//! erased free one are known.

use alloc::{format, string::String, vec, vec::Vec};

use thermocline_flash::BlockId;

/// The least of a key for each block: a tournament of eights, so that a node's keys share a cache
/// line and most changes end at the first.
#[derive(Clone, Debug)]
struct Least {
    /// The keys of the blocks; above each eight the least of them; and so on, up to one.
    levels: Vec<Vec<u64>>,
}

impl Least {
    const ABSENT: u64 = u64::MAX;

    fn new(blocks: usize) -> Self {
        let mut levels = Vec::new();
        let mut keys = blocks.max(1);
        loop {
            levels.push(vec![Self::ABSENT; keys.next_multiple_of(8)]);
            if keys == 1 {
                return Self { levels };
            }
            keys = keys.div_ceil(8);
        }
    }

    fn set(&mut self, block: BlockId, key: u64) {
        let (mut at, mut key) = (block.index(), key);
        for level in &mut self.levels {
            if core::mem::replace(&mut level[at], key) == key {
                return;
            }
            at /= 8;
            let eight = level[8 * at..][..8].iter();
            key = eight.fold(Self::ABSENT, |least, &key| least.min(key));
        }
    }

    fn remove(&mut self, block: BlockId) {
        self.set(block, Self::ABSENT);
    }

    /// The high and the low half of the least key.
    fn get(&self) -> Option<(u32, BlockId)> {
        let key = self.levels.last()?[0];
        (key != Self::ABSENT).then_some(((key >> 32) as u32, BlockId(key as u32)))
    }
}

/// Erase counts of all usable blocks, indexed for levelling.
#[derive(Clone, Debug)]
pub(super) struct Wear {
    /// The greatest allowed difference of erase counts.
    gap: u32,
    /// A sorted histogram of erase counts. Levelling keeps the number of distinct counts small.
    counts: Vec<(u32, u32)>,
    least_erased_in_use: Least,
    most_erased_free: Least,
}

impl Wear {
    pub(super) fn new(blocks: usize, gap: u32) -> Self {
        let none = Least::new(blocks);
        Self { gap, counts: Vec::new(), least_erased_in_use: none.clone(), most_erased_free: none }
    }

    /// A block is there, free, and erased that many times.
    pub(super) fn add(&mut self, block: BlockId, erases: u32) {
        self.count(erases);
        self.most_erased_free.set(block, falling(erases, block));
    }

    /// A free block came into use.
    pub(super) fn taken(&mut self, block: BlockId, erases: u32) {
        self.most_erased_free.remove(block);
        self.least_erased_in_use.set(block, rising(erases, block));
    }

    /// A block in use was erased for that many times in all, once more than before, and is free.
    pub(super) fn erased(&mut self, block: BlockId, before: u32, erases: u32) {
        self.discount(before);
        self.count(erases);
        self.least_erased_in_use.remove(block);
        self.most_erased_free.set(block, falling(erases, block));
    }

    /// A block in use can be used no more.
    pub(super) fn retired(&mut self, block: BlockId, erases: u32) {
        self.discount(erases);
        self.least_erased_in_use.remove(block);
    }

    fn count(&mut self, erases: u32) {
        match self.counts.binary_search_by_key(&erases, |&(erases, _)| erases) {
            Ok(at) => self.counts[at].1 += 1,
            Err(at) => self.counts.insert(at, (erases, 1)),
        }
    }

    fn discount(&mut self, erases: u32) {
        if let Ok(at) = self.counts.binary_search_by_key(&erases, |&(erases, _)| erases) {
            self.counts[at].1 -= 1;
            if self.counts[at].1 == 0 {
                self.counts.remove(at);
            }
        }
    }

    /// The least and the most that any block was erased.
    fn extremes(&self) -> Option<(u32, u32)> {
        Some((self.counts.first()?.0, self.counts.last()?.0))
    }

    /// The block to be moved and the block that takes its data, if that is due.
    pub(super) fn due(&self) -> Option<(BlockId, BlockId)> {
        let (least, most) = self.extremes()?;
        if most - least <= self.gap {
            return None;
        }
        let (in_use, block) = self.least_erased_in_use.get()?;
        let (_, worn) = self.most_erased_free.get()?;
        (in_use == least).then_some((block, worn))
    }

    /// Compares the tables with the erase counts of `usable` blocks: those in use and the free
    /// ones.
    pub(super) fn check(
        &self,
        used: impl Iterator<Item = (u32, BlockId)> + Clone,
        free: impl Iterator<Item = (u32, BlockId)> + Clone,
        usable: u32,
    ) -> Result<(), String> {
        let young = used.clone().min();
        let worn = free.clone().max_by_key(|&(n, b)| (n, core::cmp::Reverse(b)));
        let all = || used.clone().chain(free.clone()).map(|(erases, _)| erases);
        let extremes = all().min().zip(all().max());
        if self.extremes() != extremes {
            return Err(format!("erase counts reach from {extremes:?}, not {:?}", self.extremes()));
        }
        if self.counts.iter().map(|&(_, blocks)| blocks).sum::<u32>() != usable {
            return Err("blocks are missing from the erase counts".into());
        }
        if self.least_erased_in_use.get() != young {
            return Err(format!("{young:?} is the least erased block in use"));
        }
        if self.most_erased_free.get().map(|(n, b)| (!n, b)) != worn {
            return Err(format!("{worn:?} is the most erased free block"));
        }
        Ok(())
    }
}

/// Keys of which the least is that of the least erased block, the lowest among equals...
const fn rising(erases: u32, block: BlockId) -> u64 {
    (erases as u64) << 32 | block.0 as u64
}

/// ... and of the most erased.
const fn falling(erases: u32, block: BlockId) -> u64 {
    rising(!erases, block)
}
