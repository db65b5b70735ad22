//! The cycle of learning: samples are taken, their ends awaited, a network trained and taken over.
//!
//! Each step happens at a certain page write, so results do not depend on the machine. Training is
//! spread over page writes: a batch with every few.

use alloc::{boxed::Box, format, string::String, vec::Vec};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_flash::Lpn;

use super::{
    DogiParams,
    groups::{self, Counts, Hot, Plan, Space},
    network::{BATCH, CATEGORIES, Features, Network, Trainer},
    samples::Samples,
};

/// Passes over the samples.
const EPOCHS: usize = 15;
/// Maximum number of samples.
const MOST: u64 = 400_000;
/// One write of those that are not hot is sampled in this number, or fewer on small devices.
const ONE_IN: u64 = 10;
/// Size of the devices on which every write is sampled.
const SMALL: u64 = 1 << 16;
/// Training takes this part of the device in page writes.
const TRAINING: u64 = 8;

/// What is being done, and the page write that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting(u64),
    Sampling(u64),
    Awaiting(u64),
    /// The writes at which it begins and ends, and the steps that were done.
    Training {
        from: u64,
        to: u64,
        done: usize,
    },
}

/// Sums over a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    writes: u64,
    hot_writes: u64,
    hot_victims: u32,
    hot_blocks: u64,
    hot_valid: f64,
}

impl Measured {
    fn hot(&self) -> Hot {
        let victims = f64::from(self.hot_victims);
        if self.hot_victims == 0 {
            return Hot::default();
        }
        Hot {
            blocks: self.hot_blocks as f64 / victims,
            traffic: self.hot_writes as f64 / self.writes.max(1) as f64,
            valid: self.hot_valid / victims,
        }
    }
}

/// The state of learning.
#[derive(Clone, Debug)]
pub(super) struct Learning {
    phase: Phase,
    /// Page writes of sampling, until ends are no longer awaited, and of training.
    lengths: [u64; 3],
    one_in: u64,
    /// Writes that are not hot since the last sample.
    passed: u64,
    samples: Samples,
    /// The samples in the order of training; those that are held out come first.
    order: Vec<u32>,
    held_out: usize,
    trainer: Box<Trainer>,
    network: Option<Box<Network>>,
    rng: Xoshiro256PlusPlus,
    /// The limits of the categories' lives.
    limits: [u32; CATEGORIES - 1],
    measured: Measured,
    mapped: u32,
    utilization: f64,
    /// What is foretold of the samples that are held out, and their lives in one category.
    foretold: Vec<u8>,
    lives: Vec<u32>,
    trained: u32,
    /// Shares of the held-out samples in the category that was foretold, and within one.
    right: [f64; 2],
}

impl Learning {
    pub(super) fn new(p: &DogiParams, logical: u64, seed: u64) -> Self {
        let part = |share: f64| ((share * logical as f64) as u64).max(1);
        let lengths = [part(p.period / 3.0), part(p.period), (logical / TRAINING).max(1)];
        let one_in = (logical / SMALL).clamp(1, ONE_IN);
        let most = (lengths[0] / one_in + 1).min(MOST) as usize;
        let mut limit = logical as f64 / 100.0;
        let limits = core::array::from_fn(|_| {
            let own = libm::ceil(limit).min(f64::from(u32::MAX)) as u32;
            limit *= 2.0;
            own
        });
        Self {
            phase: Phase::Waiting(part(p.warm_up)),
            lengths,
            one_in,
            passed: 0,
            samples: Samples::new(most),
            order: Vec::with_capacity(most),
            held_out: 0,
            trainer: Box::new(Trainer::new()),
            network: None,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x646f_6769),
            limits,
            measured: Measured::default(),
            mapped: logical as u32,
            utilization: p.utilization,
            foretold: Vec::with_capacity(most / 10 + 1),
            lives: Vec::with_capacity(most / 10 + 1),
            trained: 0,
            right: [0.0; 2],
        }
    }

    /// Whether features of page writes are needed.
    #[inline(always)]
    pub(super) const fn is_active(&self) -> bool {
        self.network.is_some() || matches!(self.phase, Phase::Sampling(_))
    }

    /// The category of a page write, from 0.
    #[inline(always)]
    pub(super) fn category(&self, features: &Features) -> u32 {
        self.network.as_ref().map_or(0, |network| u32::from(network.category(features)))
    }

    pub(super) fn report(&self) -> String {
        let [right, near] = self.right.map(|share| 100.0 * share);
        match self.trained {
            0 => "not yet trained".into(),
            times => format!("trained {times}×; {right:.0} % right, {near:.0} % within one"),
        }
    }

    /// A block was collected; of the hot group its size and valid share.
    pub(super) fn cleaned(&mut self, mapped: u32, hot: Option<(u32, f64)>) {
        self.mapped = mapped;
        if let Some((blocks, valid)) = hot {
            self.measured.hot_victims += 1;
            self.measured.hot_blocks += u64::from(blocks);
            self.measured.hot_valid += valid;
        }
    }

    pub(super) fn trimmed(&mut self, lpn: Lpn, writes: u64) {
        if matches!(self.phase, Phase::Sampling(_) | Phase::Awaiting(_)) {
            self.samples.ends(lpn, writes);
        }
    }

    /// A page was written. Returns whether a network waits to be [taken over](Self::take_over).
    #[inline(always)]
    pub(super) fn written(
        &mut self,
        lpn: Lpn,
        is_hot: bool,
        features: &Features,
        writes: u64,
    ) -> bool {
        self.measured.writes += 1;
        self.measured.hot_writes += u64::from(is_hot);
        match self.phase {
            Phase::Waiting(until) if writes < until => return false,
            Phase::Sampling(_) => {
                self.samples.ends(lpn, writes);
                if !is_hot {
                    self.passed += 1;
                    if self.passed >= self.one_in {
                        self.passed = 0;
                        self.samples.add(lpn, *features, writes);
                    }
                }
            }
            Phase::Awaiting(_) => self.samples.ends(lpn, writes),
            _ => {}
        }
        self.advance(writes)
    }

    /// Goes on to the next phase when it is time.
    fn advance(&mut self, writes: u64) -> bool {
        match self.phase {
            Phase::Sampling(until) if writes >= until || self.samples.is_full() => {
                self.phase = Phase::Awaiting(until - self.lengths[0] + self.lengths[1]);
            }
            Phase::Awaiting(until) if writes >= until => self.prepare(writes),
            Phase::Training { from, to, done } => {
                let due = self.steps() as u64 * (writes - from) / (to - from);
                (done..due as usize).for_each(|step| self.step(step));
                self.phase = Phase::Training { from, to, done: due as usize };
                return writes >= to;
            }
            Phase::Waiting(until) if writes >= until => self.begin(writes),
            _ => {}
        }
        false
    }

    /// Begins a cycle.
    #[cold]
    fn begin(&mut self, writes: u64) {
        self.samples.begin(writes);
        self.measured = Measured::default();
        self.phase = Phase::Sampling(writes + self.lengths[0]);
    }

    /// Divides the samples into those to train on and those held out.
    #[cold]
    fn prepare(&mut self, writes: u64) {
        self.samples.close(writes);
        let count = self.samples.list().len();
        self.held_out = count / 10;
        if count - self.held_out < BATCH {
            return self.begin(writes);
        }
        self.order.clear();
        self.order.extend(0..count as u32);
        shuffle(&mut self.order, &mut self.rng);
        let samples = self.samples.list();
        let trained = self.order[self.held_out..].iter();
        self.trainer.begin(trained.map(|at| &samples[*at as usize].features), &mut self.rng);
        self.phase = Phase::Training { from: writes, to: writes + self.lengths[2], done: 0 };
    }

    /// Steps of a pass over the samples.
    fn batches(&self) -> usize {
        (self.order.len() - self.held_out).div_ceil(BATCH)
    }

    fn steps(&self) -> usize {
        EPOCHS * self.batches()
    }

    /// Trains on one batch.
    #[cold]
    fn step(&mut self, step: usize) {
        let at = step % self.batches();
        if at == 0 {
            shuffle(&mut self.order[self.held_out..], &mut self.rng);
        }
        let trained = &self.order[self.held_out..];
        let batch = &trained[at * BATCH..trained.len().min((at + 1) * BATCH)];
        let (samples, limits) = (self.samples.list(), &self.limits);
        let batch = batch.iter().map(|at| {
            let sample = &samples[*at as usize];
            (&sample.features, lived(limits, sample.life))
        });
        self.trainer.step(batch, &mut self.rng);
    }

    /// The network that was trained replaces the former one, and the next cycle begins. Returns the
    /// groups by what it says of the samples that were held out.
    #[cold]
    pub(super) fn take_over(
        &mut self,
        blocks: f64,
        pages: f64,
        most: u8,
        writes: u64,
    ) -> Option<Found> {
        let network = self.trainer.network();
        let samples = self.samples.list();
        let held_out = self.order[..self.held_out].iter().map(|at| &samples[*at as usize]);
        self.foretold.clear();
        let mut counts: Counts = [[0; CATEGORIES]; CATEGORIES];
        let (mut right, mut near) = (0, 0);
        for sample in held_out.clone() {
            let foretold = network.category(&sample.features);
            let lived = lived(&self.limits, sample.life);
            self.foretold.push(foretold);
            counts[usize::from(foretold)][usize::from(lived)] += 1;
            right += u32::from(foretold == lived);
            near += u32::from(foretold.abs_diff(lived) <= 1);
        }
        let share = |count| f64::from(count) / self.held_out.max(1) as f64;
        self.right = [share(right), share(near)];
        self.trained += 1;
        let space = Space { blocks, pages, mapped: self.utilization * f64::from(self.mapped) };
        let plan = groups::search(&counts, &self.limits, self.measured.hot(), &space, most);
        let found = plan.map(|plan| Found {
            copied_to: core::array::from_fn(|category| {
                let lives = held_out.clone().zip(&self.foretold);
                let own = lives.filter(|(_, foretold)| usize::from(**foretold) == category);
                self.lives.clear();
                self.lives.extend(own.map(|(sample, _)| sample.life));
                groups::survivors(&plan, category, &mut self.lives, &self.limits)
            }),
            ages: core::array::from_fn(|group| plan.age(group as u8, &self.limits)),
            plan,
        });
        match &mut self.network {
            Some(own) => **own = network.clone(),
            None => self.network = Some(Box::new(network.clone())),
        }
        self.begin(writes);
        found
    }
}

/// Groups for a network.
pub(super) struct Found {
    pub(super) plan: Plan,
    /// The group of each category's first copies.
    pub(super) copied_to: [u8; CATEGORIES],
    /// The age in page writes at which blocks of a group are collected, if it is not the last.
    pub(super) ages: [u32; groups::MOST],
}

/// The category of a life.
fn lived(limits: &[u32; CATEGORIES - 1], life: u32) -> u8 {
    limits.iter().take_while(|limit| **limit <= life).count() as u8
}

fn shuffle(order: &mut [u32], rng: &mut Xoshiro256PlusPlus) {
    for at in (1..order.len()).rev() {
        let other = (u64::from(rng.random::<u32>()) * (at as u64 + 1)) >> 32;
        order.swap(at, other as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGICAL: u64 = 40_000;

    /// Every other write goes to 2000 pages, which thus live 4000 writes: a tenth of the device.
    /// The others live longer than is awaited. Only the age of the data replaced tells them apart.
    fn write(writes: u64) -> (Lpn, Features) {
        let page = match writes % 2 {
            0 => writes / 2 % 2000,
            _ => 2000 + writes / 2 % 38_000,
        };
        let age = if writes.is_multiple_of(2) { 26.0 } else { 255.0 };
        (Lpn(page as u32), [0.0, 0.0, age, 0.0, 0.0, 0.0])
    }

    #[test]
    fn two_temperatures_are_told_apart_and_get_groups_apart() {
        let params = DogiParams { warm_up: 0.0, ..DogiParams::default() };
        let mut learning = Learning::new(&params, LOGICAL, 1);
        assert!(!learning.is_active());
        let trained = (1..LOGICAL).find(|writes| {
            let (lpn, features) = write(*writes);
            learning.written(lpn, false, &features, *writes)
        });
        // Half of the device until no end is awaited, and an eighth of it for training.
        assert_eq!(trained, Some(1 + LOGICAL / 2 + LOGICAL / 8));
        assert_eq!(learning.report(), "not yet trained");
        let found = learning.take_over(1100.0, 40.0, 4, 25_001).expect("groups");
        assert_eq!(learning.report(), "trained 1×; 100 % right, 100 % within one");
        let [warm, cold] = [0, 1].map(|writes| learning.category(&write(writes).1) as usize);
        assert_eq!((warm, cold), (4, 6));
        assert!(found.plan.group(warm) < found.plan.group(cold), "{:?}", found.plan);
        // The next samples are taken at once.
        assert!(matches!(learning.phase, Phase::Sampling(_)));
    }

    #[test]
    fn hot_writes_are_not_sampled_and_trims_end_lives() {
        let params = DogiParams { warm_up: 0.0, ..DogiParams::default() };
        let mut learning = Learning::new(&params, LOGICAL, 1);
        learning.written(Lpn(1), false, &[0.0; 6], 1);
        for (page, is_hot) in [(1, true), (2, false), (3, false)] {
            learning.written(Lpn(page), is_hot, &[0.0; 6], u64::from(page) * 10);
        }
        learning.trimmed(Lpn(2), 29);
        learning.samples.close(100);
        let lives: Vec<u32> = learning.samples.list().iter().map(|sample| sample.life).collect();
        assert_eq!(lives, [9, 70]);
    }
}
