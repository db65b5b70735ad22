//! A fleet: each volume of a trace as a device of its own.
//!
//! A trace is decoded once, into a temporary file; then as many volumes as there are threads are in
//! memory at a time. What came of a volume is kept on disk until it is printed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tempfile::TempDir;
use thermocline_assembly::{Device, PolicySpec};
use thermocline_report::fleet as pictured;
use thermocline_sim::{
    Input, Job as Simulation, PreparedTrace, SimError, compare_each, is_enlarged,
    result::StoredResult,
};
use thermocline_sweep::{
    Job, Setting, Settings, Store, Volume, Volumes, Work,
    digest::of_parts,
    fleet::{Sample, Summary, summarize},
    run_all,
};

use crate::{
    Context, Counted, Door,
    compare::Comparison,
    in_results, jobs,
    kept::{Kept, Outcome},
    notes, opening,
    settings::{compare::CompareSettings, run::SimulationArgs, table::Group},
    usage,
};

/// A trace that was taken apart.
struct Trace {
    path: PathBuf,
    volumes: Volumes,
}

/// A volume of the fleet.
#[derive(Clone, Copy)]
struct Place<'a> {
    trace: &'a Trace,
    /// Its place among the volumes of the trace.
    at: usize,
}

/// Every policy on one volume.
struct Task<'a> {
    place: Place<'a>,
    /// Its place in the fleet.
    number: usize,
    /// Its place among those that are run.
    input: usize,
    digest: String,
    fleet: &'a Settled<'a>,
}

/// Settings common to all volumes.
struct Settled<'a> {
    args: &'a CompareSettings,
    policies: &'a [PolicySpec],
    device: &'a Device,
    context: Context<'a>,
}

/// A fleet that is understood, and not begun.
pub struct Fleet<'a> {
    settings: &'a CompareSettings,
    policies: Vec<PolicySpec>,
    device: Device,
}

/// Results of policies on the volumes of a fleet.
#[derive(Debug, Default)]
pub struct Done {
    /// The policies, and whether they can be chosen.
    pub policies: Vec<(String, bool)>,
    /// Bytes written to each volume, in the order of the traces.
    pub bytes_written: Vec<u64>,
    /// The trace that each volume is of.
    pub traces: Vec<String>,
    /// The volumes, and what each policy came to on them.
    pub samples: Vec<(String, Vec<Sample>)>,
    /// As above, over all volumes.
    pub summaries: Vec<Summary>,
    /// Volumes that have no result.
    pub failed: usize,
    /// Volumes that were left out: they are too small.
    pub excluded: usize,
}

impl Done {
    /// As pages and charts show it, under an answer.
    #[must_use]
    pub fn pictured(&self, answer: String) -> pictured::Fleet {
        let mean = |sample: &Sample| {
            let values = &sample.write_amplification;
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let known = self.samples.iter().zip(&self.traces).zip(&self.bytes_written);
        let volume =
            |(((name, samples), trace), bytes): ((&(String, Vec<Sample>), &String), &u64)| {
                pictured::Volume {
                    trace: trace.clone(),
                    name: name.clone(),
                    bytes_written: *bytes,
                    pages: samples.iter().map(|sample| sample.pages).max().unwrap_or(0),
                    amplification: samples.iter().map(mean).collect(),
                    erases: samples.iter().map(|sample| sample.erases).collect(),
                }
            };
        pictured::Fleet {
            policies: self.policies.clone(),
            volumes: known.map(volume).collect(),
            answer,
        }
    }
}

impl<'a> Fleet<'a> {
    /// Understands the settings.
    ///
    /// # Errors
    /// Policies or a device that there are not, or that cannot be used for a fleet.
    pub fn of(settings: &'a CompareSettings, context: Context<'_>) -> Result<Self, SimError> {
        let Comparison { policies, device, .. } = Comparison::of(settings, context)?;
        if let Some(policy) = policies.iter().find(|policy| policy.wants_contents()) {
            return Err(usage(format!(
                "{} needs the contents of requests, which ‹per-volume› does not keep; leave it out, or \
                 take one volume with ‹volume›",
                policy.name
            )));
        }
        Ok(Self { settings, policies, device })
    }

    /// Runs every policy on every volume, and reports the rows in the order of the traces: the settings
    /// of a run, and its result.
    ///
    /// # Errors
    /// What is wrong with all of them; what `row` gives.
    pub fn run<E: From<SimError>>(
        &self,
        context: Context<'_>,
        row: impl FnMut(&Settings, Result<StoredResult, String>) -> Result<(), E>,
    ) -> Result<Done, E> {
        let Self { settings, policies, device } = self;
        let many = &settings.many;
        if let Some(of) = settings.simulation.mapping.sample {
            context.note(&format!(
                "every figure is an estimate from one page in {of} of each volume (‹sample›)"
            ));
        }
        if let Some(note) = notes::much_spare(&settings.simulation) {
            context.note(&note);
        }
        if let Some(path) = many.inputs.trace.first() {
            let (trace, name) = (path.display().to_string(), &device.profile.name);
            let note = notes::default_device(&trace, name, &settings.simulation);
            note.iter().for_each(|note| context.note(note));
        }
        let traces =
            many.inputs.trace.iter().map(|path| take_apart(path, settings, device, context));
        let traces = traces.collect::<Result<Vec<_>, SimError>>()?;
        let fleet = Settled { args: settings, policies, device, context };
        let mut places: Vec<Place<'_>> = traces
            .iter()
            .flat_map(|trace| (0..trace.volumes.all().len()).map(move |at| Place { trace, at }))
            .collect();
        let all = places.len();
        places.retain(|place| many.which.has(place.volume()));
        let others = many.which.about_others(all - places.len(), all);
        others.iter().for_each(|note| context.note(note));
        if let Some(shard) = many.shard {
            let weights: Vec<_> = places.iter().map(|place| place.volume().requests).collect();
            places = places.drain(shard.range_by_weight(&weights)).collect();
        }
        let digests: Vec<_> = places.iter().map(|place| fleet.digest(place.volume())).collect();
        // Results of thousands of volumes do not fit into memory.
        let (_temporary, store) = match &many.store {
            Some(folder) => (None, Store::open(folder)?),
            None => {
                let folder = TempDir::new().map_err(|e| SimError::Failed(e.to_string()))?;
                let store = Store::open(folder.path())?;
                (Some(folder), store)
            }
        };
        let failures = fleet.compute(&places, &digests, &store)?;
        fleet.tell(&places, &digests, &store, &failures, row)
    }
}

fn take_apart(
    path: &Path,
    args: &CompareSettings,
    device: &Device,
    context: Context<'_>,
) -> Result<Trace, SimError> {
    let SimulationArgs { reading, transforms, .. } = &args.simulation;
    let read = |source: &mut dyn thermocline_trace::Source| {
        let message = format!("reading {}", path.display());
        let mut counted = Counted::new(context, message, source);
        Volumes::of(&mut counted, context.progress())
    };
    let (volumes, seen) = opening::with_trace(path, &reading.options(), transforms, context, read)?;
    jobs::say_device(&path.display().to_string(), &seen, device, &args.simulation, context);
    Ok(Trace { path: path.to_owned(), volumes })
}

impl Place<'_> {
    fn volume(&self) -> &Volume {
        &self.trace.volumes.all()[self.at]
    }

    /// As one would ask for it alone.
    fn name(&self) -> String {
        format!("{} {}", self.trace.path.display(), in_results("volume", &self.volume().name))
    }
}

impl Settled<'_> {
    /// The digest of everything that the results of a volume depend on.
    fn digest(&self, volume: &Volume) -> String {
        let SimulationArgs { mapping, device, cleaning, seed, check, .. } = &self.args.simulation;
        let settings = [mapping.given(), device.given(), cleaning.given()].concat();
        let many = &self.args.many;
        let more = (seed, check, many.seeds, many.no_oracle, many.which.min_volume);
        of_parts(&[
            format!("{:?} {:?}", self.device, self.policies),
            format!("{settings:?} {more:?}"),
            volume.digest.clone(),
        ])
    }

    /// Runs the volumes that the store does not have, those with the most requests first. Why others have
    /// no result, by their numbers.
    fn compute(
        &self,
        places: &[Place<'_>],
        digests: &[String],
        store: &Store,
    ) -> Result<BTreeMap<usize, String>, SimError> {
        let absent = (0..places.len()).filter(|number| !store.has(&digests[*number]));
        let mut absent: Vec<_> = absent.collect();
        absent.sort_by_key(|number| std::cmp::Reverse(places[*number].volume().requests));
        let task = |(input, number): (usize, &usize)| Task {
            place: places[*number],
            number: *number,
            input,
            digest: digests[*number].clone(),
            fleet: self,
        };
        let tasks: Vec<_> = absent.iter().enumerate().map(task).collect();
        let failures = Mutex::new(BTreeMap::new());
        let tell = |at: usize, outcome: Result<Kept<Vec<Outcome>>, SimError>| {
            let task: &Task<'_> = &tasks[at];
            let failure = match outcome {
                Ok(outcome) => {
                    let made_by = Door::CommandLine
                        .words(&format!("thermocline compare ‹trace {}›", task.place.name()))
                        .into_owned();
                    return store.put(&task.digest, &made_by, &outcome);
                }
                Err(failure @ (SimError::Interrupted | SimError::Broken(_))) => {
                    return Err(failure);
                }
                Err(failure) => self.context.words(failure),
            };
            self.context.failure(&format!("{}: {failure}", task.place.name()));
            failures.lock().unwrap_or_else(PoisonError::into_inner).insert(task.number, failure);
            Ok(())
        };
        let work = Arc::new(Work::default());
        let told = self.context.jobs(Arc::clone(&work));
        let threads = self.args.simulation.threads;
        let ended = run_all(&tasks, threads, self.context.progress(), &work, tell);
        drop(told);
        ended?;
        Ok(failures.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reports the rows of every volume, in the order of the traces, and their totals.
    fn tell<E: From<SimError>>(
        &self,
        places: &[Place<'_>],
        digests: &[String],
        store: &Store,
        failures: &BTreeMap<usize, String>,
        mut row: impl FnMut(&Settings, Result<StoredResult, String>) -> Result<(), E>,
    ) -> Result<Done, E> {
        let seeds = self.args.many.seeds as usize;
        let mut possible = vec![true; self.policies.len()];
        let mut samples = Vec::new();
        let (mut bytes_written, mut traces) = (Vec::new(), Vec::new());
        let mut excluded = 0;
        for (number, place) in places.iter().enumerate() {
            let volume = place.volume();
            let mut of_volume = Vec::new();
            let outcomes = failures.get(&number).is_none().then(|| store.get(&digests[number]));
            let mut outcomes = match outcomes.flatten() {
                Some(Kept::Excluded(_)) => {
                    excluded += 1;
                    continue;
                }
                Some(Kept::Done(outcomes)) => outcomes,
                None => Vec::<Outcome>::new(),
            }
            .into_iter();
            for (at, policy) in self.policies.iter().enumerate() {
                let mut sample = Sample::default();
                for more in 0..seeds {
                    let outcome = match outcomes.next() {
                        Some(Outcome::Result(result)) => Ok(result),
                        Some(Outcome::Error(error)) => Err(self.context.words(error)),
                        None => Err(failures.get(&number).cloned().unwrap_or_default()),
                    };
                    if let Ok(result) = &outcome {
                        sample.add(result);
                        possible[at] &= !policy.sees_future();
                    }
                    let settings = self.settings(place, policy, more as u64);
                    row(&settings, outcome)?;
                }
                of_volume.push(sample);
            }
            bytes_written.push(volume.bytes_written);
            traces.push(place.trace.path.display().to_string());
            samples.push((volume.name.clone(), of_volume));
        }
        let policies = self.policies.iter().map(|policy| policy.name.clone()).zip(possible);
        let policies: Vec<_> = policies.collect();
        let summaries = summarize(&policies, &samples);
        if excluded > 0 {
            let spare = self.args.simulation.device.spare(self.device.over_provisioning);
            self.context.note(&self.args.many.which.about_small(
                excluded,
                places.len(),
                Some(spare),
            ));
        }
        let failed = failures.len();
        Ok(Done { policies, bytes_written, traces, samples, summaries, failed, excluded })
    }

    /// Whether a volume is left out: a rule of the trace and the settings, not of the policies.
    fn is_excluded(&self, job: &Simulation<'_>, trace: &PreparedTrace) -> bool {
        let page = u64::from(self.device.profile.geometry.page_size);
        self.args.many.which.is_too_small(u64::from(trace.pages) * page, is_enlarged(job))
    }

    /// The settings of a row.
    fn settings(&self, place: &Place<'_>, policy: &PolicySpec, more: u64) -> Settings {
        let seed = self.args.simulation.seed.wrapping_add(more);
        Settings(vec![
            Setting::new("trace", place.trace.path.to_string_lossy()),
            Setting::new("volume", &place.volume().name),
            Setting::new("policy", &policy.name),
            Setting::new("seed", seed.to_string()),
        ])
    }
}

impl Job for Task<'_> {
    type Input = PreparedTrace;
    type Output = Kept<Vec<Outcome>>;
    type Error = SimError;

    fn input(&self) -> usize {
        self.input
    }

    fn prepare(&self) -> Result<PreparedTrace, SimError> {
        let mut source = self.place.trace.volumes.source(self.place.at);
        let mapping = jobs::mapping(self.fleet.device, &self.fleet.args.simulation);
        let name = self.place.name();
        PreparedTrace::prepare(&mut source, &name, mapping, self.fleet.context.progress())
    }

    fn pages(&self, _: Option<&PreparedTrace>) -> Option<u64> {
        let Settled { args, policies, device, .. } = self.fleet;
        let runs = policies.len() as u64 * args.many.seeds + u64::from(!args.many.no_oracle);
        let times = args.simulation.mapping.times.unwrap_or(1);
        let page = u64::from(device.profile.geometry.page_size);
        Some(self.place.volume().bytes_written.div_ceil(page) * runs * u64::from(times))
    }

    fn run(&self, trace: &PreparedTrace) -> Result<Kept<Vec<Outcome>>, SimError> {
        let Settled { args, policies, device, .. } = self.fleet;
        let simulation = &args.simulation;
        let input = Input::Trace(trace, simulation.mapping.times.unwrap_or(1));
        let mut all = Vec::new();
        for policy in *policies {
            let job = jobs::job_on(input, policy, device, simulation);
            if self.fleet.is_excluded(&job, trace) {
                return Ok(Kept::TOO_SMALL);
            }
            for more in 0..args.many.seeds {
                let mut job = job.clone();
                job.seed = simulation.seed.wrapping_add(more);
                all.push(job);
            }
        }
        let outcomes = compare_each(&all, !args.many.no_oracle, 1, self.fleet.context.progress())?;
        if outcomes.iter().all(|outcome| outcome.result.is_err()) {
            let first = outcomes.into_iter().find_map(|outcome| outcome.result.err());
            return Err(first.unwrap_or(SimError::Failed("no policy ran".into())));
        }
        let outcome = |result: Result<thermocline_sim::RunResult, SimError>| match result {
            Ok(result) => Outcome::Result((&result).into()),
            Err(error) => Outcome::Error(error.to_string()),
        };
        Ok(Kept::Done(outcomes.into_iter().map(|one| outcome(one.result)).collect()))
    }
}
