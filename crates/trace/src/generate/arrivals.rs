//! A Poisson process: exponential gaps of a given mean.

use super::random::{Streams, unit};
use crate::Request;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Arrival times, one after another.
#[derive(Clone, Debug)]
pub struct Arrivals {
    rng: Xoshiro256PlusPlus,
    mean_ns: f64,
    now_ns: u64,
    /// The fraction of a nanosecond carried over, so that rounding does not shift the mean of a
    /// fast process.
    fraction: f64,
}

impl Arrivals {
    pub(super) fn new(rng: Xoshiro256PlusPlus, mean_ns: f64) -> Self {
        Arrivals { rng, mean_ns, now_ns: 0, fraction: 0.0 }
    }

    /// A process with this mean gap.
    #[must_use]
    pub fn of_seed(seed: u64, mean_ns: f64) -> Self {
        Self::new(Streams::new(seed).arrivals, mean_ns)
    }

    /// The next arrival.
    pub fn next_ns(&mut self) -> u64 {
        // 1 - u lies in (0, 1]: the logarithm is finite.
        let gap = -libm::log(1.0 - unit(&mut self.rng)) * self.mean_ns + self.fraction;
        let whole = libm::floor(gap);
        self.fraction = gap - whole;
        self.now_ns = self.now_ns.saturating_add(whole as u64);
        self.now_ns
    }

    /// Sets the mean gap of the arrivals that follow.
    pub fn set_mean_ns(&mut self, mean_ns: f64) {
        self.mean_ns = mean_ns;
    }

    /// Goes on from time 0.
    pub fn restart(&mut self) {
        self.now_ns = 0;
    }

    pub(super) fn stamp(&mut self, requests: &mut [Request]) {
        for request in requests {
            request.time_ns = self.next_ns();
        }
    }
}
