//! Survival of a stream's pages, estimated like a life table, and the block weights that follow.
//!
//! A block that is observed adds to the bin of its age the pages that it lost since the last
//! observation, its *deaths*, and the time for which its pages were at risk, its *exposure*, in bin
//! widths. It may be observed at any time. It is when it enters a bin, when it is cleaned, and now
//! and then between. Counts decay, so that old traffic is forgotten.
//!
//! The share that dies in a bin shows what waiting is worth: cleaning a block whose pages will soon
//! die copies pages that are about to become garbage. `Λ(age)` is the maximum over all waiting
//! times of (share that dies meanwhile) / (waiting time): the rate at which the block loses pages
//! if it is left alone for the best time. A block weighs `u / (1 − u) · Λ^hazard / age^age`, with
//! the exponents 0.4 and 0.2 by default. With a hazard like 1/age this is cost-benefit with a power
//! of the age; with a constant hazard it is nearly greedy.

use alloc::{vec, vec::Vec};

use super::ages::{BINS, Bins, OCTAVE, log2};

/// Counts are kept in units of the inverse of this number of pages, so that decay also removes the
/// last page.
const PARTS: u64 = 1 << 8;
/// The share 1 in fixed point.
const ONE: u64 = 1 << 32;
/// Share that dies in a bin without data: a hazard like 1/age, as in cost-benefit.
const UNKNOWN: u64 = ONE / 4;
/// Number of deaths required to judge the traffic.
const EVIDENCE: f64 = 1000.0;

/// Counts of one bin of a stream's ages.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    deaths: u64,
    /// Pages at risk, each weighted with its time at risk as a share of the bin.
    exposure: u64,
}

impl Cell {
    /// The share that dies in the bin, with a prior of `prior` pages of which a share of `expected`
    /// died.
    ///
    /// Half of the pages that die are assumed to have been at risk for half of the bin. At a hazard
    /// of `h` a bin, this gives h / (1 + h/2) instead of 1 − exp(−h).
    fn share(self, prior: u64, expected: u64) -> u64 {
        let prior_deaths = (u128::from(prior) * u128::from(expected)) >> 32;
        let deaths = u128::from(self.deaths) + prior_deaths;
        let pages = u128::from(self.exposure + self.deaths / 2 + prior).max(1);
        ((deaths << 32) / pages).min(u128::from(ONE)) as u64
    }

    fn add(&mut self, other: Self) {
        self.deaths += other.deaths;
        self.exposure += other.exposure;
    }
}

/// Exponents of a block's weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exponents {
    /// Exponent of Λ.
    pub(super) hazard: f64,
    /// Exponent of the age.
    pub(super) age: f64,
}

/// Survival by stream, and the resulting weights.
#[derive(Clone, Debug)]
pub(super) struct Curves {
    bins: Bins,
    /// Counts by stream and bin.
    cells: Vec<[Cell; BINS]>,
    /// The factor of a block's cost, by stream and bin.
    weights: Vec<[f64; BINS]>,
    exponents: Exponents,
    /// Weight of the prior of a bin, in the units of the counts.
    prior: u64,
}

impl Curves {
    pub(super) fn new(streams: u8, pages_per_block: u32, exponents: Exponents, prior: f64) -> Self {
        let mut curves = Self {
            bins: Bins::new(pages_per_block),
            cells: vec![[Cell::default(); BINS]; usize::from(streams)],
            weights: vec![[1.0; BINS]; usize::from(streams)],
            exponents,
            prior: (prior * f64::from(pages_per_block) * PARTS as f64) as u64,
        };
        curves.weigh();
        curves
    }

    /// Sets other exponents.
    pub(super) fn set_exponents(&mut self, exponents: Exponents) {
        self.exponents = exponents;
        self.weigh();
    }

    pub(super) const fn bins(&self) -> Bins {
        self.bins
    }

    /// The cost factor of a stream's block in an age bin.
    #[inline(always)]
    pub(super) fn weight(&self, stream: u8, bin: u8) -> f64 {
        self.weights[usize::from(stream)][usize::from(bin)]
    }

    /// Records that a block had `before` valid pages at one age and `after` at another, both in
    /// this bin.
    #[inline(always)]
    pub(super) fn lived(&mut self, stream: u8, bin: u8, pages: (u32, u32), ages: (u64, u64)) {
        let (before, after) = (u64::from(pages.0), u64::from(pages.1));
        let width = self.bins.width(usize::from(bin)).max(1);
        let time = ages.1.saturating_sub(ages.0).min(width);
        let at_risk = (before + after) / 2 * time * PARTS;
        // All bins but the first have such a width. The shift is faster than a division and equal
        // to it.
        let exposure = match width.is_power_of_two() {
            true => at_risk >> width.ilog2(),
            false => at_risk / width,
        };
        let deaths = before.saturating_sub(after) * PARTS;
        self.cells[usize::from(stream)][usize::from(bin)].add(Cell { deaths, exposure });
    }

    /// Decays all counts by a fifth.
    pub(super) fn fade(&mut self) {
        for cell in self.cells.iter_mut().flatten() {
            cell.deaths -= cell.deaths / 5;
            cell.exposure -= cell.exposure / 5;
        }
    }

    /// Recomputes the weights.
    pub(super) fn weigh(&mut self) {
        let pooled = self.pooled(0).share(self.prior, UNKNOWN);
        for (cells, weights) in self.cells.iter().zip(&mut self.weights) {
            // The prior of a bin is the share of the bin before it: a hazard like 1/age.
            let mut expected = pooled;
            let shares = cells.map(|cell| {
                expected = cell.share(self.prior, expected);
                expected
            });
            for (bin, weight) in weights.iter_mut().enumerate() {
                let rate = greatest_rate(&shares[bin..], |i| self.bins.width(bin + i));
                let rate = f64::from(log2(rate)) / f64::from(OCTAVE);
                let age = self.bins.log2_age(bin);
                *weight = libm::exp2(self.exponents.hazard * rate - self.exponents.age * age);
            }
        }
    }

    fn pooled(&self, bin: usize) -> Cell {
        self.cells.iter().fold(Cell::default(), |mut sum, cells| {
            sum.add(cells[bin]);
            sum
        })
    }

    /// How well ages, and streams if `apart`, predict deaths: the gain in log-likelihood over one
    /// constant hazard, in nats a death, minus the gain expected by chance. `None` without enough
    /// data.
    pub(super) fn gain(&self, apart: bool) -> Option<f64> {
        let (mut deaths, mut exposure, mut gain, mut cells) = (0.0, 0.0, 0.0, 0.0);
        let mut look = |cell: Cell, bin: usize| {
            let died = cell.deaths as f64 / PARTS as f64;
            let lived = cell.exposure as f64 / PARTS as f64 * self.bins.width(bin) as f64;
            deaths += died;
            exposure += lived;
            if died > 0.0 && lived > 0.0 {
                gain += died * libm::log(died / lived);
                cells += 1.0;
            }
        };
        for bin in 0..BINS {
            if apart {
                self.cells.iter().for_each(|cells| look(cells[bin], bin));
            } else {
                look(self.pooled(bin), bin);
            }
        }
        (deaths >= EVIDENCE)
            .then(|| (gain - deaths * libm::log(deaths / exposure) - cells / 2.0) / deaths)
    }
}

/// The maximum of (share that dies within the first bins) / (their duration) over the number of
/// bins.
fn greatest_rate(shares: &[u64], width: impl Fn(usize) -> u64) -> u64 {
    let (mut alive, mut wait, mut greatest) = (ONE, 0_u64, 1);
    for (i, &share) in shares.iter().enumerate() {
        alive -= ((u128::from(alive) * u128::from(share)) >> 32) as u64;
        wait = wait.saturating_add(width(i));
        // A share has 32 binary places, a rate 63, because rates on large devices are small.
        let rate = (((ONE - alive) << 31) / wait.max(1)).max(1);
        if rate > greatest {
            greatest = rate;
        }
    }
    greatest
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Exponents = Exponents { hazard: 1.0, age: 0.0 };

    /// A stream whose pages die with a given hazard in each bin. The survivors of a bin enter the
    /// next.
    fn curves(hazard: impl Fn(Bins, usize) -> f64) -> Curves {
        let mut curves = Curves::new(1, 64, PLAIN, 0.25);
        let mut alive = 1e8;
        for bin in 0..BINS {
            let hazard = hazard(curves.bins, bin);
            let (start, width) = (curves.bins.start(bin), curves.bins.width(bin));
            // Observations within the bin determine the number of pages at risk.
            for look in 0..4 {
                let before = alive;
                alive *= libm::exp(-hazard / 4.0);
                let age = |look| start + width * look / 4;
                curves.lived(
                    0,
                    bin as u8,
                    (before as u32, alive as u32),
                    (age(look), age(look + 1)),
                );
            }
        }
        curves.weigh();
        curves
    }

    #[test]
    fn a_constant_hazard_weighs_all_ages_alike_and_gains_nothing() {
        let constant = |hazard: f64| curves(move |bins, bin| hazard * bins.width(bin) as f64);
        let slow = constant(1e-5);
        for bin in 1..8 {
            let ratio = slow.weight(0, bin) / slow.weight(0, 0);
            assert!((ratio - 1.0).abs() < 0.1, "bin {bin}: {ratio}");
        }
        assert!(slow.gain(true).expect("evidence") < 0.01);
        // Twice the hazard gives twice the rate.
        let ratio = constant(2e-5).weight(0, 4) / slow.weight(0, 4);
        assert!((ratio - 2.0).abs() < 0.15, "{ratio}");
    }

    #[test]
    fn a_hazard_like_1_over_age_weighs_as_the_age_does() {
        let falling = curves(|_, _| 0.2);
        for bin in 3..20 {
            let ratio = falling.weight(0, bin) / falling.weight(0, bin + 2);
            assert!((ratio - 2.0).abs() < 0.2, "bin {bin}: {ratio}");
        }
        assert!(falling.gain(true).expect("evidence") > 0.5);
    }

    #[test]
    fn a_wave_of_deaths_ahead_is_worth_waiting_for() {
        let wave = curves(|_, bin| if bin == 10 { 3.0 } else { 0.01 });
        let quiet = curves(|_, _| 0.01);
        assert!(wave.weight(0, 8) > 8.0 * quiet.weight(0, 8));
        assert!(wave.weight(0, 11) < 2.0 * quiet.weight(0, 11));
    }

    #[test]
    fn looks_in_between_add_up_and_counts_fade() {
        let (mut one, mut two) = (Curves::new(1, 64, PLAIN, 1.0), Curves::new(1, 64, PLAIN, 1.0));
        let (start, width) = (one.bins.start(6), one.bins.width(6));
        one.lived(0, 6, (100, 60), (start, start + width));
        two.lived(0, 6, (100, 80), (start, start + width / 2));
        two.lived(0, 6, (80, 60), (start + width / 2, start + width));
        let count = |curves: &Curves| (curves.cells[0][6].deaths, curves.cells[0][6].exposure);
        assert_eq!(
            (count(&one), count(&two)),
            ((40 * PARTS, 80 * PARTS), (40 * PARTS, 80 * PARTS))
        );
        one.fade();
        assert_eq!(count(&one), (32 * PARTS, 64 * PARTS));
        assert_eq!(one.gain(true), None, "forty deaths are no evidence");
    }
}
