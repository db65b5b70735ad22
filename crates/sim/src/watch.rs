//! Observation of a running job. It does not change results.

use std::{fmt, sync::Arc};

use thermocline_flash::Geometry;
use thermocline_ftl::{Counters, Inspect};
use thermocline_policy::victim::Onlooker;

use crate::responses::Responses;

/// Observes a running job.
pub trait Watch: fmt::Debug + Sync {
    /// Maximum number of requests until the next call of `look`, given the pages that the host has
    /// written.
    fn stride(&self, pages: u64) -> usize;

    /// Called at the start of the job, after some requests, and at its end.
    fn look(&self, now: &Look<'_>);

    /// The observer of victim choices, if there is one.
    fn onlooker(&self) -> Option<Arc<dyn Onlooker>> {
        None
    }
}

/// A running job. Counts are since the statistics began.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The state of the layer.
    pub inspect: &'a dyn Inspect,
    /// The chip.
    pub geometry: &'a Geometry,
    /// Counters of the layer.
    pub counters: Counters,
    /// Requests served.
    pub requests: u64,
    /// Time of the device or of arrivals, in nanoseconds.
    pub elapsed_ns: u64,
    pub(crate) writes: &'a Responses,
}

impl Look<'_> {
    /// The write response time that this share of the writes did not exceed, in nanoseconds.
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
