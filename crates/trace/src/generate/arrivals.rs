//! A Poisson process: exponential gaps of a given mean.

use super::random::unit;
use crate::Request;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Stamps requests with arrival times.
pub(super) struct Arrivals {
    rng: Xoshiro256PlusPlus,
    mean_ns: f64,
    now_ns: u64,
    /// The fraction of a nanosecond carried over, so that rounding does not shift the mean of a
    /// fast process.
    fraction: f64,
}

impl Arrivals {
    pub fn new(rng: Xoshiro256PlusPlus, mean_ns: f64) -> Self {
        Arrivals { rng, mean_ns, now_ns: 0, fraction: 0.0 }
    }

    pub fn stamp(&mut self, requests: &mut [Request]) {
        for request in requests {
            // 1 - u lies in (0, 1]: the logarithm is finite.
            let gap = -libm::log(1.0 - unit(&mut self.rng)) * self.mean_ns + self.fraction;
            let whole = libm::floor(gap);
            self.fraction = gap - whole;
            self.now_ns = self.now_ns.saturating_add(whole as u64);
            request.time_ns = self.now_ns;
        }
    }
}
