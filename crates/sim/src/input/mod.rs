//! The input of a run: a prepared trace or a generated workload, as extents of logical pages.

use crate::{SimError, load::Timetable};

mod collect;
mod contents;
mod extent;
mod known;
mod spool;
mod trace;
mod workload;

pub use collect::Whole;
pub(crate) use extent::Extent;
pub(crate) use known::Known;
pub use trace::{PreparedTrace, Sampling, TraceMapping};
pub use workload::Workload;

use extent::wrap_around;
use trace::Replay;
use workload::Generated;

/// Number of requests in a batch.
const BATCH: usize = 4096;

/// The input of a run.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A trace, replayed a number of times.
    Trace(&'a PreparedTrace, u32),
    /// A generated workload.
    Workload(&'a Workload),
}

impl Input<'_> {
    /// Opens the stream of extents. A workload addresses the pages from `first` on.
    pub(crate) fn open(
        &self,
        first: u32,
        pages: u32,
        page_size: u32,
        scale: u32,
        seed: u64,
    ) -> Result<Extents, SimError> {
        match self {
            Input::Trace(trace, times) => {
                // The next pass begins one mean gap after the last request.
                let period = trace
                    .duration_ns
                    .saturating_add(trace.duration_ns / trace.whole.requests.max(1));
                if period.checked_mul(u64::from(*times)).is_none() {
                    return Err(SimError::Input(format!(
                        "{}: {times} times over is more than 584 years, all that the clock can \
                         count; take a smaller ‹loop›",
                        trace.path
                    )));
                }
                Ok(Extents::Replay {
                    replay: trace.extents()?,
                    times: *times,
                    requests: trace.requests,
                    base_ns: 0,
                    period_ns: period,
                    wrap: pages,
                })
            }
            Input::Workload(workload) => {
                let filled = u64::from(first + pages) * u64::from(page_size) * u64::from(scale);
                let workload = workload.on(filled).scaled(scale, page_size);
                Ok(Extents::Generated(Box::new(workload.generator(first, pages, page_size, seed)?)))
            }
        }
    }

    /// Number of pages that each page of the input stands for; 1 except in a sample.
    #[must_use]
    pub fn sampled(&self) -> u32 {
        match self {
            Input::Trace(trace, _) => trace.sample.map_or(1, |sample| sample.of),
            Input::Workload(_) => 1,
        }
    }

    /// Number of requests at the start that only prepare the device.
    #[must_use]
    pub const fn prelude(&self) -> u64 {
        match self {
            Input::Trace(trace, _) => trace.prelude,
            Input::Workload(_) => 0,
        }
    }

    /// Whether some written contents are known.
    pub(crate) const fn knows_contents(&self) -> bool {
        matches!(self, Input::Trace(t, _) if t.known_requests > 0 || !t.found.is_empty())
    }

    /// Pages with contents that the device holds before the run.
    pub(crate) fn found(&self) -> &[(u32, Box<[u8]>)] {
        match self {
            Input::Trace(trace, _) => &trace.found,
            Input::Workload(_) => &[],
        }
    }

    /// Number of pages that will be written, as far as known.
    pub(crate) fn expected_pages(&self, extents: &Extents) -> u64 {
        match (self, extents) {
            (Input::Trace(trace, times), _) => trace.page_writes * u64::from(*times),
            (_, Extents::Generated(generated)) => generated.expected,
            (_, Extents::At(_, extents)) => self.expected_pages(extents),
            _ => 0,
        }
    }
}

/// A batch of extents, with known contents.
#[derive(Default)]
pub(crate) struct Batch {
    pub extents: Vec<Extent>,
    pub known: Known,
    /// Whether the batch begins another pass over the input.
    pub begins_pass: bool,
}

/// A stream of extents, in batches.
pub(crate) enum Extents {
    Replay {
        replay: Replay,
        times: u32,
        requests: u64,
        base_ns: u64,
        period_ns: u64,
        wrap: u32,
    },
    Generated(Box<Generated>),
    /// With other arrivals.
    At(Box<Timetable>, Box<Extents>),
}

impl Extents {
    /// The same requests with these arrivals.
    pub(crate) fn at(self, arrivals: Timetable) -> Self {
        Self::At(Box::new(arrivals), Box::new(self))
    }

    /// Replaces the batch by the next extents; empty at the end.
    pub(crate) fn next_batch(&mut self, batch: &mut Batch) -> Result<(), SimError> {
        batch.extents.clear();
        batch.known.clear();
        batch.begins_pass = false;
        match self {
            Self::Replay { replay, times, requests, base_ns, period_ns, wrap } => {
                if replay.left == 0 && *times > 1 {
                    *times -= 1;
                    *base_ns += *period_ns;
                    replay.rewind(*requests);
                    batch.begins_pass = true;
                }
                replay.next_batch(batch, *base_ns)?;
                if wrap_around(&mut batch.extents, *wrap) {
                    // Their pages are renumbered, so contents do not match.
                    batch.known.clear();
                }
            }
            Self::Generated(generated) => generated.next_batch(&mut batch.extents)?,
            Self::At(arrivals, extents) => {
                extents.next_batch(batch)?;
                let requests = batch.extents.iter_mut().filter(|extent| !extent.continued);
                requests.for_each(|request| request.time_ns = arrivals.next_ns());
            }
        }
        Ok(())
    }

    /// Restarts the input at time 0, a workload with other random numbers. Returns the time between
    /// its end and its restart.
    pub(crate) fn begin_again(&mut self) -> Result<u64, SimError> {
        match self {
            Self::Replay { replay, requests, base_ns, period_ns, .. } => {
                *base_ns = 0;
                replay.rewind(*requests);
                Ok(*period_ns / (*requests).max(1))
            }
            Self::Generated(generated) => generated.begin_again().map(|()| 0),
            Self::At(arrivals, extents) => {
                arrivals.restart();
                extents.begin_again().map(|_| 0)
            }
        }
    }
}
