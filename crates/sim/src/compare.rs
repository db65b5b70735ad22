//! Runs many jobs in parallel, and measures the distance of each from the oracle.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use rayon::prelude::*;
use thermocline_assembly::policy::{CALENDAR, ORACLE};
use thermocline_policy::preset::LayerKind;

use crate::{
    Device, History, Job, PolicySpec, Progress, ReadOnly, RunResult, SimError,
    classes::{CLASSES, with_fewer_classes},
    future::{Shared, Span, same_input},
    load::with_rates,
    result::OracleDistance,
    run::{Ran, run_sharing},
    setup::Setup,
};

/// Threads for one comparison.
struct Pool(Option<rayon::ThreadPool>);

impl Pool {
    fn of(threads: usize) -> Result<Self, SimError> {
        // A browser's worker is one thread, which rayon then takes.
        if cfg!(target_family = "wasm") {
            return Ok(Self(None));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let failed = |e| SimError::Failed(format!("cannot start {threads} threads: {e}"));
        pool.map(|pool| Self(Some(pool))).map_err(failed)
    }

    fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// The outcome of one of several jobs.
#[derive(Debug)]
pub struct Outcome {
    /// The run, or why the policy cannot run here.
    pub result: Result<RunResult, SimError>,
    /// The history of the run, if [`Job::history`] is set.
    pub history: Option<History>,
    /// The history of the oracle's run that it was compared with.
    pub oracle: Option<Arc<History>>,
    /// Why the run was not compared with the oracle, if it should have been.
    pub no_oracle: Option<String>,
}

/// Runs many jobs on `threads` threads (0: one per core). Results are in the order of the jobs.
///
/// # Errors
/// The [`SimError`] of the first job, in that order, that failed.
pub fn compare(
    jobs: &[Job<'_>],
    threads: usize,
    progress: &Progress,
) -> Result<Vec<RunResult>, SimError> {
    let outcomes = compare_each(jobs, false, threads, progress)?;
    outcomes
        .into_iter()
        .zip(jobs)
        .map(|(outcome, job)| outcome.result.map_err(|e| e.of_policy(&job.policy.name)))
        .collect()
}

/// Runs many jobs; if one cannot run, the others still do. With `oracle`, each result is compared
/// with the oracle on the same input and device. The oracle runs once for all jobs that share them.
///
/// # Errors
/// [`SimError::Interrupted`], [`SimError::Broken`], and inputs that cannot be read or generated:
/// errors that do not depend on the policy.
pub fn compare_each(
    jobs: &[Job<'_>],
    oracle: bool,
    threads: usize,
    progress: &Progress,
) -> Result<Vec<Outcome>, SimError> {
    let jobs: Vec<_> =
        jobs.iter().map(|job| with_fewer_classes(job).unwrap_or_else(|| job.clone())).collect();
    // Threads beyond the number of runs, the oracle's among them, would be idle.
    let threads = threads.min(2 * jobs.len().max(1));
    let pool = Pool::of(threads)?;
    let jobs = &pool.run(|| with_rates(jobs, progress))?[..];
    let setups: Vec<_> = jobs.iter().map(|job| Setup::of(job).ok()).collect();
    let oracles = Oracles::of(jobs, &setups, oracle)?;
    let runs: Vec<&Job<'_>> = oracles.jobs.iter().chain(jobs).collect();
    let futures = Futures::of(&runs);
    let stopped = AtomicBool::new(false);
    let run = |(at, job): (usize, &&Job<'_>)| {
        if stopped.load(Relaxed) {
            return Err(SimError::Interrupted);
        }
        let result = run_sharing(job, futures.of_run(at), progress);
        if matches!(&result, Err(e) if stops_all(e)) {
            stopped.store(true, Relaxed);
        }
        result
    };
    let mut results: Vec<_> = pool.run(|| runs.par_iter().enumerate().map(run).collect());
    // The error that stopped the others takes precedence over the interruptions that it caused.
    let cause = |e: &SimError| stops_all(e) && !matches!(e, SimError::Interrupted);
    if stopped.into_inner() {
        let mut errors = results.into_iter().filter_map(Result::err);
        return Err(errors.find(cause).unwrap_or(SimError::Interrupted));
    }
    let done = results.split_off(oracles.jobs.len());
    let of_oracle = |ran: &mut Result<Ran, SimError>| {
        ran.as_mut().ok().and_then(|ran| ran.history.take()).map(Arc::new)
    };
    let histories: Vec<_> = results.iter_mut().map(of_oracle).collect();
    let outcome = |(at, ran): (usize, Result<Ran, SimError>)| {
        let (mut result, history) = match ran {
            Ok(Ran { result, history }) => (Ok(result), history),
            Err(error) => (Err(error), None),
        };
        let (mut no_oracle, mut oracle) = (None, None);
        match (&mut result, oracles.of_job.get(at)) {
            (Ok(run), Some(Ok(theirs))) => {
                let best = best(theirs, &results);
                match distance(run, &oracles.jobs[best], &results[best]) {
                    Ok(distance) => run.oracle = distance,
                    Err(why) => no_oracle = Some(why),
                }
                oracle = histories[best].clone();
            }
            (Ok(_), Some(Err(why))) => no_oracle = Some(why.clone()),
            _ => {}
        }
        Outcome { result, history, oracle, no_oracle }
    };
    Ok(done.into_iter().enumerate().map(outcome).collect())
}

/// Whether an error does not depend on the policy, so that no other could do better, or is a
/// mistake in a user's policy that its author needs to see at once.
const fn stops_all(error: &SimError) -> bool {
    matches!(
        error,
        SimError::Interrupted | SimError::Broken(_) | SimError::Trace(_) | SimError::Policy(_)
    )
}

/// The run that wrote least for the same host writes, of the placements that know the future.
fn best(of_job: &[usize], results: &[Result<Ran, SimError>]) -> usize {
    let written = |at: &usize| {
        let run = results[*at].as_ref().map(|ran| &ran.result).ok();
        run.map_or((u64::MAX, 0), |run| {
            (u64::MAX - run.host.pages_written, run.flash.pages_programmed)
        })
    };
    of_job.iter().copied().min_by_key(written).expect("a job with an oracle has at least one")
}

/// By how much a run writes more than the oracle; 0 if neither wrote.
fn distance(
    run: &RunResult,
    job: &Job<'_>,
    oracle: &Result<Ran, SimError>,
) -> Result<Option<OracleDistance>, String> {
    let oracle = &oracle.as_ref().map_err(ToString::to_string)?.result;
    if run.host.pages_written != oracle.host.pages_written {
        return Err("the device wore out before the end, and not both wrote as much".into());
    }
    let both = run.write_amplification.zip(oracle.write_amplification);
    Ok(both.map(|(ours, oracle)| OracleDistance {
        policy: job.policy.name.clone(),
        write_amplification: oracle,
        excess: ours / oracle - 1.0,
    }))
}

/// The runs of the placements that know the future, of which the best is the oracle: one of each
/// for all jobs with the same input on the same device.
struct Oracles<'a> {
    jobs: Vec<Job<'a>>,
    /// Indices of these runs for each job, or why there is none; empty without an oracle.
    of_job: Vec<Result<Vec<usize>, String>>,
}

impl<'a> Oracles<'a> {
    fn of(jobs: &[Job<'a>], setups: &[Option<Setup>], wanted: bool) -> Result<Self, SimError> {
        let mut all = Self { jobs: Vec::new(), of_job: Vec::new() };
        if !wanted {
            return Ok(all);
        }
        for (job, setup) in jobs.iter().zip(setups) {
            let oracles = match setup {
                None => Err("it did not run".into()),
                Some(_) if job.settle.is_some() => {
                    Err("the input is repeated until it settles, and the oracle would have to know how often".into())
                }
                Some(setup) => {
                    let found = oracles_for(job, setup)?;
                    let none = || {
                        format!(
                            "it needs {} open blocks, more than {} can spare",
                            CLASSES[CLASSES.len() - 1],
                            setup.plan.device.profile.name
                        )
                    };
                    if found.is_empty() { Err(none()) } else { Ok(found) }
                }
            };
            let mut index = |oracle: Job<'a>| {
                let known = all.jobs.iter().position(|other| same_run(other, &oracle));
                known.unwrap_or_else(|| {
                    all.jobs.push(oracle);
                    all.jobs.len() - 1
                })
            };
            all.of_job.push(oracles.map(|found| found.into_iter().map(&mut index).collect()));
        }
        Ok(all)
    }
}

/// The placements that know the future on the device of a job, with as many open blocks as it has
/// room for.
fn oracles_for<'a>(job: &Job<'a>, setup: &Setup) -> Result<Vec<Job<'a>>, SimError> {
    let mut oracles = Vec::new();
    for name in [ORACLE, CALENDAR] {
        // The device is already sized.
        let device = Device { fixed_capacity: true, ..setup.plan.device.clone() };
        let mut policy = PolicySpec::parse(name, None, None)?;
        // The oracle also knows which pages are never written.
        policy.read_only_separation = job.read_only != ReadOnly::None;
        if job.policy.layer == LayerKind::PageMapped {
            policy.idle.clone_from(&job.policy.idle);
        }
        // A policy without trims is compared with an oracle without trims.
        if job.policy.dead_data.name == "none" {
            policy.dead_data = job.policy.dead_data.clone();
        }
        let mut oracle = Job { device, policy, delays: None, watch: None, ..job.clone() };
        if let Some(fewer) = with_fewer_classes(&oracle) {
            oracle.policy = PolicySpec { name: fewer.policy.placement.show(), ..fewer.policy };
        }
        // Where the classes find no room, windows do not help either.
        if Setup::of(&oracle).is_err() {
            break;
        }
        oracles.push(oracle);
    }
    Ok(oracles)
}

/// Whether two jobs give the same run.
pub(crate) fn same_run(a: &Job<'_>, b: &Job<'_>) -> bool {
    let Job {
        device,
        policy,
        input,
        fill,
        over_provisioning,
        logical_pages,
        used,
        scale,
        time_scale_ns,
        map_cache,
        warm_up,
        settle,
        wrap,
        clock,
        read_only,
        queue_depth,
        reads_first,
        suspend,
        load,
        rate,
        watermarks,
        wears_out,
        check,
        // The lifetime of the oracle is not reported.
        daily_writes: _,
        // Each run records its own history.
        history: _,
        // The delay log is written by the job itself.
        delays: _,
        // Observers do not change the run.
        watch: _,
        seed,
    } = a;
    same_input(input, &b.input)
        && device.profile == b.device.profile
        && device.fixed_capacity == b.device.fixed_capacity
        && *policy == b.policy
        && *fill == b.fill
        && *over_provisioning == b.over_provisioning
        && *logical_pages == b.logical_pages
        && *used == b.used
        && *scale == b.scale
        && *time_scale_ns == b.time_scale_ns
        && *map_cache == b.map_cache
        && *warm_up == b.warm_up
        && *settle == b.settle
        && *wrap == b.wrap
        && *clock == b.clock
        && *read_only == b.read_only
        && *queue_depth == b.queue_depth
        && *reads_first == b.reads_first
        && *suspend == b.suspend
        && *load == b.load
        && *rate == b.rate
        && *watermarks == b.watermarks
        && *wears_out == b.wears_out
        && *check == b.check
        && *seed == b.seed
}

/// The futures of many runs, each shared by the runs that write the same pages.
struct Futures {
    shared: Vec<Shared>,
    /// The index of the future of each run.
    of_run: Vec<usize>,
}

impl Futures {
    fn of(runs: &[&Job<'_>]) -> Self {
        let mut kinds: Vec<(&Job<'_>, Option<Span>, usize)> = Vec::new();
        let of_run = runs
            .iter()
            .map(|job| {
                let span = if job.policy.sees_future() { Setup::of(job).ok() } else { None };
                let span = span.as_ref().map(Span::of);
                let same = |(other, theirs, _): &(&Job<'_>, Option<Span>, usize)| {
                    *theirs == span
                        && (span.is_none()
                            || same_input(&other.input, &job.input) && other.seed == job.seed)
                };
                let at = kinds.iter().position(same).unwrap_or_else(|| {
                    kinds.push((job, span, 0));
                    kinds.len() - 1
                });
                kinds[at].2 += 1;
                at
            })
            .collect();
        Self { shared: kinds.iter().map(|(_, _, users)| Shared::new(*users)).collect(), of_run }
    }

    fn of_run(&self, at: usize) -> &Shared {
        &self.shared[self.of_run[at]]
    }
}
