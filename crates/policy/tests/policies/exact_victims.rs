//! Victims are exact: after any history of the blocks, the index finds the same block as a scan of
//! all. The scan keeps its own record of times and counts, and shares only the policy's formula
//! with the index.

use crate::common::{BY_OTHER_RULES, Draws, Variant, variants};
use proptest::prelude::*;
use thermocline_flash::{BlockId, Lpn};
use thermocline_policy::{
    Args, BlockTable, BlockView, Context, PolicyInfo, Search, State,
    age::AgeSource,
    params::NoParams,
    placement::Entry,
    victim::{Factor, Victim, VictimEntry},
};

fn wear_of(victim: &dyn Victim, erases: u32) -> f64 {
    match victim.factor(erases) {
        Factor::Wear(factor) => factor,
        _ => 1.0,
    }
}

/// The test's own record of a block.
#[derive(Clone, Copy)]
struct Seen {
    state: State,
    programmed: u32,
    valid: u32,
    erases: u32,
    opened: u64,
    invalidated: u64,
    youngest: u64,
    programmed_at: u64,
    /// Number of blocks opened before it.
    order: u64,
}

/// Whether the first `num / (den · age)` is less than the second, compared exactly.
fn costs_less(a: [f64; 3], b: [f64; 3]) -> bool {
    let cost = |[num, den, age]: [f64; 3]| if num == 0.0 { 0.0 } else { num / (den * age) };
    if !cost(a).is_normal() || !cost(b).is_normal() {
        return cost(a) < cost(b);
    }
    let (this, other) = (a[0] * b[1], b[0] * a[1]);
    let (left, right) = (this * b[2], other * a[2]);
    let rests = (this.mul_add(b[2], -left), other.mul_add(a[2], -right));
    left < right || left == right && rests.0 < rests.1
}

/// A random valid history of a device's blocks.
struct Life {
    blocks: BlockTable,
    seen: Vec<Seen>,
    victim: Box<dyn Victim>,
    transform: thermocline_policy::age::Transform,
    variant: Variant,
    draws: Draws,
    now: u64,
    openings: u64,
    pages: u32,
    shape: Shape,
    free: Vec<u32>,
    open: Vec<u32>,
    closed: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    blocks: u32,
    pages: u32,
    /// Longest step of the clock.
    jump: u64,
    /// The clock stands still for about this number of events.
    calm: u32,
    time_scale: f64,
    /// Maximum number of initial erases of a block.
    erases: u32,
    seed: u64,
}

impl Life {
    fn new(variant: &Variant, shape: Shape) -> Self {
        let context = Context {
            logical_pages: shape.blocks * shape.pages,
            blocks: shape.blocks,
            pages_per_block: shape.pages,
            banks: 1,
            time_scale: shape.time_scale,
            seed: shape.seed,
            ..Context::smallest()
        };
        let victim = variant.build(&context);
        let mut blocks = BlockTable::new(shape.blocks, shape.pages, &*victim);
        let mut draws = Draws(shape.seed);
        let mut seen = Vec::new();
        let mut free = Vec::new();
        for b in 0..shape.blocks {
            let erases = draws.index(shape.erases as usize + 1) as u32;
            blocks.set_erases(BlockId(b), erases);
            let bad = shape.blocks > 4 && draws.one_in(50);
            if bad {
                blocks.retire(BlockId(b));
            } else {
                free.push(b);
            }
            seen.push(Seen {
                state: if bad { State::Unusable } else { State::Free },
                programmed: 0,
                valid: 0,
                erases,
                opened: 0,
                invalidated: 0,
                youngest: 0,
                programmed_at: 0,
                order: 0,
            });
        }
        Self {
            blocks,
            seen,
            victim,
            transform: variant.transform(shape.time_scale),
            variant: variant.clone(),
            draws,
            now: 0,
            openings: 0,
            pages: shape.pages,
            shape,
            free,
            open: Vec::new(),
            closed: Vec::new(),
        }
    }

    fn tick(&mut self) {
        let Shape { jump, calm, .. } = self.shape;
        if self.draws.one_in(calm) {
            self.now += self.draws.index(jump as usize + 1) as u64;
        }
        if self.draws.one_in(500 * calm) {
            self.now += 1000 * jump;
        }
    }

    fn open(&mut self) {
        if self.free.is_empty() {
            return;
        }
        let b = if self.draws.one_in(2) {
            self.free.remove(0)
        } else {
            let at = self.draws.index(self.free.len());
            self.free.swap_remove(at)
        };
        // Wear levelling opens blocks for old data.
        let stamp = if self.draws.one_in(16) { self.now / 2 } else { self.now };
        let stream = self.draws.index(3) as u8;
        self.blocks.open(BlockId(b), stream, stamp);
        let s = &mut self.seen[b as usize];
        s.order = self.openings;
        self.openings += 1;
        (s.state, s.programmed, s.valid) = (State::Open, 0, 0);
        (s.opened, s.invalidated, s.youngest, s.programmed_at) = (stamp, stamp, 0, stamp);
        self.open.push(b);
    }

    fn program(&mut self, at: usize) {
        let b = self.open[at];
        // Every third block has only copies, with the times of old blocks.
        let copies = self.seen[b as usize].order.is_multiple_of(3) || self.draws.one_in(3);
        if copies && !self.closed.is_empty() {
            let from = self.closed[self.draws.index(self.closed.len())];
            let youngest = self.blocks.stamp(BlockId(from));
            self.blocks.copied(BlockId(b), 1, youngest, self.now);
            let age = self.seen[from as usize].youngest;
            let s = &mut self.seen[b as usize];
            s.youngest = s.youngest.max(age);
        } else {
            self.blocks.wrote(BlockId(b), self.now);
            self.seen[b as usize].youngest = self.now;
        }
        let s = &mut self.seen[b as usize];
        s.valid += 1;
        s.programmed += 1;
        s.programmed_at = self.now;
        if s.programmed == self.pages || self.draws.one_in(200) {
            s.state = State::Closed;
            self.blocks.close(BlockId(b), &*self.victim, Entry::Indexed);
            self.open.swap_remove(at);
            self.closed.push(b);
        }
    }

    fn invalidate(&mut self, b: u32) {
        let s = &mut self.seen[b as usize];
        if s.valid > 0 {
            s.valid -= 1;
            s.invalidated = self.now;
            self.blocks.invalidate(BlockId(b), self.now);
        }
    }

    /// A page inferred to be garbage turns out to be valid.
    fn revalidate(&mut self, b: u32) {
        let s = &mut self.seen[b as usize];
        if s.valid < s.programmed {
            s.valid += 1;
            s.invalidated = self.now;
            self.blocks.revalidate(BlockId(b), self.now);
        }
    }

    /// A placement sets a block aside, or readmits it.
    fn set_aside_or_readmit(&mut self, b: u32) {
        let s = &mut self.seen[b as usize];
        if s.state == State::Closed {
            self.blocks.set_aside(BlockId(b));
            s.state = State::Aside;
        } else {
            self.blocks.readmit(BlockId(b));
            s.state = State::Closed;
        }
    }

    fn clean(&mut self, b: u32) {
        self.blocks.withdraw(BlockId(b));
        let at = self.closed.iter().position(|&c| c == b).expect("closed");
        self.closed.remove(at);
        let s = &mut self.seen[b as usize];
        s.valid = 0;
        if self.draws.one_in(1000) {
            s.state = State::Unusable; // worn out
            return;
        }
        self.blocks.erased(BlockId(b));
        s.state = State::Free;
        s.erases += 1;
        self.free.push(b);
    }

    /// Performs a random event.
    fn step(&mut self) {
        self.tick();
        let full = self.free.len() + self.open.len() <= 2;
        match self.draws.index(19) {
            0..=6 if !self.open.is_empty() => {
                let at = self.draws.index(self.open.len());
                self.program(at);
            }
            0..=7 if self.open.len() < 3 => self.open(),
            8..=10 if !self.closed.is_empty() => {
                // Hot traffic: few blocks lose most pages.
                let hot = self.closed.len().div_ceil(8);
                let b = self.closed[self.draws.index(hot)];
                self.invalidate(b);
            }
            11..=13 if !self.closed.is_empty() => {
                let b = self.closed[self.draws.index(self.closed.len())];
                self.invalidate(b);
            }
            14 if !self.open.is_empty() => {
                let b = self.open[self.draws.index(self.open.len())];
                self.invalidate(b);
            }
            15 if !self.closed.is_empty() && self.draws.one_in(20) => {
                // A trimmed file: a block becomes garbage completely.
                let b = self.closed[self.draws.index(self.closed.len())];
                while self.seen[b as usize].valid > 0 {
                    self.invalidate(b);
                }
            }
            15 if !self.closed.is_empty() && self.draws.one_in(20) => {
                // Wear levelling empties an arbitrary block.
                let b = self.closed[self.draws.index(self.closed.len())];
                self.clean(b);
            }
            16 if !self.closed.is_empty() && self.draws.one_in(10) => {
                // All pages of a file inferred to be deleted are valid after all.
                let b = self.closed[self.draws.index(self.closed.len())];
                while self.seen[b as usize].valid < self.seen[b as usize].programmed {
                    self.revalidate(b);
                }
            }
            16..=17 if !self.closed.is_empty() => {
                let b = self.closed[self.draws.index(self.closed.len())];
                self.revalidate(b);
            }
            18 if !self.open.is_empty() && self.draws.one_in(2) => {
                let b = self.open[self.draws.index(self.open.len())];
                self.revalidate(b);
            }
            18 if !self.closed.is_empty() && self.draws.one_in(8) => {
                // Only few blocks are set aside at a time.
                let aside =
                    self.closed.iter().find(|&&b| self.seen[b as usize].state == State::Aside);
                let any = self.closed[self.draws.index(self.closed.len())];
                let b = aside.copied().filter(|_| self.draws.one_in(2)).unwrap_or(any);
                self.set_aside_or_readmit(b);
            }
            _ => {}
        }
        if full && let Some(b) = self.choose() {
            self.clean(b.0);
        }
    }

    fn choose(&mut self) -> Option<BlockId> {
        self.victim.choose(&self.blocks, self.now)
    }

    fn is_candidate(&self, b: u32) -> bool {
        let s = &self.seen[b as usize];
        s.state == State::Closed && s.valid < self.pages
    }

    /// The victim by a scan of all blocks.
    fn by_looking_at_all(&self) -> Option<BlockId> {
        let mut best: Option<(BlockId, [f64; 3])> = None;
        for b in (0..self.seen.len() as u32).filter(|&b| self.is_candidate(b)) {
            let s = &self.seen[b as usize];
            let (num, den) = self.victim.ratio(s.valid, self.pages);
            let num = num * wear_of(&*self.victim, s.erases);
            let stamp = match self.victim.age_source() {
                None => None,
                Some(AgeSource::Created) => Some(s.opened),
                Some(AgeSource::LastInvalidation) => Some(s.invalidated),
                Some(AgeSource::Youngest) => Some(s.youngest),
                Some(AgeSource::Closed) => Some(s.programmed_at),
            };
            let age = stamp.map_or(1.0, |at| self.transform.apply(self.now - at));
            // A cost of 0 is the lowest, even for a block of age 0.
            let cost = if num == 0.0 { 0.0 } else { num / (den * age) };
            assert!(!cost.is_nan(), "{:?}: the cost of block {b} is not a number", self.variant);
            let terms = [num, den, age];
            if best.is_none_or(|(_, best)| costs_less(terms, best)) {
                best = Some((BlockId(b), terms));
            }
        }
        best.map(|(block, _)| block)
    }

    /// The candidate with the least weight by a scan of all blocks.
    fn lightest(&self) -> Option<BlockId> {
        let weight = |b: u32| {
            let s = &self.seen[b as usize];
            let (num, den) = self.victim.ratio(s.valid, self.pages);
            num * wear_of(&*self.victim, s.erases) / den
        };
        let candidates = (0..self.seen.len() as u32).filter(|&b| self.is_candidate(b));
        candidates.min_by(|&a, &b| weight(a).total_cmp(&weight(b))).map(BlockId)
    }

    /// The candidate with the lowest value of `of` by a scan of all blocks.
    fn least(&self, of: impl Fn(&Seen) -> u32) -> Option<BlockId> {
        let candidates = (0..self.seen.len() as u32).filter(|&b| self.is_candidate(b));
        candidates.min_by_key(|&b| of(&self.seen[b as usize])).map(BlockId)
    }

    /// Number of blocks chosen by each rule of the policy.
    fn chosen(&self) -> Vec<u64> {
        self.victim.choices().into_iter().map(|(_, count)| count).collect()
    }

    /// The block with the fewest valid pages among the first `window` closed blocks in the order of
    /// opening, or among all if none of those has garbage.
    fn lightest_of_oldest(&self, window: usize) -> Option<BlockId> {
        let mut oldest = self.closed.clone();
        oldest.retain(|&b| self.seen[b as usize].state == State::Closed);
        oldest.sort_by_key(|&b| self.seen[b as usize].order);
        oldest.truncate(window);
        oldest.retain(|&b| self.is_candidate(b));
        let least = oldest.into_iter().min_by_key(|&b| (self.seen[b as usize].valid, b));
        least.map(BlockId).or_else(|| self.lightest())
    }

    fn compare(&mut self, step: usize) {
        assert_eq!(self.blocks.lightest(), self.lightest(), "{:?} at step {step}", self.variant);
        let window = self.variant.args.0.iter().find(|(key, _)| key == "window");
        let expected = match window {
            Some((_, window)) => self.lightest_of_oldest(window.parse().expect("a number")),
            None => self.by_looking_at_all(),
        };
        let chosen = self.choose();
        assert_eq!(
            chosen,
            expected,
            "{:?} at step {step}, time {}: {:?} for {:?}",
            self.variant,
            self.now,
            chosen.map(|b| (self.blocks.block(b), self.blocks.stamp(b))),
            expected.map(|b| (self.blocks.block(b), self.blocks.stamp(b))),
        );
        for (b, s) in self.seen.iter().enumerate() {
            let info = self.blocks.block(BlockId(b as u32));
            assert_eq!((info.valid, info.erases), (s.valid, s.erases), "counts of block {b}");
        }
    }
}

fn by_score() -> Vec<Variant> {
    let all = variants();
    all.into_iter().filter(|v| !BY_OTHER_RULES.contains(&v.entry.info.name)).collect()
}

fn live(variant: &Variant, shape: Shape, steps: usize, every: usize) {
    let mut life = Life::new(variant, shape);
    for step in 0..steps {
        life.step();
        if step % every == 0 {
            life.compare(step);
        }
    }
}

fn shape(blocks: std::ops::Range<u32>, pages: u32) -> impl Strategy<Value = Shape> {
    let jump = prop_oneof![Just(0_u64), Just(1), Just(10), Just(100_000)];
    let calm = prop_oneof![Just(1_u32), Just(3), Just(300)];
    let erases = prop_oneof![Just(0_u32), Just(3), Just(5000)];
    (blocks, jump, calm, 0.5..5000.0, erases, any::<u64>()).prop_map(
        move |(blocks, jump, calm, time_scale, erases, seed)| Shape {
            blocks,
            pages,
            jump,
            calm,
            time_scale,
            erases,
            seed,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_small_device_is_searched_exactly(
        variant in 0..by_score().len(), shape in shape(8..40, 4), steps in 1..1500_usize,
    ) {
        live(&by_score()[variant], shape, steps, 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_medium_device_is_searched_exactly(
        variant in 0..by_score().len(), shape in shape(600..601, 32), steps in 1000..60_000_usize,
    ) {
        live(&by_score()[variant], shape, steps, 41);
    }
}

#[test]
fn every_variant_of_every_policy_is_searched_exactly() {
    let all = by_score();
    for name in BY_OTHER_RULES {
        assert!(thermocline_policy::victim::find(name).is_some(), "{name} is registered");
    }
    assert!(all.iter().any(|v| v.entry.info.name == "greedy"), "by score is what most are");
    for (i, variant) in all.iter().enumerate() {
        for (jump, calm, erases, seed) in [(1, 1, 3, 1), (30, 2, 0, 2), (30, 300, 4, 3)] {
            let seed = seed + 1000 * i as u64;
            let shape =
                Shape { blocks: 300, pages: 12, jump, calm, time_scale: 50.0, erases, seed };
            live(variant, shape, 8_000, 7);
        }
    }
}

#[test]
fn thousands_of_blocks_are_searched_exactly() {
    for (name, age) in [
        ("greedy", None),
        ("fifo", None),
        ("cost-benefit", Some("created")),
        ("cost-benefit", Some("last-invalidation")),
        ("lfs", Some("youngest")),
        ("cost-benefit-sqrt", Some("closed")),
        ("cat", Some("created")),
        ("cat", Some("last-invalidation")),
    ] {
        let args: Vec<_> = age.map(|a| ("age", a)).into_iter().collect();
        let variant = Variant::named(name, &args);
        let shape = Shape {
            blocks: 5000,
            pages: 16,
            jump: 2,
            calm: 1,
            time_scale: 1e5,
            erases: 3,
            seed: 77,
        };
        live(&variant, shape, 400_000, 1601);
    }
}

#[test]
fn the_oldest_blocks_are_searched_exactly() {
    for (i, window) in ["1", "2", "17", "100", "299", "5000"].iter().enumerate() {
        let variant = Variant::named("windowed-greedy", &[("window", window)]);
        for (blocks, steps, every) in [(20, 20_000, 1), (300, 40_000, 7), (5000, 100_000, 401)] {
            let seed = 1 + i as u64;
            let shape =
                Shape { blocks, pages: 12, jump: 2, calm: 1, time_scale: 50.0, erases: 3, seed };
            live(&variant, shape, steps, every);
        }
    }
}

#[test]
fn transformations_that_tie_most_ages_are_searched_exactly() {
    for name in ["cost-benefit", "lfs", "cat"] {
        for age in ["created", "last-invalidation", "youngest", "closed"] {
            for bent in [
                // All ages equal; young ages 0 and old ones the maximum; a time scale of 0.
                [("transform", "power"), ("exponent", "0")],
                [("transform", "power"), ("exponent", "150")],
                [("transform", "log"), ("tau", "0")],
                [("transform", "stair"), ("tau", "0")],
            ] {
                let variant = Variant::named(name, &[bent[0], bent[1], ("age", age)]);
                for (jump, time_scale, seed) in [(1, 3e3, 1), (30, 3e3, 2), (1000, 1e5, 3)] {
                    let erases = 2;
                    let shape =
                        Shape { blocks: 120, pages: 12, jump, calm: 2, time_scale, erases, seed };
                    live(&variant, shape, 20_000, 7);
                }
            }
        }
    }
}

/// A policy as a third party may write it: lists of different valid counts have equal weights.
#[derive(Default)]
struct Untouched {
    search: Search,
}

impl Victim for Untouched {
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        self.search.cheapest(blocks, now, &|age| age as f64)
    }

    fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
        (f64::from(1 + valid / 4), 1.0)
    }

    fn age_source(&self) -> Option<AgeSource> {
        Some(AgeSource::LastInvalidation)
    }
}

#[test]
fn valid_counts_of_equal_weight_are_compared_by_age() {
    static ENTRY: VictimEntry = VictimEntry {
        info: PolicyInfo {
            name: "untouched",
            aliases: &[],
            source: "",
            summary: "",
            params: NoParams::info,
        },
        build: |_, _| Ok(Box::new(Untouched::default())),
    };
    let variant = Variant { entry: &ENTRY, args: Args::default() };
    for (calm, seed) in [(1, 1), (30, 2), (300, 3), (3000, 4)] {
        let shape =
            Shape { blocks: 200, pages: 12, jump: 3, calm, time_scale: 1.0, erases: 0, seed };
        live(&variant, shape, 30_000, 7);
    }
}

#[test]
fn blocks_all_of_one_age_or_of_no_age_are_compared_by_the_rest() {
    // Everything happens in one tick: the ages are 0, and T(0) may be 0. Later all have one age.
    // Equal weights in different terms (6/12 and 3/6) then differ by a rounding, in any subtree.
    for variant in by_score() {
        for seed in 0..8 {
            let shape = Shape {
                blocks: 90,
                pages: [4, 12, 24, 31][seed as usize % 4],
                jump: 0,
                calm: 1,
                time_scale: 9.0,
                erases: 2 + seed as u32 / 4,
                seed,
            };
            let mut life = Life::new(&variant, shape);
            for step in 0..3000 {
                life.step();
                if step % 3 == 0 {
                    life.compare(step);
                }
                if step % 100 == 0 {
                    for later in 1..40 {
                        life.now = 3 * later * later;
                        life.compare(step);
                    }
                    life.now = 0;
                }
            }
        }
    }
}

fn any_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![shape(1..40, 4), shape(600..601, 32)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// Holds for every policy, random or by score.
    #[test]
    fn a_choice_is_a_candidate_and_comes_again_with_its_seed(
        variant in 0..variants().len(), shape in any_shape(), steps in 1..3000_usize,
    ) {
        let variant = &variants()[variant];
        let run = || {
            let mut life = Life::new(variant, shape);
            let mut choices = Vec::new();
            for _ in 0..steps {
                life.step();
                let choice = life.choose();
                let any = (0..life.seen.len() as u32).any(|b| life.is_candidate(b));
                assert_eq!(choice.is_some(), any, "{variant:?}: a choice iff there is a candidate");
                if let Some(b) = choice {
                    assert!(life.is_candidate(b.0), "{variant:?} chose {b:?}");
                }
                choices.push(choice);
            }
            choices
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn another_seed_gives_other_draws() {
    for name in ["random", "d-choices"] {
        let run = |policy_seed| {
            let shape = Shape {
                blocks: 200,
                pages: 8,
                jump: 1,
                calm: 1,
                time_scale: 1.0,
                erases: 0,
                seed: 5,
            };
            let mut life = Life::new(&Variant::named(name, &[]), shape);
            let context = Context {
                logical_pages: 1600,
                blocks: 200,
                pages_per_block: 8,
                banks: 1,
                time_scale: 1.0,
                seed: policy_seed,
                ..Context::smallest()
            };
            life.victim = Variant::named(name, &[]).build(&context);
            for _ in 0..5000 {
                life.step();
            }
            (0..50).map(|_| life.choose()).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2), "{name}");
    }
}
#[test]
fn equal_weights_in_other_terms_are_compared_by_the_same_formula() {
    // v·(t + 1) / (24 − v) is 1 for all of these.
    const EQUAL: [(u32, u32); 7] = [(12, 0), (8, 1), (6, 2), (4, 4), (3, 6), (2, 10), (1, 22)];
    let all = by_score();
    for variant in all.iter().filter(|v| v.entry.info.name == "cat") {
        for seed in 0..40 {
            let shape = Shape {
                blocks: 300,
                pages: 24,
                jump: 0,
                calm: 1,
                time_scale: 9.0,
                erases: 0,
                seed,
            };
            let mut life = Life::new(variant, shape);
            for b in std::mem::take(&mut life.free) {
                let (valid, erases) = EQUAL[life.draws.index(EQUAL.len())];
                life.blocks.set_erases(BlockId(b), erases);
                life.blocks.open(BlockId(b), 0, 0);
                for _ in 0..shape.pages {
                    life.blocks.wrote(BlockId(b), 0);
                }
                life.blocks.close(BlockId(b), &*life.victim, Entry::Indexed);
                for _ in valid..shape.pages {
                    life.blocks.invalidate(BlockId(b), 0);
                }
                let state = State::Closed;
                life.seen[b as usize] = Seen { state, valid, erases, ..life.seen[b as usize] };
            }
            for later in 1..60 {
                life.now = later * later;
                life.compare(0);
            }
        }
    }
}

const LIVES: [(u64, u32, u32, u64); 4] =
    [(1, 1, 3, 1), (30, 2, 0, 2), (30, 300, 4, 3), (0, 1, 9, 4)];

#[test]
fn both_choices_of_the_adaptive_policy_are_exact() {
    let all: Vec<_> = variants().into_iter().filter(|v| v.entry.info.name == "adaptive").collect();
    assert!(all.len() >= 24, "ages, transformations, offsets, resets");
    for (i, variant) in all.iter().enumerate() {
        let mut differed = 0;
        for (jump, calm, erases, seed) in LIVES {
            let seed = seed + 100 * i as u64;
            let shape =
                Shape { blocks: 120, pages: 12, jump, calm, time_scale: 50.0, erases, seed };
            let mut life = Life::new(variant, shape);
            for step in 0..8000 {
                life.step();
                if step % 7 > 0 {
                    continue;
                }
                // One pass over 400 pages, or twenty passes over 20 of them.
                let local = step / 350 % 2 == 1;
                let pages = if local { 20 } else { 400 };
                let written: Vec<_> = (0..400).map(|i| Lpn(i % pages)).collect();
                life.victim.watch(&written);
                let (greedy, cat) = (life.least(|s| s.valid), life.by_looking_at_all());
                differed += u32::from(greedy != cat);
                let before = life.chosen();
                let chosen = life.choose();
                assert_eq!(chosen, if local { cat } else { greedy }, "{variant:?} at step {step}");
                let mut after = before;
                after[usize::from(local)] += u64::from(chosen.is_some());
                assert_eq!(life.chosen(), after, "{variant:?} at step {step}");
            }
        }
        assert!(differed > 20, "{variant:?}: the rules differed {differed} times");
    }
}

#[test]
fn linux_ftl_takes_the_least_valid_and_each_nth_time_the_least_erased() {
    for every in [1, 2, 3, 50] {
        let variant = Variant::named("linux-ftl", &[("every", &every.to_string())]);
        for (jump, calm, erases, seed) in LIVES {
            let shape = Shape { blocks: 120, pages: 12, jump, calm, time_scale: 1.0, erases, seed };
            let mut life = Life::new(&variant, shape);
            let (mut chosen, mut differed) = (0, 0);
            for step in 0..20_000 {
                life.step();
                let (by_valid, by_erases) = (life.least(|s| s.valid), life.least(|s| s.erases));
                let nth = life.chosen().iter().sum::<u64>() + 1;
                let expected = if nth % every == 0 { by_erases } else { by_valid };
                differed += u32::from(by_valid != by_erases && nth % every == 0);
                assert_eq!(life.choose(), expected, "{variant:?} at step {step}");
                chosen += u64::from(expected.is_some());
            }
            assert!(differed > 20, "{variant:?}: the rules differed {differed} times");
            let [_, by_erases] = life.chosen()[..] else { panic!("two rules") };
            let all: u64 = life.chosen().iter().sum();
            assert!(all >= chosen, "choices are counted");
            assert_eq!(by_erases, all / every, "{variant:?}");
        }
    }
}

#[test]
fn equal_costs_are_ties_however_they_are_rounded() {
    const PAGES: u32 = 31;
    let mut rounded_apart = 0;
    for age in ["created", "last-invalidation"] {
        let variant = Variant::named("cat", &[("age", age), ("transform", "identity")]);
        for (a, b) in (1..PAGES).flat_map(|a| (1..PAGES).map(move |b| (a, b))) {
            // valid · (erases + 1) / ((pages − valid) · age), as in CAT: equal for both, with ages
            // of weeks in nanoseconds.
            let (erases_a, erases_b) = (b % 7, a % 5);
            let (num_a, num_b) = (a * (erases_a + 1), b * (erases_b + 1));
            let unit = 1_234_567_890_123_u64;
            let age_a = u64::from(num_a * (PAGES - b)) * unit;
            let age_b = u64::from(num_b * (PAGES - a)) * unit;
            let cost = |num: u32, valid: u32, age: u64| {
                f64::from(num) / (f64::from(PAGES - valid) * age as f64)
            };
            rounded_apart += u32::from(cost(num_b, b, age_b) < cost(num_a, a, age_a));
            let context = Context { blocks: 64, pages_per_block: PAGES, ..Context::smallest() };
            let mut victim = variant.build(&context);
            let mut blocks = BlockTable::new(64, PAGES, &*victim);
            let now = u64::MAX / 2;
            for (block, erases, valid, age) in [(8, erases_a, a, age_a), (50, erases_b, b, age_b)] {
                let block = BlockId(block);
                blocks.set_erases(block, erases);
                blocks.open(block, 0, now - age);
                (0..PAGES).for_each(|_| blocks.wrote(block, now - age));
                blocks.close(block, &*victim, Entry::Indexed);
                (valid..PAGES).for_each(|_| blocks.invalidate(block, now - age));
            }
            assert_eq!(
                victim.choose(&blocks, now),
                Some(BlockId(8)),
                "{a} and {b} valid pages, {age}"
            );
        }
    }
    assert!(rounded_apart > 20, "{rounded_apart} ties would be broken by roundings");
}
