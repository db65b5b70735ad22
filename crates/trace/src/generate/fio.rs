//! Addresses as drawn by fio (`random_distribution=zipf`, `pareto`, `normal`), except for its
//! random numbers.
//!
//! fio scatters drawn ranks by a multiplication and a remainder. Several ranks share an address, so
//! about half of the addresses are never written unless their number is a power of two: 5,178 of
//! 10,000. Its approximation of Zipf's law (Gray et al. 1994) sums at most ten million terms. Its
//! normal distribution is the mean of twelve uniform numbers plus a uniform deviation.

use std::fmt;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::random::{below, unit};

/// fio's multiplier: 2^64 divided by the golden ratio's square.
const SCATTER: u64 = 0x61C8_8646_80B5_83EB;
/// Maximum number of terms in fio's sum for a Zipf distribution.
const MOST_TERMS: u64 = 10_000_000;
/// Number of uniform numbers whose mean approximates a normal one.
const MEAN_OF: u64 = 12;

/// One of fio's distributions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fio {
    /// Zipf's law with this exponent; not 1.
    Zipf(f64),
    /// A Pareto distribution with this power: 0.2 sends 80 % of the requests to 20 % of the ranks.
    Pareto(f64),
    /// Around the middle. The width of the deviation added to a mean of uniform numbers, in percent
    /// of the span.
    Normal(f64),
}

impl fmt::Display for Fio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zipf(exponent) => write!(f, "zipf:{exponent}/fio"),
            Self::Pareto(power) => write!(f, "pareto:{power}"),
            Self::Normal(percent) => write!(f, "normal:{percent}"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Drawn {
    Zipf { sum: f64, second: f64, power: f64, eta: f64 },
    Pareto { power: f64 },
    Normal { width: u64 },
}

/// A distribution prepared for a number of addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct FioSampler {
    drawn: Drawn,
    addresses: u64,
    /// Address of the first rank, before the remainder is taken.
    first: u64,
}

impl FioSampler {
    /// `addresses` at least 1.
    pub fn new(fio: Fio, addresses: u64, key: u64) -> Self {
        let n = addresses as f64;
        let drawn = match fio {
            Fio::Zipf(exponent) => {
                let term = |rank: u64| libm::pow(1.0 / rank as f64, exponent);
                let sum: f64 = (1..=addresses.min(MOST_TERMS)).map(term).sum();
                let second = 1.0 + term(2);
                let eta = (1.0 - libm::pow(2.0 / n, 1.0 - exponent)) / (1.0 - second / sum);
                Drawn::Zipf { sum, second, power: 1.0 / (1.0 - exponent), eta }
            }
            Fio::Pareto(power) => {
                Drawn::Pareto { power: libm::log(power) / libm::log(1.0 - power) }
            }
            Fio::Normal(percent) => {
                let width = libm::ceil(n * percent / 100.0) as u64;
                Drawn::Normal { width: width.min(addresses / 2) }
            }
        };
        // fio does not move the middle of its normal distribution.
        let first = if matches!(drawn, Drawn::Normal { .. }) { 0 } else { key >> 32 };
        Self { drawn, addresses, first }
    }

    #[inline]
    pub fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let n = self.addresses as f64;
        let rank = match self.drawn {
            Drawn::Zipf { sum, second, power, eta } => {
                let u = unit(rng);
                if u * sum < 1.0 {
                    0
                } else if u * sum < second {
                    1
                } else {
                    (n * libm::pow(eta * u - eta + 1.0, power)) as u64
                }
            }
            Drawn::Pareto { power } => ((n - 1.0) * libm::pow(unit(rng), power)) as u64,
            Drawn::Normal { width } => self.normal(width, rng),
        };
        rank.wrapping_mul(SCATTER).wrapping_add(self.first) % self.addresses
    }

    fn normal(&self, width: u64, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let sum: u64 = (0..MEAN_OF).map(|_| below(rng, self.addresses + 1)).sum();
        let mean = sum.div_ceil(MEAN_OF) as i64;
        let mut off = (width as f64 * unit(rng)) as i64 - (width / 2) as i64;
        // A deviation out of range is halved until it fits.
        while off != 0 && !(0..self.addresses as i64).contains(&(mean + off)) {
            off /= 2;
        }
        (mean + off) as u64
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    const ADDRESSES: u64 = 10_000;
    const DRAWS: u32 = 390_625;

    fn counts(fio: Fio) -> Vec<u32> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let sampler = FioSampler::new(fio, ADDRESSES, 77 << 32);
        let mut counts = vec![0; ADDRESSES as usize];
        for _ in 0..DRAWS {
            counts[sampler.draw(&mut rng) as usize] += 1;
        }
        counts
    }

    fn written(counts: &[u32]) -> usize {
        counts.iter().filter(|n| **n > 0).count()
    }

    /// An iolog of fio 3.33: `fio --ioengine=null --rw=randwrite --bs=4k --size=40960000 --io_size=1600000000
    /// --random_distribution=zipf:1.2 --randseed=7 --norandommap --write_iolog=FILE`.
    #[test]
    fn a_zipf_distribution_is_that_of_an_iolog() {
        const MOST: [(u64, u32); 12] = [
            (3585, 81270),
            (6716, 35132),
            (9847, 26271),
            (1362, 17291),
            (4493, 12709),
            (7624, 10052),
            (9139, 8167),
            (2270, 6976),
            (3785, 5899),
            (6916, 5235),
            (47, 4532),
            (1562, 4130),
        ];
        let ours = counts(Fio::Zipf(1.2));
        let first = ours.iter().enumerate().max_by_key(|(_, n)| **n).expect("drawn").0 as u64;
        for (address, count) in MOST {
            let moved = (address + ADDRESSES - MOST[0].0 + first) % ADDRESSES;
            let own = ours[moved as usize];
            let luck = 5.0 * f64::from(count + own).sqrt();
            assert!((f64::from(own) - f64::from(count)).abs() < luck, "{address}: {count}, {own}");
        }
        // The iolog has 4652 of the 4822 addresses that have a rank.
        assert!((4600..=4700).contains(&written(&ours)), "{}", written(&ours));
    }

    /// Iologs as above, with other distributions: the number of addresses, and the requests of the
    /// most frequent one.
    #[test]
    fn ranks_share_addresses_as_in_iologs() {
        for (fio, addresses, most) in [
            (Fio::Zipf(0.5), 4822, 2003.0),
            (Fio::Pareto(0.2), 4821, 108_493.0),
            (Fio::Normal(20.0), 4161, 184.0),
            (Fio::Normal(5.0), 3991, 222.0),
        ] {
            let ours = counts(fio);
            let own = f64::from(*ours.iter().max().expect("drawn"));
            assert!(written(&ours).abs_diff(addresses) <= 40, "{fio}: {}", written(&ours));
            assert!((own / most - 1.0).abs() < 0.1, "{fio}: {own}");
        }
    }
}
