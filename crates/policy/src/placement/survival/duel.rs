//! The duel: ghosts simulate rival rules on a sample of the pages, and the device follows the best.
//!
//! One page of each group of neighbours is in the sample, chosen by a hash. A ghost has as many
//! blocks as a bank of the device, with proportionally fewer pages, so that streams cost it as much
//! space. On large devices it has fewer blocks. The configured rule has a ghost too, so that ghosts
//! are compared with ghosts. Copy counts decay, so that another rule may win later. Another rule is
//! followed only if it copies clearly less, so near ties change nothing.
//!
//! Memory: 13 to 17 bytes for each page of a ghost (map, owner, mean, and its share of a block).

use alloc::{format, string::String, vec::Vec};
use core::ops::RangeInclusive;

use thermocline_flash::Lpn;

use super::{Survival, SurvivalParams, curves::Exponents, ghost::Ghost, shares::spare};
use crate::{Context, trigger::Watermarks};

/// One page in 2 to this power is in the sample, if a ghost's blocks then have [`PAGES`] pages.
const SHIFT: u32 = 3;
/// Pages in a ghost's block. Fewer predict larger blocks badly; more are not needed.
const PAGES: RangeInclusive<u32> = 16..=32;
/// Approximate maximum number of blocks in a ghost. A ghost needs as many as the device, because
/// streams keep blocks open, but more than this do not improve the verdict.
const BLOCKS: u32 = 4096;
/// Minimum number of spare blocks with which rules can differ.
const LEAST_SPARE: u32 = 8;
/// Verdicts while as much is written as a ghost holds.
const VERDICTS: u32 = 4;
/// Share of the evidence kept after each verdict, in tenths.
const KEPT: u64 = 8;
/// Another rule is followed if it copies less than the leader by each of three margins: a part of
/// the leader's copies, a part of the pages written, and a multiple of the random variation.
const OF_COPIES: u64 = 32;
const OF_WRITES: u64 = 128;
const CHANCE: u64 = 3;

/// A rule in the duel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) exponents: Exponents,
    /// Number of streams, in halves of the number that the spare blocks suggest.
    pub(super) halves: u32,
}

impl Rule {
    const fn new(hazard: f64, age: f64, halves: u32) -> Self {
        Self { exponents: Exponents { hazard, age }, halves }
    }

    /// The number of streams of the rule, given the suggested and the maximum number.
    pub(super) fn streams(self, suggested: u8, most: u8) -> u8 {
        (u32::from(suggested) * self.halves / 2).clamp(2, most.into()) as u8
    }
}

/// The rivals of the configured rule.
const RIVALS: [Rule; 3] = [Rule::new(0.2, 0.2, 4), Rule::new(0.8, 0.0, 1), Rule::new(0.0, 0.0, 2)];

/// The ghosts, and the rule that the device follows.
#[derive(Clone, Debug)]
pub(super) struct Duel {
    /// One page in 2 to this power is in the sample.
    shift: u32,
    ghosts: Vec<(Rule, Ghost)>,
    /// Logical pages of each ghost.
    logical_pages: u32,
    leader: usize,
    /// Pages written to the ghosts since the last verdict.
    written: u32,
    /// Pages written before that, decayed like the copies.
    evidence: u64,
    changes: u32,
}

impl Duel {
    /// The rivals for a device, or the reason why there cannot be any.
    pub(super) fn new(params: &SurvivalParams, device: &Context) -> Result<Self, String> {
        let Context { logical_pages, pages_per_block, banks, blocks, .. } = *device;
        let (least, most) = (*PAGES.start(), *PAGES.end());
        if pages_per_block < 2 * least {
            return Err(format!("blocks of fewer than {} pages", 2 * least));
        }
        // A ghost is one bank. Its blocks are smaller than the device's. If that is not enough, it
        // has fewer.
        let suitable = (pages_per_block >> SHIFT).clamp(least, most);
        let smaller = (pages_per_block / suitable).ilog2();
        let of_bank = device.blocks_of_bank();
        let fewer = (banks * of_bank.div_ceil(BLOCKS)).next_power_of_two().ilog2();
        let shift = (smaller + fewer).max(SHIFT);
        let pages_of_block = 1 << (pages_per_block >> smaller).ilog2();
        let reserve = Watermarks::default().reserve;
        let blocks = blocks.saturating_sub(device.system_blocks + reserve * banks);
        let pages = u64::from(blocks) * u64::from(pages_per_block);
        let blocks = ((pages >> shift) / u64::from(pages_of_block)) as u32 + reserve;
        let logical_pages = (logical_pages >> shift) + 1;
        let ghost = Context {
            logical_pages,
            pages_per_block: pages_of_block,
            blocks,
            ..Context::smallest()
        };
        if spare(&ghost) < LEAST_SPARE {
            return Err(format!(
                "{} spare blocks in a ghost, {LEAST_SPARE} are needed",
                spare(&ghost)
            ));
        }
        let own =
            Rule { exponents: Exponents { hazard: params.hazard, age: params.age }, halves: 2 };
        let rules = core::iter::once(own).chain(RIVALS.into_iter().filter(|rival| *rival != own));
        let ghosts = rules
            .map(|rule| (rule, Ghost::new(Survival::new(params, &ghost, rule, 0), &ghost)))
            .collect();
        Ok(Self { shift, ghosts, logical_pages, leader: 0, written: 0, evidence: 0, changes: 0 })
    }

    /// The number of a page within the ghosts, if it is in the sample.
    #[inline(always)]
    fn sample(&self, lpn: Lpn) -> Option<u32> {
        let group = lpn.0 >> self.shift;
        let chosen = group.wrapping_mul(0x9E37_79B1) >> (32 - self.shift);
        (lpn.0 & ((1 << self.shift) - 1) == chosen).then_some(group)
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

    /// Records a host write. Returns a rule if the device is to follow another from now on.
    #[inline(always)]
    pub(super) fn written(&mut self, lpn: Lpn) -> Option<Rule> {
        let page = self.sample(lpn)?;
        self.written_to_ghosts(page)
    }

    #[inline(never)]
    fn written_to_ghosts(&mut self, page: u32) -> Option<Rule> {
        self.ghosts.iter_mut().for_each(|(_, ghost)| ghost.write(page));
        self.written += 1;
        (self.written * VERDICTS >= self.logical_pages).then(|| self.verdict()).flatten()
    }

    /// Another rule, if it copies clearly less than the leader.
    fn verdict(&mut self) -> Option<Rule> {
        self.evidence += u64::from(core::mem::take(&mut self.written));
        let copies = |n: usize| self.ghosts[n].1.copies;
        let best = (0..self.ghosts.len()).min_by_key(|&n| copies(n)).unwrap_or(0);
        let (least, own) = (copies(best), copies(self.leader));
        let chance = CHANCE * own.isqrt();
        let is_clear = own - least > own / OF_COPIES + self.evidence / OF_WRITES + chance;
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

    /// The rule that the device follows, in words.
    pub(super) fn report(&self) -> String {
        let Rule { exponents: Exponents { hazard, age }, halves } = self.ghosts[self.leader].0;
        let streams =
            ["", "half the streams", "all streams", "", "twice the streams"][halves as usize];
        format!(
            "hazard={hazard}, age={age}, {streams}; {} changes; {} rules on one page in {}",
            self.changes,
            self.ghosts.len(),
            1_u32 << self.shift
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Args, placement::Registered};

    /// The default parameters.
    fn defaults() -> SurvivalParams {
        SurvivalParams::read(&Args::default()).expect("defaults")
    }

    fn draws() -> impl FnMut(u32) -> u32 {
        let mut state = 88_172_645_463_325_252_u64;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (((state >> 32) * u64::from(below)) >> 32) as u32
        }
    }

    #[test]
    fn ghosts_have_the_spare_blocks_of_the_device_and_pages_for_all_of_the_sample() {
        for (blocks, pages_per_block, banks) in
            [(400, 256, 1), (400, 64, 1), (4000, 100, 8), (40_000, 1024, 1), (100_000, 2048, 16)]
        {
            let logical_pages = blocks / 10 * 9 * pages_per_block;
            let device =
                Context { logical_pages, pages_per_block, banks, blocks, ..Context::smallest() };
            let mut duel = Duel::new(&defaults(), &device).expect("there is room");
            let pages = |lpn| duel.sample(Lpn(lpn));
            assert!((0..logical_pages).filter_map(pages).all(|page| page < duel.logical_pages));
            let sampled = (0..logical_pages).filter(|&lpn| duel.sample(Lpn(lpn)).is_some()).count();
            let share = f64::from(logical_pages) / sampled as f64;
            assert!(
                (share / f64::from(1 << duel.shift) - 1.0).abs() < 0.01,
                "{device:?}: 1/{share}"
            );
            // The last page is covered too.
            duel.filled(Lpn(logical_pages - 1));
        }
    }

    #[test]
    fn small_devices_have_no_duel_and_say_why() {
        let small = |blocks, pages_per_block| {
            let device = Context {
                logical_pages: 90 * pages_per_block,
                pages_per_block,
                blocks,
                ..Context::smallest()
            };
            Duel::new(&defaults(), &device).err()
        };
        assert_eq!(small(110, 256), None);
        assert!(small(110, 31).is_some_and(|why| why.contains("32 pages")));
        assert!(small(96, 256).is_some_and(|why| why.contains("spare blocks")));
    }

    #[test]
    fn another_rule_is_followed_when_it_copies_clearly_less() {
        let device = Context {
            logical_pages: 90 * 256,
            pages_per_block: 256,
            blocks: 110,
            ..Context::smallest()
        };
        let mut duel = Duel::new(&defaults(), &device).expect("there is room");
        let round = |duel: &mut Duel, copies: [u64; 4]| {
            for ((_, ghost), copies) in duel.ghosts.iter_mut().zip(copies) {
                ghost.copies = copies;
            }
            duel.written = 4000;
            duel.verdict()
        };
        assert_eq!(round(&mut duel, [1000, 990, 1200, 1300]), None, "a near tie");
        assert_eq!(round(&mut duel, [1000, 700, 1200, 1300]), Some(RIVALS[0]));
        assert_eq!(round(&mut duel, [650, 700, 1200, 1300]), None, "a near tie");
        assert_eq!(round(&mut duel, [300, 700, 1200, 1300]).map(|rule| rule.halves), Some(2));
        assert_eq!((duel.leader, duel.changes), (0, 2));
        assert_eq!(round(&mut duel, [12, 2, 2, 2]), None, "chance");
    }

    #[test]
    fn a_change_of_rule_and_streams_loses_no_page() {
        let context = Context {
            logical_pages: 300 * 64,
            blocks: 400,
            pages_per_block: 64,
            ..Context::smallest()
        };
        let mut whole = Survival::build(&Args::default(), &context).expect("defaults");
        let most = whole.streams_of_data();
        let suggested = whole.suggested;
        assert_eq!((suggested, most), (8, 16));
        let used = |whole: &Survival| {
            (0..most).filter(|&s| crate::placement::Streams::is_used(whole, s)).count()
        };
        for (rule, streams) in [(RIVALS[0], 16), (RIVALS[1], 4), (RIVALS[2], 8), (RIVALS[1], 4)] {
            whole.follow(rule);
            assert_eq!(used(&whole), streams, "{rule:?}");
        }
        let mut draw = draws();
        let Ok(duel) = &mut whole.duel else { panic!("there is room for a duel") };
        (0..300 * 64).for_each(|lpn| duel.filled(Lpn(lpn)));
        for n in 0..400_000 {
            let lpn = if draw(10) < 9 { draw(300 * 6) } else { draw(300 * 64) };
            if n % 50 == 0 {
                duel.trimmed(Lpn(lpn));
            } else {
                duel.written(Lpn(lpn));
            }
        }
        for (rule, ghost) in &duel.ghosts {
            ghost.check();
            assert!(ghost.copies > 100, "{rule:?}");
        }
    }
}
