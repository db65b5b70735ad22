//! How long pages of a stream survive, counted as insurers do, and what follows for its blocks.
//!
//! A block that is looked at adds to the bin of its age what it lost since the last look, its *deaths*, and
//! for how long its pages were at risk meanwhile, its *exposure*, in lengths of the bin. It may be looked at whenever
//! that suits, and is when it comes of age, when it is cleaned, and now and then between. Counts
//! fade, so that old traffic is forgotten.
//!
//! The share that dies in a bin says what waiting is worth: of a block whose pages are all to die soon
//! cleaning now would copy what is garbage in a moment. `Λ(age)`, the greatest over a waiting time of (share
//! dying meanwhile) / (waiting time), is the rate at which the block loses pages if it is left alone for
//! as long as that is best. A block weighs `u / (1 − u) · Λ^0.6 / age^0.2`: with a hazard like 1/age it is a
//! cost-benefit by a power of the age, with a constant one nearly greedy.

use alloc::{vec, vec::Vec};

use super::ages::{BINS, Bins, OCTAVE, log2};

/// Counts are kept in this part of a page, so that fading wears off the last page too.
const PARTS: u64 = 1 << 8;
/// A share in whole numbers.
const ONE: u64 = 1 << 32;
/// Share of a bin that dies where nothing is known: a hazard like 1/age, as cost-benefit has it.
const UNKNOWN: u64 = ONE / 4;
/// Pages that have to have died for a verdict on the traffic.
const EVIDENCE: f64 = 1000.0;

/// A bin of a stream's ages.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    deaths: u64,
    /// Pages at risk, each for the share of the bin for which it was.
    exposure: u64,
}

impl Cell {
    /// The share that dies, if as much is known of it as of `prior` pages of which a share of `expected` died.
    ///
    /// Half of those that die are taken to have been at risk for half of the bin: at a hazard of `h` a bin it
    /// is h / (1 + h/2), for 1 − exp(−h).
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
    /// Of Λ.
    pub(super) hazard: f64,
    /// Of the age.
    pub(super) age: f64,
}

/// Survival by stream, and the weights that follow.
#[derive(Clone, Debug)]
pub(super) struct Curves {
    bins: Bins,
    /// By stream and bin.
    cells: Vec<[Cell; BINS]>,
    /// The factor of a block's cost.
    weights: Vec<[f64; BINS]>,
    exponents: Exponents,
    /// What is known of a bin beforehand, in parts of pages.
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

    /// Weights follow other exponents from now on.
    pub(super) fn set_exponents(&mut self, exponents: Exponents) {
        self.exponents = exponents;
        self.weigh();
    }

    pub(super) const fn bins(&self) -> Bins {
        self.bins
    }

    /// The factor of the cost of a stream's block of an age.
    #[inline(always)]
    pub(super) fn weight(&self, stream: u8, bin: u8) -> f64 {
        self.weights[usize::from(stream)][usize::from(bin)]
    }

    /// A block had `before` valid pages at one age and has `after` at another, both in this bin.
    #[inline(always)]
    pub(super) fn lived(&mut self, stream: u8, bin: u8, pages: (u32, u32), ages: (u64, u64)) {
        let (before, after) = (u64::from(pages.0), u64::from(pages.1));
        let width = self.bins.width(usize::from(bin)).max(1);
        let time = ages.1.saturating_sub(ages.0).min(width);
        let at_risk = (before + after) / 2 * time * PARTS;
        // All bins but the first: quicker than a division, and the same.
        let exposure = match width.is_power_of_two() {
            true => at_risk >> width.ilog2(),
            false => at_risk / width,
        };
        let deaths = before.saturating_sub(after) * PARTS;
        self.cells[usize::from(stream)][usize::from(bin)].add(Cell { deaths, exposure });
    }

    /// A fifth of what is known is forgotten.
    pub(super) fn fade(&mut self) {
        for cell in self.cells.iter_mut().flatten() {
            cell.deaths -= cell.deaths / 5;
            cell.exposure -= cell.exposure / 5;
        }
    }

    /// Works out the weights anew.
    pub(super) fn weigh(&mut self) {
        let pooled = self.pooled(0).share(self.prior, UNKNOWN);
        for (cells, weights) in self.cells.iter().zip(&mut self.weights) {
            // A bin is expected to be as deadly as the one before: a hazard like 1/age.
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

    /// How well ages, and streams where they are `apart`, predict deaths: the logarithm of the likelihood gained
    /// over one constant hazard, in nats a death, less what chance gains; `None` without evidence.
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

/// The greatest of (share dying within the first bins) / (how long they last), over how many bins.
fn greatest_rate(shares: &[u64], width: impl Fn(usize) -> u64) -> u64 {
    let (mut alive, mut wait, mut greatest) = (ONE, 0_u64, 1);
    for (i, &share) in shares.iter().enumerate() {
        alive -= ((u128::from(alive) * u128::from(share)) >> 32) as u64;
        wait = wait.saturating_add(width(i));
        // A share has 32 binary places, a rate 63: those of large devices are small.
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

    /// A stream whose pages die at a hazard in each bin: what survives a bin comes to the next.
    fn curves(hazard: impl Fn(Bins, usize) -> f64) -> Curves {
        let mut curves = Curves::new(1, 64, PLAIN, 0.25);
        let mut alive = 1e8;
        for bin in 0..BINS {
            let hazard = hazard(curves.bins, bin);
            let (start, width) = (curves.bins.start(bin), curves.bins.width(bin));
            // Looks in between find how many pages are at risk.
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
        // Twice the hazard, twice the rate.
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
