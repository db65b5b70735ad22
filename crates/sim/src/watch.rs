//! Looking on while a job runs. What is looked at changes nothing: results are the same with and without.

use std::{fmt, sync::Arc};

use thermocline_flash::Geometry;
use thermocline_ftl::{Counters, Inspect};
use thermocline_policy::victim::Onlooker;

use crate::responses::Responses;

/// Looks on while a job runs.
pub trait Watch: fmt::Debug + Sync {
    /// The most requests to be served before the next look, when the host has written this many pages.
    fn stride(&self, pages: u64) -> usize;

    /// The job begins, has served some requests, or is over.
    fn look(&self, now: &Look<'_>);

    /// The listener to chosen victims, if there is one.
    fn onlooker(&self) -> Option<Arc<dyn Onlooker>> {
        None
    }
}

/// A running job. Counts are those since the statistics began.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The state of the layer.
    pub inspect: &'a dyn Inspect,
    /// The chip.
    pub geometry: &'a Geometry,
    /// What the layer did.
    pub counters: Counters,
    /// Requests served.
    pub requests: u64,
    /// Time of the device or of arrivals, in nanoseconds.
    pub elapsed_ns: u64,
    pub(crate) writes: &'a Responses,
}

impl Look<'_> {
    /// The response time of writes that this share of them did not exceed, in nanoseconds.
    #[must_use]
    pub fn write_response_ns(&self, share: f64) -> u64 {
        self.writes.at(share)
    }
}

impl fmt::Debug for Look<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Look").field("requests", &self.requests).finish_non_exhaustive()
    }
}
