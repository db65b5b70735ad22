//! Ages of blocks and pages, and their transformations.

use alloc::string::String;

use crate::{
    choice,
    params::{ParamValue, Ticks},
};

choice! {
    /// The event from which a block's age counts.
    pub enum AgeSource {
        /// The block was opened.
        Created = "created",
        /// A page of the block was last superseded, trimmed, inferred to be garbage, or found to be
        /// valid after all.
        LastInvalidation = "last-invalidation",
        /// The host wrote the youngest data in the block. Copies keep their age where the placement
        /// knows it (M2, M3, M6). Otherwise they are as old as the youngest data of their source
        /// block.
        Youngest = "youngest",
        /// The last page of the block was programmed, by the host or as a copy.
        Closed = "closed",
    }
}

choice! {
    /// The shape of the age transformation T.
    pub enum Shape {
        /// T(a) = a.
        Identity = "identity",
        /// T(a) = 1 + log2(1 + a/τ): the reading that reproduces the CAT paper's tables.
        Log = "log",
        /// T(a) = 1 + ⌊log2(1 + a/τ)⌋: a doubling staircase, as the paper's Figure 7 is drawn.
        Stair = "stair",
        /// T(a) = (a/τ)^exponent.
        Power = "power",
    }
}

/// Age factors and time scales are clamped to this range, in which products with weights neither
/// overflow nor lose precision.
const MIN_FACTOR: f64 = 1e-200;
const MAX_FACTOR: f64 = 1e200;

/// The exponent of [`Shape::Power`]. Not negative, because then the older of two blocks would score
/// worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponent(pub f64);

impl ParamValue for Exponent {
    const EXPECTED: &'static str = "a number of at least 0";
    fn parse(text: &str) -> Option<Self> {
        f64::parse(text).filter(|&x| x >= 0.0).map(Self)
    }
    fn show(&self) -> String {
        self.0.show()
    }
}

/// The age transformation T. It keeps a very old block from outweighing everything else (CAT paper,
/// §3.2 and Figure 7). It is monotone, so the older of two blocks never scores worse.
#[derive(Clone, Copy, Debug)]
pub struct Transform {
    shape: Shape,
    tau: f64,
    per_tau: f64,
    exponent: f64,
}

impl Transform {
    /// The transformation of a shape with time scale `tau`; `None` means `time_scale`.
    #[must_use]
    pub fn new(shape: Shape, tau: Option<Ticks>, time_scale: f64, exponent: f64) -> Self {
        let tau = tau.map_or(time_scale, |t| t.0 as f64).max(MIN_FACTOR);
        Self { shape, tau, per_tau: 1.0 / tau, exponent }
    }

    /// T(age).
    #[inline]
    #[must_use]
    pub fn apply(&self, age: u64) -> f64 {
        let age = age as f64;
        match self.shape {
            Shape::Identity => age,
            Shape::Log => 1.0 + libm::log2(1.0 + age / self.tau),
            Shape::Stair => 1.0 + libm::floor(libm::log2(1.0 + age / self.tau)),
            Shape::Power => match libm::pow(age / self.tau, self.exponent) {
                ..MIN_FACTOR => 0.0,
                factor => factor.min(MAX_FACTOR),
            },
        }
    }
}

impl Transform {
    /// The time scale, for [`Shape::Log`] only.
    #[inline]
    #[must_use]
    pub fn scale_of_log(&self) -> Option<f64> {
        matches!(self.shape, Shape::Log).then_some(self.tau)
    }

    /// T(age) within 0.9 %, without a logarithm.
    #[inline]
    #[must_use]
    pub fn near(&self, age: u64) -> f64 {
        match self.shape {
            Shape::Log => {
                let high = 1.0 + log2_above(1.0 + age as f64 * self.per_tau);
                0.5 * (high - LOG2_ABOVE + high)
            }
            _ => self.apply(age),
        }
    }
}

impl Ages for Transform {
    #[inline]
    fn factor(&self, age: u64) -> f64 {
        self.apply(age)
    }

    #[inline]
    fn bound(&self, age: u64) -> f64 {
        match self.shape {
            Shape::Log => 1.0 + log2_bound(1.0 + age as f64 * self.per_tau),
            Shape::Power => power_bound(age as f64 * self.per_tau, self.exponent),
            Shape::Identity | Shape::Stair => self.apply(age),
        }
    }
}

/// The age factor of a policy's costs.
pub trait Ages {
    /// The factor of an age: finite, not negative, monotone in the age.
    fn factor(&self, age: u64) -> f64;

    /// An upper bound of the factor: close to it and faster to compute.
    #[inline]
    fn bound(&self, age: u64) -> f64 {
        self.factor(age)
    }
}

impl<F: Fn(u64) -> f64> Ages for F {
    #[inline]
    fn factor(&self, age: u64) -> f64 {
        self(age)
    }
}

/// The exponent of a normal number, and its mantissa minus one.
#[inline]
fn parts(x: f64) -> (f64, f64) {
    const FRACTION: u64 = (1 << 52) - 1;
    let exponent = (x.to_bits() >> 52) as i64 - 1023;
    (exponent as f64, f64::from_bits(x.to_bits() & FRACTION | 1023 << 52) - 1.0)
}

/// The largest error of [`log2_above`].
const LOG2_ABOVE: f64 = 0.017;

/// An upper bound of the binary logarithm of `x >= 1`: the exponent plus a parabola through the
/// mantissa.
#[inline]
fn log2_above(x: f64) -> f64 {
    let (exponent, m) = parts(x);
    exponent + m + 0.3465 * m * (1.0 - m) + 0.0085
}

/// An upper bound of the binary logarithm of a normal `x`, at most 0.000 001 too large: the
/// exponent plus a polynomial through the mantissa. A search needs the exact logarithm of every
/// candidate that may still be best by its bound. With the parabola, whose error is up to 0.017,
/// these are a dozen at each level of the tree.
#[inline]
fn log2_bound(x: f64) -> f64 {
    let (exponent, m) = parts(x);
    let square = m * m;
    let low = 1.442_647_55 + m * -0.720_316_06;
    let middle = 0.472_086_92 + m * -0.321_960_29;
    let high = 0.188_752_74 + m * (-0.075_651_37 + m * 0.014_440_35);
    // The constant covers all rounding errors, including that of the time scale's reciprocal.
    exponent + m * (low + square * (middle + square * high)) + 0.000_000_85
}

/// An upper bound, close to exact, of `x` to the power of `exponent >= 0`. Near the largest factor
/// it is the largest factor.
#[inline]
fn power_bound(x: f64, exponent: f64) -> f64 {
    if x < f64::MIN_POSITIVE {
        return if exponent > 0.0 { MIN_FACTOR } else { 1.0 };
    }
    if exponent == 0.5 {
        return libm::sqrt(x) * (1.0 + 1e-12);
    }
    exp2_bound(exponent * log2_bound(x))
}

/// An upper bound of 2 to the power of `x`, with a relative error of at most 0.000 001. Near the
/// largest factor it is the largest factor.
#[inline]
fn exp2_bound(x: f64) -> f64 {
    if !(-600.0..600.0).contains(&x) {
        return if x < 0.0 { 1e-180 } else { MAX_FACTOR };
    }
    let whole = libm::floor(x);
    let m = x - whole;
    // A second polynomial, through the fraction.
    let (low, square) = (0.693_154_49 + m * 0.240_141_82, m * m);
    let high = 0.055_860_34 + m * (0.008_949_59 + m * 0.001_893_75);
    let fraction = 1.000_000_3 + m * (low + square * high);
    f64::from_bits(((whole as i64 + 1023) as u64) << 52) * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_bounded_closely() {
        for exponent in [0.0, 0.35, 0.5, 1.0, 3.0] {
            let t = Transform::new(Shape::Power, Some(Ticks(7)), 0.0, exponent);
            let ages = (0..200).flat_map(|e| [0, 1, 3].map(|more| (1.2_f64.powi(e) as u64) + more));
            for age in ages.chain(0..2000) {
                let (exact, bound) = (t.apply(age), t.bound(age));
                assert!(bound >= exact, "{bound} for {exact}, {age} to the power of {exponent}");
                let near = exact * (1.0 + (1.0 + exponent) * 1e-6) + MIN_FACTOR;
                assert!(bound <= near, "{bound} for {exact}, {age} to the power of {exponent}");
            }
        }
    }

    #[test]
    fn the_logarithm_is_one_now_and_grows_by_one_each_doubling() {
        let t = Transform::new(Shape::Log, Some(Ticks(250)), 0.0, 0.0);
        assert_eq!((t.apply(0), t.apply(250), t.apply(750)), (1.0, 2.0, 3.0));
        let stair = Transform::new(Shape::Stair, None, 250.0, 0.0);
        for i in 0..200_000_u64 {
            let x = 1.0 + (i * i) as f64 / 1000.0;
            let (above, bound) = (log2_above(x) - libm::log2(x), log2_bound(x) - libm::log2(x));
            assert!((0.0..LOG2_ABOVE).contains(&above), "{above} at {x}");
            assert!((1e-7..1e-6).contains(&bound), "{bound} at {x}");
        }
        assert_eq!((stair.apply(249), stair.apply(250), stair.apply(749)), (1.0, 2.0, 2.0));
    }
}
