//! Bits that are read wrong, and how many of them can be corrected.
//!
//! Each KiB of a page is corrected by itself. Of wrong bits there are two kinds: those that are wrong
//! in one read only, and those that have turned until the block is erased.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand::RngExt;
use rand_distr::{Distribution, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_flash::{BlockId, Geometry, Ppn};

use super::Faults;

/// Bytes that are corrected together.
const CODEWORD: u32 = 1024;

/// The result of the error correction of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Correction {
    /// There was nothing to correct.
    Clean,
    /// The data are valid again.
    Corrected,
    /// There was too much to correct.
    Failed,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    /// Bits that have turned in a codeword of a page, if any.
    turned: BTreeMap<(Ppn, u32), u32>,
    /// Blocks reported as ailing since they were erased.
    reported: BTreeSet<BlockId>,
    /// Blocks that are still to be reported.
    ailing: VecDeque<BlockId>,
}

impl Bits {
    /// Turns bits of a page, all in its first codeword.
    pub(super) fn turn(&mut self, page: Ppn, bits: u32) {
        *self.turned.entry((page, 0)).or_default() += bits;
    }

    /// A page is read.
    pub(super) fn read(
        &mut self,
        page: Ppn,
        geometry: &Geometry,
        faults: &Faults,
        draws: &mut Xoshiro256PlusPlus,
    ) -> Correction {
        let codewords = geometry.page_size.div_ceil(CODEWORD);
        let bits = f64::from(geometry.page_size) * 8.0;
        for _ in 0..how_many(bits * faults.disturb, draws) {
            *self.turned.entry((page, draws.random_range(0..codewords))).or_default() += 1;
        }
        let flipped = how_many(bits * faults.flip, draws);
        if flipped == 0 && self.turned.range((page, 0)..=(page, codewords)).next().is_none() {
            return Correction::Clean;
        }
        let mut wrong: BTreeMap<u32, u32> = self
            .turned
            .range((page, 0)..=(page, codewords))
            .map(|(at, bits)| (at.1, *bits))
            .collect();
        for _ in 0..flipped {
            *wrong.entry(draws.random_range(0..codewords)).or_default() += 1;
        }
        let worst = wrong.into_values().max().unwrap_or(0);
        if worst > faults.correctable / 2 {
            let block = geometry.block_of(page);
            if self.reported.insert(block) {
                self.ailing.push_back(block);
            }
        }
        if worst > faults.correctable { Correction::Failed } else { Correction::Corrected }
    }

    /// A block was erased, or a page programmed: nothing of its bits is left.
    pub(super) fn renew(&mut self, first: Ppn, last: Ppn) {
        while let Some((&at, _)) = self.turned.range((first, 0)..=(last, u32::MAX)).next() {
            self.turned.remove(&at);
        }
    }

    /// Lets an erased block be reported again.
    pub(super) fn forget(&mut self, block: BlockId) {
        if self.reported.remove(&block) {
            self.ailing.retain(|ailing| *ailing != block);
        }
    }

    pub(super) fn ailing(&mut self) -> Option<BlockId> {
        self.ailing.pop_front()
    }
}

/// Draws how many of many rare events happen.
fn how_many(mean: f64, draws: &mut Xoshiro256PlusPlus) -> u64 {
    if mean <= 0.0 {
        return 0;
    }
    Poisson::new(mean).map_or(0, |poisson| poisson.sample(draws) as u64)
}
