//! The duel: ghosts do with a sample of the pages what the whole could do, each by a rule of its own, and the whole
//! follows the best.
//!
//! A page in so many is in the sample, one of each group of neighbours, chosen by a hash; the blocks of the ghosts
//! are smaller by that factor, or fewer, so that they have the share of spare blocks that the device has. The rule in force has a
//! ghost too: what a small device copies is compared with what small devices copy. Copies fade, so that a rule may come
//! into its own later; another one is followed only if it copies clearly less, so that near ties change nothing.

use alloc::{format, string::String, vec::Vec};

use thermocline_flash::Lpn;

use super::{
    Device, Survival, SurvivalParams,
    curves::Exponents,
    ghost::{Ghost, MOST_BLOCKS, PAGES},
};
use crate::trigger::Watermarks;

/// One page in so many is in the sample, as a power of 2: at least.
const LEAST_SHIFT: u32 = 3;
/// Blocks of a ghost, about: with more of them a verdict is no better.
const BLOCKS: u32 = 1024;
/// Spare blocks without which there is no room for rules that differ.
const LEAST_SPARE: u32 = 8;
/// Verdicts while as much is written as a ghost holds.
const VERDICTS: u32 = 4;
/// What is left of the evidence after each, in tenths.
const KEPT: u64 = 8;
/// Another rule is followed if it copies less by one part in so many, and by one page in so many that were written.
const CLEARLY: u64 = 32;
const OF_WRITES: u64 = 256;

/// What the duel is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) exponents: Exponents,
    /// Streams as a multiple of what the spare blocks suggest, in halves.
    pub(super) halves: u32,
}

impl Rule {
    const fn new(hazard: f64, age: f64, halves: u32) -> Self {
        Self { exponents: Exponents { hazard, age }, halves }
    }

    /// How many streams it wants where so many are suggested, and so many are there at most.
    pub(super) fn streams(self, suggested: u8, most: u8) -> u8 {
        (u32::from(suggested) * self.halves / 2).clamp(2, most.into()) as u8
    }
}

/// The rivals of the rule that the parameters tell.
const RIVALS: [Rule; 3] =
    [Rule::new(0.2, 0.2, 4), Rule::new(0.8, 0.0, 1), Rule::new(0.0, 0.0, 2)];

/// The ghosts, and whom the whole follows.
#[derive(Clone, Debug)]
pub(super) struct Duel {
    /// One page in so many is in the sample, as a power of 2.
    shift: u32,
    ghosts: Vec<(Rule, Ghost)>,
    /// Logical pages of each ghost.
    logical_pages: u32,
    leader: usize,
    /// Pages written to the ghosts since the last verdict.
    written: u32,
    /// The same before, faded as copies are.
    evidence: u64,
    changes: u32,
}

impl Duel {
    /// Rivals on a device, or why there cannot be any.
    pub(super) fn new(params: &SurvivalParams, device: &Device) -> Result<Self, String> {
        let Device { logical_pages, pages_per_block, banks, blocks } = *device;
        if pages_per_block < 2 * PAGES {
            return Err(format!("blocks of fewer than {} pages", 2 * PAGES));
        }
        // A ghost is one bank. Its blocks are smaller than the device's, and where that is not enough, or more than
        // enough blocks would be left, fewer.
        let of_bank = blocks / banks;
        let fewer = (blocks * (pages_per_block / PAGES)).div_ceil(BLOCKS.min(of_bank)).max(1 << LEAST_SHIFT);
        let shift = fewer.next_power_of_two().ilog2();
        let pages = u64::from(blocks) * u64::from(pages_per_block);
        let reserve = Watermarks::default().reserve * banks;
        let of_ghost = (pages - u64::from(reserve * pages_per_block)) >> shift;
        let blocks = (of_ghost / u64::from(PAGES)) as u32 + Watermarks::default().reserve;
        let logical_pages = (logical_pages >> shift) + 1;
        let ghost = Device { logical_pages, pages_per_block: PAGES, banks: 1, blocks };
        if ghost.spare() < LEAST_SPARE {
            return Err(format!("{} spare blocks in a ghost, {LEAST_SPARE} are needed", ghost.spare()));
        }
        debug_assert!(blocks <= MOST_BLOCKS, "{blocks} blocks");
        let own = Rule {
            exponents: Exponents { hazard: params.hazard, age: params.age },
            halves: 2,
        };
        let rules = core::iter::once(own).chain(RIVALS.into_iter().filter(|rival| *rival != own));
        let ghosts = rules
            .map(|rule| (rule, Ghost::new(Survival::new(params, &ghost, rule, 0), blocks, logical_pages)))
            .collect();
        Ok(Self { shift, ghosts, logical_pages, leader: 0, written: 0, evidence: 0, changes: 0 })
    }

    /// The ghosts' number of a page, if it is in the sample.
    #[inline(always)]
    fn sample(&self, lpn: Lpn) -> Option<u16> {
        let group = lpn.0 >> self.shift;
        let chosen = group.wrapping_mul(0x9E37_79B1) >> (32 - self.shift);
        (lpn.0 & ((1 << self.shift) - 1) == chosen).then_some(group as u16)
    }

    pub(super) fn filled(&mut self, lpn: Lpn) {
        if let Some(page) = self.sample(lpn) {
            self.ghosts.iter_mut().for_each(|(_, ghost)| ghost.fill(page));
        }
    }

    pub(super) fn trimmed(&mut self, lpn: Lpn) {
        if let Some(page) = self.sample(lpn) {
            self.ghosts.iter_mut().for_each(|(_, ghost)| ghost.trim(page));
        }
    }

    /// The host wrote a page; returns a rule that is to be followed from now on.
    #[inline(always)]
    pub(super) fn written(&mut self, lpn: Lpn) -> Option<Rule> {
        let page = self.sample(lpn)?;
        self.written_to_ghosts(page)
    }

    #[inline(never)]
    fn written_to_ghosts(&mut self, page: u16) -> Option<Rule> {
        self.ghosts.iter_mut().for_each(|(_, ghost)| ghost.write(page));
        self.written += 1;
        (self.written * VERDICTS >= self.logical_pages).then(|| self.verdict()).flatten()
    }

    /// Another rule, if it copies clearly less than the leader's.
    fn verdict(&mut self) -> Option<Rule> {
        self.evidence += u64::from(core::mem::take(&mut self.written));
        let copies = |n: usize| self.ghosts[n].1.copies;
        let best = (0..self.ghosts.len()).min_by_key(|&n| copies(n)).unwrap_or(0);
        let (least, own) = (copies(best), copies(self.leader));
        let is_clear = own - least > own / CLEARLY + self.evidence / OF_WRITES;
        for (_, ghost) in &mut self.ghosts {
            ghost.copies = ghost.copies * KEPT / 10;
        }
        self.evidence = self.evidence * KEPT / 10;
        if !is_clear {
            return None;
        }
        (self.leader, self.changes) = (best, self.changes + 1);
        Some(self.ghosts[best].0)
    }

    /// Whom the whole follows, in words.
    pub(super) fn report(&self) -> String {
        let Rule { exponents: Exponents { hazard, age }, halves } = self.ghosts[self.leader].0;
        let streams = ["", "half the streams", "all streams", "", "twice the streams"][halves as usize];
        format!(
            "hazard={hazard}, age={age}, {streams}; {} changes; {} rules on one page in {}; {:?} {}",
            self.changes,
            self.ghosts.len(),
            1_u32 << self.shift, self.ghosts.iter().map(|g| g.1.copies).collect::<Vec<_>>(), self.evidence
        )
    }
}
