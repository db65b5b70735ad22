//! The contract of idle policies.

use alloc::boxed::Box;

use crate::{Args, ParamError, PolicyInfo};

/// The work allowed after the device has finished a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leisure {
    /// Idle time before the first step, in nanoseconds.
    pub after: u64,
    /// Maximum number of steps until the next request. A step cleans one block or folds one pair.
    pub steps: u64,
    /// Whether a waiting request ends the work. A step that has begun is always finished.
    pub yields: bool,
}

impl Leisure {
    /// No work.
    pub const NONE: Self = Self { after: 0, steps: 0, yields: true };
}

/// Decides how much to clean between requests. Times are in nanoseconds and never decrease.
pub trait Idle: Send {
    /// A request arrives, which ends the current idle period.
    fn arrived(&mut self, time: u64);

    /// The work allowed before the next request, if a step takes at most `step` nanoseconds.
    fn leisure(&self, step: u64) -> Leisure;

    /// The predicted idle time before the next request, if a step takes `step` nanoseconds. 0 if it
    /// is not worth using; `None` from a policy that does not predict, or has no data yet. Used by
    /// measurements only.
    fn predicted(&self, step: u64) -> Option<u64> {
        let _ = step;
        None
    }

    /// Number of free blocks in each bank at which a page-mapped layer stops. `None`: a share of
    /// the spare space.
    fn enough_free(&self) -> Option<u32>;

    /// Dead pages that make a pair worth folding on a block-mapped layer. `None`: the pages of a
    /// block.
    fn least_dead(&self) -> Option<u32>;

    /// Percentage of free blocks below which any pair is folded on a block-mapped layer; 0 for
    /// never.
    fn short_percent(&self) -> u32;
}

/// A registered idle policy.
pub struct IdleEntry {
    /// The catalogue entry.
    pub info: PolicyInfo,
    /// Builds the policy from the user's arguments.
    pub build: fn(&Args) -> Result<Box<dyn Idle>, ParamError>,
}
