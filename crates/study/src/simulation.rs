//! The settings of a run as a job of the engine that runs many.

use std::{
    collections::HashMap,
    path::PathBuf,
    slice,
    sync::{Arc, Mutex, PoisonError},
};

use thermocline_assembly::{Device, PolicySpec};
use thermocline_sim::{
    self as sim, SimError, compare_each, history::History, result::StoredResult,
};
use thermocline_sweep::Job;
use thermocline_workloads::WorkloadSpec;

use crate::{
    Context,
    jobs::{self, Ready},
    kept::TOO_SMALL,
    notes,
    run::policy_of,
    settings::{run::RunSpec, table::Group, transform::Part},
};

/// A simulation that is understood.
pub struct Simulation<'a> {
    args: RunSpec,
    policy: PolicySpec,
    device: Device,
    /// The number of its input among all.
    input: usize,
    inputs: &'a Inputs,
    history: bool,
    context: Context<'a>,
}

/// The result of a simulation, and its caveats.
pub struct Executed {
    /// Its result.
    pub result: StoredResult,
    /// Remarks, one line each.
    pub notes: Vec<String>,
    /// Its course, if it was asked for.
    pub history: Option<History>,
}

/// The inputs of many simulations, each with a number.
#[derive(Default)]
pub struct Inputs {
    numbers: Mutex<HashMap<InputKey, usize>>,
    /// The devices on which traces were recorded.
    devices: Mutex<HashMap<Recording, Option<&'static str>>>,
    /// Inputs in repeated use, if any; the most recently used last.
    kept: Mutex<Vec<(usize, Slot)>>,
    /// The most inputs kept.
    most: usize,
}

/// A trace, and how it is read.
type Recording = (PathBuf, Vec<(&'static str, String)>);

/// An input, which whoever comes first makes while the others wait.
type Slot = Arc<Mutex<Option<Arc<Ready>>>>;

impl Inputs {
    /// Every input stays until the last simulation is done.
    pub fn that_stay() -> Self {
        Self::that_stay_of(usize::MAX)
    }

    /// Keeps this many of the last inputs.
    #[must_use]
    pub fn that_stay_of(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    fn slot(&self, number: usize) -> Slot {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|(of, _)| *of == number);
        let slot = known.map(|at| kept.remove(at).1).unwrap_or_default();
        if self.most > 0 {
            kept.push((number, Arc::clone(&slot)));
            if kept.len() > self.most {
                kept.remove(0);
            }
        }
        slot
    }

    /// The device on which the trace of a run was recorded, if its format shows it.
    fn recorded_on(&self, args: &RunSpec, context: Context<'_>) -> Option<&'static str> {
        let trace = args.one.input.trace.as_deref()?;
        let key = (trace.to_owned(), args.simulation.reading.given());
        if args.simulation.device.shape.device.is_some() {
            return None;
        }
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || jobs::recorded_on([trace], &args.simulation, context);
        *devices.entry(key).or_insert_with(look)
    }

    fn number(&self, key: InputKey) -> usize {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let next = numbers.len();
        *numbers.entry(key).or_insert(next)
    }
}

impl<'a> Simulation<'a> {
    /// Understands the arguments. Its own bars would be drawn into another, so it draws none.
    pub fn of(args: RunSpec, inputs: &'a Inputs, context: Context<'a>) -> Result<Self, SimError> {
        Self::of_version(args, "", inputs, context)
    }

    /// As above, with an input that was another one under this name before.
    pub fn of_version(
        args: RunSpec,
        version: &str,
        inputs: &'a Inputs,
        context: Context<'a>,
    ) -> Result<Self, SimError> {
        let recorded = inputs.recorded_on(&args, context);
        let device = jobs::simulated(&args.simulation, recorded)?;
        let policy = policy_of(&args, &device, &context.own())?;
        let input = inputs.number(InputKey::of(&args, &policy, &device, version));
        let context = context.without_meters();
        Ok(Self { args, policy, device, input, inputs, history: false, context })
    }

    /// Records its course too, or not.
    #[must_use]
    pub fn with_history(self, history: bool) -> Self {
        Self { history, ..self }
    }
}

impl Simulation<'_> {
    /// Refuses a volume that is too small.
    fn check_size(&self, ready: &Ready, job: &sim::Job<'_>) -> Result<(), SimError> {
        let (Ready::Trace(trace), Some(traces)) = (ready, self.context.traces()) else {
            return Ok(());
        };
        let page = u64::from(self.device.profile.geometry.page_size);
        let bytes = u64::from(trace.pages) * page;
        if traces.is_too_small(&trace.path, bytes, sim::is_enlarged(job)) {
            return Err(SimError::TooSmall(format!("{}: {TOO_SMALL}", trace.path)));
        }
        Ok(())
    }
}

impl Job for Simulation<'_> {
    type Input = Arc<Ready>;
    type Output = Executed;
    type Error = SimError;

    fn input(&self) -> usize {
        self.input
    }

    fn prepare(&self) -> Result<Arc<Ready>, SimError> {
        let slot = self.inputs.slot(self.input);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = &*slot {
            return Ok(Arc::clone(ready));
        }
        let args = &self.args;
        let inputs = jobs::ready(
            args.one.input.trace.as_deref(),
            &args.one.input.workload,
            slice::from_ref(&self.policy),
            &self.device,
            &args.simulation,
            self.context,
        )?;
        let Some(ready) = inputs.into_iter().next() else { unreachable!("a run has one input") };
        let ready = Arc::new(ready);
        *slot = Some(Arc::clone(&ready));
        Ok(ready)
    }

    fn pages(&self, input: Option<&Arc<Ready>>) -> Option<u64> {
        let job = jobs::job(input?, &self.policy, &self.device, &self.args.simulation);
        let runs = if self.args.one.oracle { 2 } else { 1 };
        Some(runs * jobs::known_pages(&job))
    }

    fn run(&self, ready: &Arc<Ready>) -> Result<Executed, SimError> {
        let simulation = &self.args.simulation;
        let mut job = jobs::job(ready, &self.policy, &self.device, simulation);
        job.history = self.history;
        self.check_size(ready, &job)?;
        let progress = self.context.progress();
        let mut outcomes = compare_each(slice::from_ref(&job), self.args.one.oracle, 1, progress)?;
        let Some(outcome) = outcomes.pop() else { unreachable!("one job has one outcome") };
        let result = outcome.result.map_err(|e| e.of_policy(&self.policy.name))?;
        let policies = slice::from_ref(&self.policy);
        let mut notes = notes::on(&[&result], policies, ready.is_recorded(), simulation);
        notes.extend(notes::of_volumes(slice::from_ref(ready)));
        notes.extend(outcome.no_oracle.map(|why| notes::no_oracle(&result.trace.path, &why)));
        let notes = notes.iter().map(|note| self.context.words(note)).collect();
        Ok(Executed { result: (&result).into(), notes, history: outcome.history })
    }
}

/// All that an input depends on.
#[derive(Debug, PartialEq, Eq, Hash)]
struct InputKey {
    /// Of an input in memory that was another one under its name before.
    version: String,
    /// Its name, and how it is read, changed and mapped.
    settings: Vec<(&'static str, String)>,
    part: Part,
    /// Bytes of a page, and pages of the device, where it depends on them.
    device: Option<(u32, u32)>,
    seed: Option<u64>,
    contents: bool,
}

impl InputKey {
    fn of(args: &RunSpec, policy: &PolicySpec, device: &Device, version: &str) -> Self {
        let simulation = &args.simulation;
        let page = device.profile.geometry.page_size;
        let mut settings = args.one.input.given();
        let mut key = Self {
            version: version.to_owned(),
            settings: Vec::new(),
            part: simulation.transforms.part,
            device: None,
            seed: None,
            contents: false,
        };
        // These options apply after the input is read.
        let how = simulation.mapping.given().into_iter();
        let how = how.filter(|(name, _)| !["loop", "settle", "wrap"].contains(name));
        match &args.one.input.workload {
            // Patterns are generated while they run and cost nothing to share.
            Some(WorkloadSpec::Pattern(_)) => {
                settings.extend(simulation.workload.given());
                settings.extend(simulation.device.scale.map(|of| ("scale", of.to_string())));
            }
            Some(WorkloadSpec::Files(_)) => {
                let spare = simulation.device.spare(device.over_provisioning);
                settings.extend(simulation.workload.given());
                settings.extend(how);
                key.device = Some((page, device.exported_pages(spare)));
                key.seed = Some(simulation.seed);
            }
            None => {
                settings.extend(how);
                settings.extend(simulation.reading.given());
                settings.extend(simulation.transforms.given());
                key.device = Some((page, 0));
                key.seed = simulation.mapping.sample.map(|_| simulation.seed);
                key.contents = policy.wants_contents();
            }
        }
        Self { settings, ..key }
    }
}
