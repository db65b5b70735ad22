//! All runs of a plan on all threads. What several runs are driven by is read once.

use std::{
    collections::HashMap,
    slice,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use thermocline_assembly::{Device, PolicySpec};
use thermocline_papers::{Outcome, Run};
use thermocline_sim::compare_each;
use thermocline_workloads::WorkloadSpec;

use super::options::{Options, Runnable, failed};
use crate::{
    args::run::RunArgs,
    commands::run::policy_of,
    console::Console,
    exit::Failure,
    interrupt,
    jobs::{self, Ready},
    notes,
    progress::Bar,
};

/// What came of a run, and what a person should know of it.
pub struct Ran {
    /// Its result.
    pub outcome: Outcome,
    /// Remarks, one line each.
    pub notes: Vec<String>,
}

/// A run that is understood.
struct Task<'a> {
    run: &'a Run,
    command: String,
    args: Box<RunArgs>,
    policy: PolicySpec,
    device: Device,
    /// Which of the shared inputs drives it.
    input: usize,
}

/// An input of one run or several.
#[derive(Default)]
struct Shared {
    ready: Mutex<Option<Arc<Ready>>>,
    /// Runs that still need it.
    users: AtomicUsize,
}

/// Runs everything; what comes of the runs stands in their order.
pub fn run_all(
    runs: &[Run],
    options: &mut Options<'_>,
    threads: usize,
    console: Console,
) -> Result<Vec<Ran>, Failure> {
    let mut results: Vec<Option<Ran>> = Vec::new();
    let mut tasks = Vec::new();
    let mut inputs = Inputs::default();
    for (at, run) in runs.iter().enumerate() {
        results.push(None);
        match options.arguments(run)? {
            Runnable::Missing(why) => {
                results[at] = Some(Ran { outcome: Outcome::Missing(why), notes: Vec::new() });
            }
            Runnable::As(args, command) => {
                tasks.push((at, Task::of(run, command, args, &mut inputs)?));
            }
        }
    }
    // Runs with the same input stand together, so that not all inputs are kept until the end.
    tasks.sort_by_key(|(at, task)| (task.input, *at));
    for ((at, _), ran) in tasks.iter().zip(run_tasks(&tasks, &inputs.shared, threads, console)?) {
        results[*at] = Some(ran);
    }
    Ok(results.into_iter().flatten().collect())
}

/// The inputs of all runs, each once.
#[derive(Default)]
struct Inputs {
    shared: Vec<Shared>,
    known: HashMap<String, usize>,
}

impl<'a> Task<'a> {
    fn of(
        run: &'a Run,
        command: String,
        args: Box<RunArgs>,
        inputs: &mut Inputs,
    ) -> Result<Self, Failure> {
        let understood = || -> Result<_, Failure> {
            Ok((policy_of(&args)?, jobs::device(&args.simulation.device.shape)?))
        };
        let (policy, device) = understood().map_err(|e| told(e, run, &command))?;
        let key = input_key(&args, &policy, &device);
        let input = *inputs.known.entry(key).or_insert_with(|| {
            inputs.shared.push(Shared::default());
            inputs.shared.len() - 1
        });
        inputs.shared[input].users.fetch_add(1, Relaxed);
        Ok(Self { run, command, args, policy, device, input })
    }

    fn run(&self, shared: &Shared, console: Console) -> Result<Ran, Failure> {
        let simulation = &self.args.simulation;
        let ready = {
            let mut ready = shared.ready.lock().unwrap_or_else(PoisonError::into_inner);
            match &*ready {
                Some(ready) => Arc::clone(ready),
                None => Arc::clone(ready.insert(Arc::new(self.prepare(console)?))),
            }
        };
        let job = jobs::job(&ready, &self.policy, &self.device, simulation);
        let progress = interrupt::progress();
        let mut outcomes = compare_each(slice::from_ref(&job), self.args.oracle, 1, progress)?;
        let Some(outcome) = outcomes.pop() else { unreachable!("one job has one outcome") };
        let result = outcome.result.map_err(|e| e.of_policy(&self.policy.name))?;
        let policies = slice::from_ref(&self.policy);
        let mut notes = notes::on(&[&result], policies, ready.is_recorded(), simulation);
        notes.extend(outcome.no_oracle.map(|why| notes::no_oracle(&result.trace.path, &why)));
        if shared.users.fetch_sub(1, Relaxed) == 1 {
            *shared.ready.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        Ok(Ran { outcome: Outcome::Done(result.stable_json()), notes })
    }

    fn prepare(&self, console: Console) -> Result<Ready, Failure> {
        let args = &self.args;
        let inputs = jobs::ready(
            args.input.trace.as_deref(),
            &args.input.workload,
            slice::from_ref(&self.policy),
            &self.device,
            &args.simulation,
            console,
        )?;
        match inputs.into_iter().next() {
            Some(ready) => Ok(ready),
            None => unreachable!("a run has one input"),
        }
    }
}

/// All that an input depends on. Patterns are generated while they run and cost nothing to share.
fn input_key(args: &RunArgs, policy: &PolicySpec, device: &Device) -> String {
    let simulation = &args.simulation;
    let (page, mapping) = (device.profile.geometry.page_size, &simulation.mapping);
    let how = (mapping.absolute, mapping.footprint, mapping.partial_pages);
    let workload = (&args.input.workload, &simulation.workload);
    match &args.input.workload {
        Some(WorkloadSpec::Pattern(_)) => format!("{workload:?}"),
        Some(WorkloadSpec::Files(_)) => {
            let pages = device.exported_pages(simulation.device.over_provisioning);
            format!("{workload:?} {how:?} {page} {pages} {}", simulation.seed)
        }
        None => {
            let (reading, transforms) = (&simulation.reading, &simulation.transforms);
            let contents = policy.wants_contents();
            format!("{:?} {how:?} {page} {reading:?} {transforms:?} {contents}", args.input.trace)
        }
    }
}

fn run_tasks(
    tasks: &[(usize, Task<'_>)],
    inputs: &[Shared],
    threads: usize,
    console: Console,
) -> Result<Vec<Ran>, Failure> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores } else { threads }.min(tasks.len());
    let (next, done) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let stopped = AtomicBool::new(false);
    let bar = Bar::of_runs(console, tasks.len(), Arc::clone(&done));
    // Bars of inputs would be drawn into this one.
    let quiet = console.without_progress();
    let work = || {
        let mut mine = Vec::new();
        while !stopped.load(Relaxed) {
            let at = next.fetch_add(1, Relaxed);
            let Some((_, task)) = tasks.get(at) else { break };
            let ran = task.run(&inputs[task.input], quiet);
            stopped.fetch_or(ran.is_err(), Relaxed);
            done.fetch_add(1, Relaxed);
            mine.push((at, ran.map_err(|e| told(e, task.run, &task.command))));
        }
        mine
    };
    let mut all = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = Vec::new();
        for worker in workers {
            match worker.join() {
                Ok(mine) => all.extend(mine),
                // A bug; it was told by the thread, and ends the program as any other does.
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    drop(bar);
    // They were begun in order, so the first that failed is the same on any number of threads.
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, ran)| ran).collect()
}

/// What is wrong with a run, with its command.
fn told(failure: Failure, run: &Run, command: &str) -> Failure {
    match failure {
        Failure::Sim(error) => failed(&run.wanted_by, command, error),
        other => other,
    }
}
