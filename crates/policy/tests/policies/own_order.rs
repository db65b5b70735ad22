//! Placements with their own cleaning order: each rule by hand, and the model of MiDAS against
//! closed forms.

use crate::common::WithWords;
use thermocline_flash::{BlockId, Lpn};
use thermocline_policy::{
    Args, BlockTable, BlockView, Context, ParamError, State,
    placement::{
        self, Cleaning, Dogi, DogiParams, Entry, Midas, MidasParams, Place, Placement, Registered,
        Visitor,
        midas::model::{Hot, Lifetimes, Space, hot_cold, predict, search, waf},
        multi_log_gain,
    },
    victim::{CostHotness, Factor, Greedy, Since, Survival, Victim},
};

const PAGES: u32 = 4;

fn context(blocks: u32, logical: u32) -> Context {
    Context {
        logical_pages: logical,
        blocks,
        pages_per_block: PAGES,
        time_scale: 50.0,
        ..Context::smallest()
    }
}

fn args(pairs: &[(&str, &str)]) -> Args {
    Args(pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect())
}

/// A bank whose blocks are written and emptied by hand.
struct Bank<P> {
    placement: WithWords<P>,
    blocks: BlockTable,
    now: u64,
}

impl<P: Placement> Bank<P> {
    fn new(placement: P, blocks: u32, victim: &dyn Victim) -> Self {
        Self {
            placement: WithWords::of(placement),
            blocks: BlockTable::new(blocks, PAGES, victim),
            now: 0,
        }
    }

    /// Opens a block for a stream and fills it with host data.
    fn fill(&mut self, block: u32, stream: u8, victim: &dyn Victim) {
        let block = BlockId(block);
        self.blocks.open(block, stream, self.now);
        self.placement.opened(0, block, stream, self.now);
        for _ in 0..PAGES {
            self.now += 1;
            self.placement.written(Lpn(0), self.now);
            self.blocks.wrote(block, self.now);
        }
        let entry = self.placement.closing(0, block, stream);
        self.blocks.close(block, victim, entry);
    }

    fn invalidate(&mut self, block: u32, pages: u32) {
        for _ in 0..pages {
            self.blocks.invalidate(BlockId(block), self.now);
        }
    }

    fn choose(&mut self, victim: &mut dyn Victim) -> Option<u32> {
        let chosen = self.blocks.choose(0, &mut *self.placement, victim, self.now)?;
        assert!(self.blocks.has_garbage(chosen), "{chosen:?} has garbage");
        Some(chosen.0)
    }

    /// Empties a block; returns the streams of two of its pages.
    fn clean(&mut self, block: u32) -> [u8; 2] {
        let block = BlockId(block);
        let info = *self.blocks.block(block);
        self.placement.cleaning(&Cleaning {
            bank: 0,
            block,
            valid: info.valid,
            pages: PAGES,
            stream: info.stream,
            mapped: 40,
            capacity: 60,
            now: self.now,
        });
        let streams = [1, 2].map(|lpn| self.placement.survivor(Lpn(lpn), self.now));
        self.blocks.withdraw(block);
        self.blocks.erased(block);
        streams
    }
}

#[test]
fn midas_cleans_the_first_group_over_its_size_and_moves_what_survives_down_the_chain() {
    let params = MidasParams { groups: Some(5), ..MidasParams::default() };
    let mut midas = Midas::new(&params, &context(20, 40)).expect("valid");
    // G0 one block, G1 two, G2 one; the open block counts.
    midas.take(&[1, 3, 2]);
    let mut victim = Greedy;
    let mut bank = Bank::new(midas, 20, &victim);
    // Stream 0 is G1, stream 1 the hot group.
    bank.fill(0, 0, &victim);
    bank.fill(1, 0, &victim);
    bank.fill(2, 3, &victim);
    bank.invalidate(0, 1);
    bank.invalidate(2, 1);
    // No queue exceeds its size, so the last group gives the victim, although block 0 is as empty.
    assert_eq!(bank.choose(&mut victim), Some(2));
    assert_eq!(bank.blocks.block(BlockId(0)).state, State::Aside);
    // Block 3 makes G1 exceed its size: its oldest block is cleaned, and moves to G2.
    bank.fill(3, 0, &victim);
    bank.invalidate(3, 3);
    assert_eq!(bank.choose(&mut victim), Some(0));
    assert_eq!(bank.clean(0), [2, 2]);
    // The hot group precedes the others, and its survivors go to G1.
    bank.fill(4, 1, &victim);
    bank.fill(5, 0, &victim);
    bank.invalidate(4, 2);
    assert_eq!(bank.choose(&mut victim), Some(4));
    assert_eq!(bank.clean(4), [0, 0]);
    // Block 1 has no garbage, so it moves on without copies. Then G1 has its size, and the last
    // group gives the victim.
    assert_eq!(bank.choose(&mut victim), Some(2));
    assert_eq!(bank.clean(2), [3, 3]);
    // The last group is empty. The coldest queue with garbage gives the victim: block 1 is now in
    // G2.
    bank.invalidate(1, 1);
    assert_eq!(bank.choose(&mut victim), Some(1));
    assert_eq!(bank.clean(1), [3, 3]);
    assert_eq!(bank.choose(&mut victim), Some(3));
}

#[test]
fn midas_knows_hot_pages_by_where_their_last_copy_died() {
    let params = MidasParams { groups: Some(4), ..MidasParams::default() };
    let midas = Midas::new(&params, &context(20, 8)).expect("valid");
    let victim = Greedy;
    let mut bank = Bank::new(midas, 20, &victim);
    // The filter is inactive while the device is written once.
    bank.fill(0, 0, &victim);
    bank.fill(1, 0, &victim);
    bank.fill(2, 0, &victim);
    let place = |block| Some(Place { bank: 0, block: BlockId(block), stream: 0, page: 0, next: 0 });
    // After three deaths of a copy in a young block of G1 the page is hot: stream 1 is G0.
    let streams: Vec<u8> = (0..4).map(|_| bank.placement.host_over(Lpn(3), place(2), 0)).collect();
    assert_eq!(streams, [0, 0, 0, 1]);
    // A death in an old block, after more than the initial 8 writes of the filter, counts against
    // it.
    let streams: Vec<u8> = (0..2).map(|_| bank.placement.host_over(Lpn(3), place(0), 0)).collect();
    assert_eq!(streams, [1, 0]);
    // A trim resets the page.
    for _ in 0..3 {
        bank.placement.host_over(Lpn(3), place(2), 0);
    }
    bank.placement.trimmed(Lpn(3));
    assert_eq!(bank.placement.host_over(Lpn(3), None, 0), 0);
}

#[test]
fn dogi_knows_hot_pages_by_the_age_of_their_data_and_collects_their_blocks_when_they_are_older() {
    let params = DogiParams { groups: Some(6), learn: false, ..DogiParams::default() };
    let dogi = Dogi::new(&params, &context(40, 60)).expect("valid");
    let mut victim = Greedy;
    let mut bank = Bank::new(dogi, 40, &victim);
    let place = |block| Some(Place { bank: 0, block: BlockId(block), stream: 0, page: 0, next: 0 });
    // Data that the host has not written are of unknown age. Stream 0 is G1, stream 1 the hot group.
    assert_eq!(bank.placement.host_over(Lpn(3), place(0), 0), 0);
    assert_eq!(bank.placement.host_over(Lpn(3), None, 0), 0);
    bank.fill(0, 0, &victim);
    bank.placement.written(Lpn(3), 0);
    // Two units of four blocks, 32 page writes, are the limit. Units are whole: 31 of them is one.
    assert_eq!(bank.placement.host_over(Lpn(3), place(0), 0), 1);
    bank.fill(1, 1, &victim);
    bank.invalidate(1, 3);
    bank.fill(2, 0, &victim);
    bank.invalidate(2, 1);
    // The hot group's block is too young, so the victim policy chooses, although there is less to gain.
    assert_eq!(bank.choose(&mut victim), Some(2));
    for block in 3..10 {
        bank.fill(block, 0, &victim);
    }
    assert_eq!(bank.placement.host_over(Lpn(3), place(0), 0), 0);
    assert_eq!(bank.choose(&mut victim), Some(1));
    // One without garbage is not copied.
    bank.clean(1);
    bank.fill(1, 1, &victim);
    for block in 10..18 {
        bank.fill(block, 0, &victim);
    }
    assert_eq!(bank.choose(&mut victim), Some(2));
    assert_eq!(bank.blocks.block(BlockId(1)).state, State::Closed);
}

#[test]
fn dogi_keeps_pages_apart_that_the_host_never_wrote_and_moves_others_along_the_chain() {
    let params = DogiParams { groups: Some(6), learn: false, ..DogiParams::default() };
    let dogi = Dogi::new(&params, &context(40, 60)).expect("valid");
    let victim = Greedy;
    let mut bank = Bank::new(dogi, 40, &victim);
    let place = |block| Some(Place { bank: 0, block: BlockId(block), stream: 0, page: 0, next: 0 });
    bank.fill(0, 0, &victim);
    // Page 1 is hot, page 2 was filled before the run and is the last group's for ever.
    let write = |bank: &mut Bank<Dogi>, over| {
        let stream = bank.placement.host_over(Lpn(1), over, 0);
        bank.placement.written(Lpn(1), 0);
        stream
    };
    assert_eq!([write(&mut bank, None), write(&mut bank, place(0))], [0, 1]);
    bank.fill(1, 1, &victim);
    assert_eq!(bank.clean(1), [0, 5]);
    for (block, from, to) in [(2, 0, 2), (3, 2, 3), (4, 3, 4), (5, 4, 4), (6, 5, 4)] {
        bank.fill(block, from, &victim);
        assert_eq!(bank.clean(block), [to, 5], "from stream {from}");
    }
    // A page found on the chip may have been written: it moves on like a copy.
    bank.placement.recovered(Lpn(2), 0, 0, 0);
    bank.fill(9, 0, &victim);
    assert_eq!(bank.clean(9), [2, 2]);
}

/// The closed form of a log cleaned first in, first out: A = 1/(1 − e^{−α/A}).
fn fifo(alpha: f64) -> f64 {
    let mut a = alpha / (alpha - 1.0);
    for _ in 0..10_000 {
        a = 1.0 / (1.0 - (-alpha / a).exp());
    }
    a
}

#[test]
fn the_fixed_point_of_hot_and_cold_data_meets_the_closed_form() {
    for (alpha, printed) in [(1.07, 7.817), (1.15, 4.016), (1.28, 2.481)] {
        // Uniform traffic: any part may be called hot, if it takes an equal part of the writes.
        for share in [0.1, 0.5, 0.8] {
            let a = hot_cold(alpha, share, share);
            assert!((a / printed - 1.0).abs() < 3e-4, "{alpha}: {a} for {printed}");
            assert!((a / fifo(alpha) - 1.0).abs() < 1e-6);
        }
        // It is a fixed point. Skew makes a log cleaned in order worse, because cold data are
        // copied repeatedly.
        let (r, f) = (0.9, 0.1);
        let a = hot_cold(alpha, r, f);
        let right = 1.0
            + r / ((r * alpha / (f * a)).exp() - 1.0)
            + (1.0 - r) / (((1.0 - r) * alpha / ((1.0 - f) * a)).exp() - 1.0);
        assert!((a - right).abs() < 1e-6 && a > fifo(alpha), "{a} {right}");
    }
    assert!(hot_cold(1.0, 0.5, 0.5).is_infinite());
}

#[test]
fn the_closed_form_of_the_group_chain_matches_two_thousand_steps() {
    let hot = Hot { size: 2, traffic: 0.3, valid: 0.1, until: 100.0 };
    let valid = [0.6, 0.7, 0.85];
    // States: written by the host, G0, G1, G2, G3.
    let mut at = [1.0, 0.0, 0.0, 0.0, 0.0];
    for _ in 0..2000 {
        let invalid = at[1] * (1.0 - hot.valid)
            + at[2] * (1.0 - valid[0])
            + at[3] * (1.0 - valid[1])
            + at[4] * (1.0 - valid[2]);
        at = [
            invalid,
            at[0] * hot.traffic,
            at[0] * (1.0 - hot.traffic) + at[1] * hot.valid,
            at[2] * valid[0],
            at[3] * valid[1] + at[4] * valid[2],
        ];
    }
    let flow = at[0];
    let copies = at[1] * hot.valid + at[2] * valid[0] + at[3] * valid[1] + at[4] * valid[2];
    assert!((waf(&hot, &valid) - (1.0 + copies / flow)).abs() < 1e-9);
}

/// Geometric lifetimes with a mean of `mean` steps.
fn uniform(mean: f64, steps: usize) -> Vec<u32> {
    let at = |t: f64| 1e8 * (-t / mean).exp();
    let mut counts: Vec<u32> =
        (0..steps).map(|t| (at(t as f64) - at(t as f64 + 1.0)) as u32).collect();
    counts.push(at(steps as f64) as u32);
    counts
}

#[test]
fn predicted_valid_rates_and_write_amplification_follow_from_lifetimes() {
    // Pages live 4,000 page writes on average; steps of 10.
    let lives = Lifetimes::new(&uniform(400.0, 4000), 10).expect("counted");
    let space = Space { blocks: 460, pages: 10, mapped: 4000 };
    let plan = predict(&lives, &space, Hot::default(), &[100, 360]).expect("room");
    // G1 takes all writes: its blocks stay for 99.5 blocks written.
    assert!((plan.valid[0] - (-995.0_f64 / 4000.0).exp()).abs() < 1e-3, "{:?}", plan.valid);
    // Pages outside G1 are in the last group, and the chain gives the write amplification.
    let again = waf(&Hot::default(), &plan.valid[..2]);
    assert!((plan.waf - again).abs() < 1e-12 && plan.waf > 1.0);
    // There is no prediction for a queue longer than the measured lifetimes, or without room behind
    // it.
    assert!(predict(&lives, &space, Hot::default(), &[4100, 360]).is_none());
    assert!(predict(&lives, &space, Hot::default(), &[100, 0]).is_none());
    assert!(Lifetimes::new(&[0, 0, 0], 10).is_none());
}

#[test]
fn the_search_separates_hot_from_cold_and_knows_that_uniform_traffic_gains_nothing() {
    let space = Space { blocks: 1150, pages: 64, mapped: 64_000 };
    // 90 % of the writes to 10 % of the pages: mean lifetimes of 7,111 and 576,000 page writes.
    let (hot, cold) = (uniform(7111.0 / 64.0, 16_000), uniform(576_000.0 / 64.0, 16_000));
    let counts: Vec<u32> = hot.iter().zip(&cold).map(|(h, c)| (9 * (h / 10)) + c / 10).collect();
    let lives = Lifetimes::new(&counts, 64).expect("counted");
    let alone = predict(&lives, &space, Hot::default(), &[1150]).expect("room");
    let plan = search(&lives, &space, Hot::default(), false, 7).expect("room");
    assert!(plan.groups > 1 && plan.waf < 0.75 * alone.waf, "{plan:?} {alone:?}");
    assert_eq!(plan.sizes.iter().sum::<u32>(), 1150);

    let lives = Lifetimes::new(&uniform(1000.0, 16_000), 64).expect("counted");
    let plan = search(&lives, &space, Hot::default(), false, 7).expect("room");
    assert!(plan.waf > 0.95 * fifo(1.15) && plan.waf < 1.1 * fifo(1.15), "{plan:?}");
}

#[test]
fn what_a_log_gains_by_space_is_the_slope_of_its_write_amplification() {
    for alpha in [1.05, 1.15, 1.5, 3.0] {
        let d = 1e-5;
        let slope = (fifo(alpha - d) - fifo(alpha + d)) / (2.0 * d);
        let gain = multi_log_gain(alpha);
        assert!((gain / slope - 1.0).abs() < 1e-3, "{alpha}: {gain} for {slope}");
    }
    assert!(multi_log_gain(1.0).is_infinite());
}

struct Script(fn(&mut dyn FnMut(Step) -> i64));

/// An operation on a bank of 20 blocks.
enum Step {
    Fill(u32, u8),
    Invalidate(u32, u32),
    Choose,
    Clean(u32),
    Host(u32),
}

impl Visitor for Script {
    type Output = ();
    fn visit<P: Placement>(self, placement: P) {
        let mut victim = Greedy;
        let mut bank = Bank::new(placement, 20, &victim);
        (self.0)(&mut |step| match step {
            Step::Fill(block, stream) => {
                bank.fill(block, stream, &victim);
                0
            }
            Step::Invalidate(block, pages) => {
                bank.invalidate(block, pages);
                0
            }
            Step::Choose => bank.choose(&mut victim).map_or(-1, i64::from),
            Step::Clean(block) => i64::from(bank.clean(block)[0]),
            Step::Host(lpn) => i64::from(bank.placement.host_over(Lpn(lpn), None, 0)),
        });
    }
}

fn script(name: &str, pairs: &[(&str, &str)], script: fn(&mut dyn FnMut(Step) -> i64)) {
    placement::dispatch(name, &args(pairs), &context(20, 40), Script(script))
        .expect("registered")
        .expect("valid");
}

#[test]
fn envy_cleans_the_longest_queue_in_turn_and_writes_back_where_data_come_from() {
    script("envy", &[("partitions", "4")], |step| {
        // Forty pages in four partitions, by address.
        assert_eq!([0, 9, 10, 39].map(|lpn| step(Step::Host(lpn))), [0, 0, 1, 3]);
        for (block, partition) in [(0, 1), (1, 1), (2, 2), (3, 1)] {
            step(Step::Fill(block, partition));
        }
        assert_eq!(step(Step::Choose), -1, "no garbage");
        step(Step::Invalidate(2, 3));
        step(Step::Invalidate(1, 1));
        step(Step::Invalidate(0, 1));
        // Partition 1 has three blocks, and block 0 is the oldest.
        assert_eq!(step(Step::Choose), 0);
        // Page 1 belongs to partition 0 by its address, wherever the fill put it.
        assert_eq!(step(Step::Clean(0)), 0);
        // A block with only garbage costs nothing.
        step(Step::Invalidate(2, 1));
        assert_eq!(step(Step::Choose), 2);
    });
}

#[test]
fn multi_log_moves_survivors_down_one_level_at_a_time() {
    script("multi-log", &[("levels", "3")], |step| {
        for block in 0..4 {
            step(Step::Fill(block, 0));
        }
        step(Step::Invalidate(1, 2));
        // Block 0 has no garbage and is skipped.
        assert_eq!(step(Step::Choose), 1);
        assert_eq!(step(Step::Clean(1)), 1, "level 0 holds blocks: level 1 is opened");
        step(Step::Invalidate(2, 1));
        assert_eq!(step(Step::Choose), 2);
        // Page 1 is now of level 1, and no block of that level is full, so it stays.
        assert_eq!(step(Step::Clean(2)), 1);
    });
}

struct Counting;

impl Visitor for Counting {
    type Output = ();
    fn visit<P: Placement>(self, placement: P) {
        let mut victim = CostHotness::new(Since::Youngest);
        let mut bank = Bank::new(placement, 20, &victim);
        // Block 0 holds pages 0 to 3, block 1 pages 4 to 7; page 0 was written 97 times before.
        for _ in 0..97 {
            bank.placement.written(Lpn(0), 0);
        }
        for block in 0..2 {
            bank.blocks.open(BlockId(block), 0, 0);
            bank.placement.opened(0, BlockId(block), 0, 0);
            if block == 1 {
                bank.close(0, &victim);
            }
            for lpn in 4 * block..4 * block + 4 {
                bank.placement.host_over(Lpn(lpn), None, 0);
                bank.blocks.wrote(BlockId(block), 0);
                bank.placement.written(Lpn(lpn), 0);
            }
        }
        bank.close(1, &victim);
        bank.now = 100;
        let place =
            |block| Some(Place { bank: 0, block: BlockId(block), stream: 0, page: 0, next: 0 });
        // Two pages of block 0 die, one of block 1. The survivors of block 0 are much hotter.
        for (lpn, block) in [(1, 0), (2, 0), (4, 1)] {
            bank.placement.host_over(Lpn(lpn), place(block), 100);
            bank.invalidate(block, 1);
        }
        assert_eq!(bank.choose(&mut victim), Some(1));
        // The hot page dies. The rest of block 0 is as cold as block 1, and there is less of it.
        bank.placement.host_over(Lpn(0), place(0), 100);
        bank.invalidate(0, 1);
        assert_eq!(bank.choose(&mut victim), Some(0));
    }
}

impl<P: Placement> Bank<P> {
    fn close(&mut self, block: u32, victim: &dyn Victim) {
        let entry = self.placement.closing(0, BlockId(block), 0);
        self.blocks.close(BlockId(block), victim, entry);
    }
}

#[test]
fn sfs_sets_the_hotness_of_blocks_for_cost_hotness() {
    placement::dispatch("sfs", &args(&[]), &context(20, 40), Counting)
        .expect("registered")
        .expect("valid");
}

/// The state of page 1, overwritten every 64 writes, and of page 2, overwritten every 8192.
struct Remembered;

impl Visitor for Remembered {
    type Output = ();
    fn visit<P: Placement>(self, placement: P) {
        let victim = Survival;
        let mut bank = Bank::new(placement, 4096, &victim);
        let mut block = 0;
        let mut last = [None; 3];
        for write in 0..1 << 15 {
            let page = match write {
                _ if write % 8192 == 4097 => 2,
                _ if write % 64 == 33 => 1,
                _ => 0,
            };
            if write % PAGES == 0 {
                if write > 0 {
                    bank.close(block, &victim);
                    block = (block + 1) % 4096;
                }
                bank.placement.opened(0, BlockId(block), 0, 0);
                if bank.blocks.block(BlockId(block)).state == State::Closed {
                    bank.blocks.withdraw(BlockId(block));
                    bank.blocks.erased(BlockId(block));
                }
                bank.blocks.open(BlockId(block), 0, 0);
            }
            let old = last[page as usize].filter(|_| page > 0);
            bank.placement.host_over(Lpn(page), old, 0);
            bank.placement.written(Lpn(page), 0);
            bank.blocks.wrote(BlockId(block), 0);
            let (page_in_block, next) = (write % PAGES, write % PAGES + 1);
            last[page as usize] = Some(Place {
                bank: 0,
                block: BlockId(block),
                stream: 0,
                page: page_in_block,
                next,
            });
        }
        let notes = [1, 2].map(|page| bank.placement.note(Lpn(page)));
        // Eighths of an octave: 6 octaves and 13.
        assert!(notes[0].abs_diff(48) <= 1, "{notes:?}");
        assert!(notes[1].abs_diff(104) <= 4, "{notes:?}");
        for (page, note) in [(1, notes[0]), (2, notes[1])] {
            bank.placement.trimmed(Lpn(page));
            assert_eq!(bank.placement.note(Lpn(page)), 0);
            bank.placement.recovered(Lpn(page), 0, note, 0);
            assert_eq!(bank.placement.note(Lpn(page)), note);
        }
    }
}

#[test]
fn survival_keeps_the_logarithm_of_intervals_and_finds_it_beside_the_pages() {
    placement::dispatch("survival", &args(&[("gate", "0")]), &context(4096, 8192), Remembered)
        .expect("registered")
        .expect("valid");
}

/// A policy whose factor of wear is not set by the placement.
struct Worn;

impl Victim for Worn {
    fn choose(&mut self, blocks: &BlockView, _: u64) -> Option<BlockId> {
        blocks.lightest()
    }
    fn ratio(&self, valid: u32, _: u32) -> (f64, f64) {
        (f64::from(valid), 1.0)
    }
    fn factor(&self, erases: u32) -> Factor {
        Factor::Wear(f64::from(erases + 1))
    }
}

/// After each change of a factor, the victim equals that of a scan of all blocks.
fn factors_are_exact(mut victim: impl Victim, age: impl Fn(u64) -> f64) {
    const BLOCKS: usize = 300;
    let mut draws = crate::common::Draws(3);
    let mut blocks = BlockTable::new(BLOCKS as u32, PAGES, &victim);
    let mut valid = [3; BLOCKS];
    let mut factors = [1.0; BLOCKS];
    for b in (0..BLOCKS as u32).map(BlockId) {
        blocks.open(b, 0, u64::from(b.0 / 10));
        (0..PAGES).for_each(|_| blocks.wrote(b, 0));
        blocks.close(b, &victim, Entry::Indexed);
        blocks.invalidate(b, 0);
    }
    for _ in 0..4000 {
        let b = draws.index(BLOCKS);
        if valid[b] > 1 && draws.one_in(10) {
            valid[b] -= 1;
            blocks.invalidate(BlockId(b as u32), 1);
        }
        factors[b] = 1.0 + draws.index(50) as f64;
        blocks.set_factor(BlockId(b as u32), factors[b]);
        let cost = |b: usize| {
            let garbage = f64::from(PAGES - valid[b]);
            f64::from(valid[b]) * factors[b] / (garbage * age(40 - b as u64 / 10))
        };
        let best = (0..BLOCKS).min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
        assert_eq!(victim.choose(&blocks, 40), best.map(|b| BlockId(b as u32)));
    }
}

#[test]
fn factors_are_set_anew_both_ways_and_only_where_they_are_taken() {
    factors_are_exact(CostHotness::new(Since::Created), |age| age as f64);
    factors_are_exact(Survival, |_| 1.0);
    let mut blocks = BlockTable::new(2, PAGES, &Worn);
    for b in (0..2).map(BlockId) {
        blocks.set_erases(b, b.0);
        blocks.open(b, 0, 0);
        (0..PAGES).for_each(|_| blocks.wrote(b, 0));
        blocks.close(b, &Worn, Entry::Indexed);
        blocks.invalidate(b, 0);
    }
    blocks.set_factor(BlockId(0), 1000.0);
    assert_eq!(Worn.choose(&blocks, 9), Some(BlockId(0)));
}

#[test]
fn arguments_out_of_range_are_refused() {
    struct Nothing;
    impl Visitor for Nothing {
        type Output = ();
        fn visit<P: Placement>(self, _: P) {}
    }
    for (name, key, good, bad) in [
        ("midas", "groups", "3", "2"),
        ("midas", "groups", "10", "11"),
        ("midas", "sample", "100", "0"),
        ("midas", "epoch", "1", "0.5"),
        ("midas", "epoch", "4", "nan"),
        ("dogi", "groups", "4", "3"),
        ("dogi", "groups", "9", "10"),
        ("dogi", "warm_up", "0", "-1"),
        ("dogi", "period", "0.1", "0"),
        ("dogi", "utilization", "1", "1.1"),
        ("multi-log", "levels", "16", "17"),
        ("multi-log", "levels", "1", "0"),
        ("sfs", "groups", "16", "0"),
        ("envy", "partitions", "32", "33"),
        ("survival", "streams", "16", "1"),
        ("survival", "hazard", "0", "-1"),
        ("survival", "gate", "10", "11"),
        ("survival", "wear", "4", "5"),
    ] {
        for context in [context(20, 40), Context::smallest()] {
            let build = |value: &str| {
                placement::dispatch(name, &args(&[(key, value)]), &context, Nothing)
                    .expect("registered")
            };
            assert_eq!(build(good), Ok(()), "{name}({key}={good})");
            let refused = build(bad);
            assert!(
                matches!(&refused, Err(ParamError::Value { key: k, .. }) if k == key),
                "{name}({key}={bad}): {refused:?}"
            );
        }
    }
    assert!(Midas::build(&args(&[]), &Context::smallest()).is_ok());
}
