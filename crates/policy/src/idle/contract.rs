//! What an idle policy is.

use alloc::boxed::Box;

use crate::{Args, ParamError, PolicyInfo};

/// What may be done once the device is done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leisure {
    /// Nanoseconds of silence before the first step.
    pub after: u64,
    /// Most steps until the next request; a step cleans one block, or folds one pair.
    pub steps: u64,
    /// Whether a request that waits ends it; a step that was begun is always finished.
    pub yields: bool,
}

impl Leisure {
    /// Nothing is done.
    pub const NONE: Self = Self { after: 0, steps: 0, yields: true };
}

/// Decides what is done between requests. Times are nanoseconds and never fall.
pub trait Idle: Send {
    /// A request arrives; all that leisure was for before it is over.
    fn arrived(&mut self, time: u64);

    /// What may be done before the next request, if a step takes `step` nanoseconds at the longest.
    fn leisure(&self, step: u64) -> Leisure;

    /// The silence that it expects before the next request, if a step takes `step` nanoseconds; 0 for none
    /// worth using, `None` from a policy that predicts nothing and before there is anything to predict from.
    /// Who measures asks for it; nothing else depends on it.
    fn predicted(&self, step: u64) -> Option<u64> {
        let _ = step;
        None
    }

    /// Free blocks in each bank that are enough, on a page-mapped layer; a share of the spare space
    /// where it is left open.
    fn enough_free(&self) -> Option<u32>;

    /// Dead pages that make a pair worth folding, on a block-mapped layer; the pages of a block
    /// where it is left open.
    fn least_dead(&self) -> Option<u32>;

    /// Percentage of free blocks below which any pair is worth folding, on a block-mapped layer; 0 for
    /// none.
    fn short_percent(&self) -> u32;
}

/// A registered idle policy.
pub struct IdleEntry {
    /// What the catalogue says.
    pub info: PolicyInfo,
    /// Builds it from the user's arguments.
    pub build: fn(&Args) -> Result<Box<dyn Idle>, ParamError>,
}
