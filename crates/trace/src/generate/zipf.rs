//! Zipf-distributed ranks by rejection-inversion (Hörmann and Derflinger 1996).
//!
//! Implemented here with `libm`, because the usual crates use the system's logarithms, so that one
//! seed would give different traces on different machines.

use super::random::unit;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Ranks `0..n`; rank k has a probability proportional to (k+1)^-exponent.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    n: f64,
    exponent: f64,
    /// The range of the integral of the hat function, from which samples are inverted.
    low: f64,
    high: f64,
    /// Distance to the rank below which a sample is accepted without evaluating the hat.
    squeeze: f64,
}

impl Zipf {
    /// `n` is at least 1, `exponent` at least 0.
    pub fn new(n: u64, exponent: f64) -> Self {
        let mut zipf = Zipf { n: n as f64, exponent, low: 0.0, high: 0.0, squeeze: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.n + 0.5);
        zipf.squeeze = 2.0 - zipf.invert(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    #[inline]
    pub fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            let u = self.high + unit(rng) * (self.low - self.high);
            let x = self.invert(u);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.n);
            let accepted =
                rank - x <= self.squeeze || u >= self.integral(rank + 0.5) - self.weight(rank);
            if accepted {
                return rank as u64 - 1;
            }
        }
    }

    /// x^-exponent.
    fn weight(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// Integral of the weight from 1 to x; numerically stable near exponent 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.exponent) * log;
        let ratio = if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t * 0.5 };
        ratio * log
    }

    /// Inverse of [`Self::integral`].
    fn invert(&self, y: f64) -> f64 {
        // Rounding may push the argument of log1p a little below its domain.
        let t = (y * (1.0 - self.exponent)).max(-1.0);
        let ratio = if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t * 0.5 };
        libm::exp(ratio * y)
    }
}
