//! Ages of blocks and pages, and how policies bend them.

use crate::{choice, params::Ticks};

choice! {
    /// What a block's age counts from.
    pub enum AgeSource {
        /// The time the block was opened.
        Created = "created",
        /// The time a page of it was last superseded or trimmed.
        LastInvalidation = "last-invalidation",
        /// The time the youngest data in it were written by the host; copies keep their age.
        Youngest = "youngest",
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

/// The age transformation T: keeps a very old block from outweighing everything else
/// (CAT paper, §3.2 and Figure 7). Monotone, so that the older of two blocks never scores worse.
#[derive(Clone, Copy, Debug)]
pub struct Transform {
    shape: Shape,
    tau: f64,
    exponent: f64,
}

impl Transform {
    /// The transformation of a shape with time scale `tau`, or `time_scale` where it is `None`.
    #[must_use]
    pub fn new(shape: Shape, tau: Option<Ticks>, time_scale: f64, exponent: f64) -> Self {
        let tau = tau.map_or(time_scale, |t| t.0 as f64).max(f64::MIN_POSITIVE);
        Self { shape, tau, exponent }
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
            Shape::Power => libm::pow(age / self.tau, self.exponent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_one_now_and_grows_by_one_each_doubling() {
        let t = Transform::new(Shape::Log, Some(Ticks(250)), 0.0, 0.0);
        assert_eq!((t.apply(0), t.apply(250), t.apply(750)), (1.0, 2.0, 3.0));
        let stair = Transform::new(Shape::Stair, None, 250.0, 0.0);
        assert_eq!((stair.apply(249), stair.apply(250), stair.apply(749)), (1.0, 2.0, 2.0));
    }
}
