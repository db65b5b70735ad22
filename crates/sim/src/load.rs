//! Load: arrivals at a share of the rate that the device sustains.
//!
//! The *sustained rate* is that of the same input on the same device, with each request started
//! when another ends, under greedy cleaning of whole victims. It does not depend on the policy, so
//! all policies of a comparison get the same arrivals; one that writes more than greedy may be
//! overloaded.
//!
//! Parts of a trace differ in their work by much. So the rate is measured for each stretch of
//! requests, and the load is the same share of it in all of them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use thermocline_policy::trigger::Pacing;
use thermocline_trace::generate::Arrivals;

use crate::{
    Clock, Input, Job, Look, PolicySpec, Progress, SimError, Watch, compare::same_run,
    future::Shared, run::run_sharing,
};

/// The policy that the sustained rate is measured with.
const REFERENCE: &str = "greedy";

/// Requests in progress while the rate of a device with several banks is measured: as many as a host queues.
const QUEUED: u32 = 32;

/// Requests of a stretch.
const STRETCH: u64 = 1024;

/// A rate of arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// Share of the sustained rate.
    pub load: f64,
    /// Requests a second that the device sustains, in the mean.
    pub sustained_per_s: f64,
    /// Nanoseconds between requests at the sustained rate, in each stretch.
    gaps_ns: Arc<[f64]>,
}

impl Rate {
    /// Mean gap between page writes, in nanoseconds; `None` if the input writes nothing.
    pub(crate) fn page_gap_ns(&self, input: &Input<'_>, page_size: u64) -> Option<f64> {
        let pages_a_request = match input {
            Input::Trace(trace, _) => {
                trace.whole.page_writes as f64 / trace.whole.requests.max(1) as f64
            }
            Input::Workload(workload) => {
                let pages = workload.request_bytes.unwrap_or(page_size).div_ceil(page_size);
                pages as f64 * (1.0 - workload.read_share)
            }
        };
        let gap_ns = 1e9 / (self.load * self.sustained_per_s);
        (pages_a_request > 0.0).then(|| gap_ns / pages_a_request)
    }

    /// The arrivals, after those of `prelude` requests that only prepare the device.
    pub(crate) fn timetable(&self, prelude: u64, seed: u64) -> Timetable {
        let arrivals = Arrivals::of_seed(seed, self.gap_ns(0));
        Timetable { rate: self.clone(), arrivals, prelude, next: 0 }
    }

    /// Mean gap between arrivals in a stretch, in nanoseconds. Requests beyond those that were measured arrive
    /// like the last of these.
    fn gap_ns(&self, stretch: u64) -> f64 {
        let last = self.gaps_ns.len().saturating_sub(1);
        self.gaps_ns.get(last.min(stretch as usize)).copied().unwrap_or(0.0) / self.load
    }
}

/// Arrivals at a [`Rate`], one after another.
pub(crate) struct Timetable {
    rate: Rate,
    arrivals: Arrivals,
    prelude: u64,
    /// Number of the next request.
    next: u64,
}

impl Timetable {
    pub(crate) fn next_ns(&mut self) -> u64 {
        if let Some(request) = self.next.checked_sub(self.prelude)
            && request.is_multiple_of(STRETCH)
        {
            self.arrivals.set_mean_ns(self.rate.gap_ns(request / STRETCH));
        }
        self.next += 1;
        self.arrivals.next_ns()
    }

    /// Begins again at time 0.
    pub(crate) fn restart(&mut self) {
        self.next = 0;
        self.arrivals.restart();
    }
}

/// How long a run took for each stretch of requests.
#[derive(Debug, Default)]
struct Stretches(Mutex<Vec<(u64, u64)>>);

impl Watch for Stretches {
    fn stride(&self, _: u64) -> usize {
        STRETCH as usize
    }

    fn look(&self, at: &Look<'_>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another pass over the input begins.
        if seen.last().is_some_and(|(requests, _)| at.requests < *requests) {
            seen.clear();
        }
        seen.push((at.requests, at.elapsed_ns));
    }
}

impl Stretches {
    /// Nanoseconds a request in each stretch.
    fn gaps_ns(self) -> Vec<f64> {
        let seen = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut gaps = Vec::new();
        let mut begin = (0, 0);
        for (requests, ns) in seen {
            // Batches end within stretches.
            let due = (gaps.len() as u64 + 1) * STRETCH;
            if requests >= due {
                gaps.push((ns - begin.1) as f64 / (requests - begin.0) as f64);
                begin = (requests, ns);
            }
        }
        gaps
    }
}

/// The jobs with their rates. The sustained rate of each input and device is measured once.
pub(crate) fn with_rates<'a>(
    jobs: Vec<Job<'a>>,
    progress: &Progress,
) -> Result<Vec<Job<'a>>, SimError> {
    let mut references: Vec<(Job<'a>, OnceLock<Result<Rate, SimError>>)> = Vec::new();
    let mut of_job = Vec::new();
    for job in &jobs {
        let due = job.load.filter(|_| job.rate.is_none());
        let Some(load) = due else {
            of_job.push(None);
            continue;
        };
        check(job, load)?;
        let reference = reference(job)?;
        let known = references.iter().position(|(other, _)| same_run(other, &reference));
        let at = known.unwrap_or_else(|| {
            references.push((reference, OnceLock::new()));
            references.len() - 1
        });
        of_job.push(Some((load, at)));
    }
    references.par_iter().for_each(|(job, rate)| {
        rate.get_or_init(|| sustained(job, progress));
    });
    let mut rates = Vec::new();
    for (_, rate) in references {
        rates.push(rate.into_inner().unwrap_or(Err(SimError::Interrupted))?);
    }
    let rated = |(job, of): (Job<'a>, Option<(f64, usize)>)| {
        let rate = of.map(|(load, at)| Rate { load, ..rates[at].clone() });
        Job { rate: rate.or(job.rate.clone()), ..job }
    };
    Ok(jobs.into_iter().zip(of_job).map(rated).collect())
}

/// Refuses settings that contradict a load.
fn check(job: &Job<'_>, load: f64) -> Result<(), SimError> {
    let refused = |text: &str| Err(SimError::Usage(text.into()));
    if !(load.is_finite() && load > 0.0) {
        return refused("‹load 0%› is no load; give it more");
    }
    if job.clock == Some(Clock::Device) {
        return refused(
            "‹load› sets arrival times, which ‹clock device› has not; leave one of them out",
        );
    }
    if let Input::Workload(workload) = job.input
        && workload.interarrival_ns.is_some()
    {
        return refused("‹load› and ‹interarrival› both set arrival times; leave one of them out");
    }
    if job.warm_up > 0 {
        return refused(
            "‹load› is of all requests, those of a ‹warm-up› too; leave it out, or ‹settle›",
        );
    }
    if job.stands_for() > 1 {
        return refused(
            "‹load› needs whole requests, which ‹sample› and ‹scale› have not; leave one of them out",
        );
    }
    Ok(())
}

/// The run by which the sustained rate is measured.
fn reference<'a>(job: &Job<'a>) -> Result<Job<'a>, SimError> {
    let mut policy = PolicySpec::parse(REFERENCE, None, None)?;
    policy.pacing = Pacing::Off;
    if job.policy.dead_data.name == "none" {
        policy.dead_data = job.policy.dead_data.clone();
    }
    let banks = job.device.profile.geometry.banks;
    Ok(Job {
        policy,
        load: None,
        clock: Some(Clock::Device),
        queue_depth: (banks > 1).then(|| job.queue_depth.unwrap_or(QUEUED)),
        reads_first: None,
        suspend: None,
        time_scale_ns: None,
        wears_out: false,
        check: false,
        daily_writes: None,
        history: false,
        delays: None,
        watch: None,
        ..job.clone()
    })
}

/// The rate that the device sustains.
fn sustained(job: &Job<'_>, progress: &Progress) -> Result<Rate, SimError> {
    let stretches = Stretches::default();
    let job = Job { watch: Some(&stretches), ..job.clone() };
    let result = run_sharing(&job, &Shared::new(1), progress)?.result;
    let mean_ns = result.elapsed_us * 1e3 / result.host.requests as f64;
    if !(mean_ns.is_finite() && mean_ns > 0.0) {
        return Err(SimError::Input(format!(
            "{}: its requests take no time, so no ‹load› can be set",
            result.trace.path
        )));
    }
    let mut gaps_ns = stretches.gaps_ns();
    if gaps_ns.is_empty() {
        gaps_ns.push(mean_ns);
    }
    Ok(Rate { load: 1.0, sustained_per_s: 1e9 / mean_ns, gaps_ns: gaps_ns.into() })
}
