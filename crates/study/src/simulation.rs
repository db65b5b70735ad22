//! The settings of a run as a job of the engine that runs many.

use std::{
    collections::HashMap,
    slice,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use thermocline_assembly::{Device, PolicySpec};
use thermocline_sim::{SimError, compare_each};
use thermocline_sweep::Job;
use thermocline_workloads::WorkloadSpec;

use crate::{
    Context,
    jobs::{self, Ready},
    notes,
    run::policy_of,
    settings::run::RunSettings,
};

/// A simulation that is understood.
pub struct Simulation<'a> {
    args: RunSettings,
    policy: PolicySpec,
    device: Device,
    /// The number of its input among all.
    input: usize,
    inputs: &'a Inputs,
    context: Context<'a>,
}

/// What came of a simulation, and what a person should know of it.
pub struct Executed {
    /// Its result.
    pub result: Value,
    /// Remarks, one line each.
    pub notes: Vec<String>,
}

/// The inputs of many simulations, each with a number.
#[derive(Default)]
pub struct Inputs {
    numbers: Mutex<HashMap<String, usize>>,
    /// What traces were recorded on.
    devices: Mutex<HashMap<String, Option<&'static str>>>,
    /// Those that are needed again and again, if any are; the last ones that were needed last.
    kept: Mutex<Vec<(usize, Slot)>>,
    /// How many of them.
    most: usize,
}

/// An input, which whoever comes first makes while the others wait.
type Slot = Arc<Mutex<Option<Arc<Ready>>>>;

impl Inputs {
    /// Every input stays until the last simulation is done.
    pub fn that_stay() -> Self {
        Self::that_stay_of(usize::MAX)
    }

    /// The last inputs stay, this many of them.
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

    /// What the trace of a run was recorded on, if its format tells.
    fn recorded_on(&self, args: &RunSettings, context: Context<'_>) -> Option<&'static str> {
        let trace = args.one.input.trace.as_deref()?;
        let key = format!("{} {:?}", trace.display(), args.simulation.reading);
        if args.simulation.device.shape.device.is_some() {
            return None;
        }
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || jobs::recorded_on([trace], &args.simulation, context);
        *devices.entry(key).or_insert_with(look)
    }

    fn number(&self, key: String) -> usize {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let next = numbers.len();
        *numbers.entry(key).or_insert(next)
    }
}

impl<'a> Simulation<'a> {
    /// Understands the arguments. Its own bars would be drawn into another, so it draws none.
    pub fn of(
        args: RunSettings,
        inputs: &'a Inputs,
        context: Context<'a>,
    ) -> Result<Self, SimError> {
        Self::of_version(args, "", inputs, context)
    }

    /// As above, with an input that was another one under this name before.
    pub fn of_version(
        args: RunSettings,
        version: &str,
        inputs: &'a Inputs,
        context: Context<'a>,
    ) -> Result<Self, SimError> {
        let recorded = inputs.recorded_on(&args, context);
        let device = jobs::simulated(&args.simulation, recorded)?;
        let policy = policy_of(&args, &device)?;
        let input = inputs.number(input_key(&args, &policy, &device) + version);
        Ok(Self { args, policy, device, input, inputs, context: context.without_meters() })
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
        let job = jobs::job(ready, &self.policy, &self.device, simulation);
        let progress = self.context.progress();
        let mut outcomes = compare_each(slice::from_ref(&job), self.args.one.oracle, 1, progress)?;
        let Some(outcome) = outcomes.pop() else { unreachable!("one job has one outcome") };
        let result = outcome.result.map_err(|e| e.of_policy(&self.policy.name))?;
        let policies = slice::from_ref(&self.policy);
        let mut notes = notes::on(&[&result], policies, ready.is_recorded(), simulation);
        notes.extend(notes::of_volumes(slice::from_ref(ready)));
        notes.extend(outcome.no_oracle.map(|why| notes::no_oracle(&result.trace.path, &why)));
        let notes = notes.iter().map(|note| self.context.words(note)).collect();
        Ok(Executed { result: result.stable_json(), notes })
    }
}

/// All that an input depends on. Patterns are generated while they run and cost nothing to share.
fn input_key(args: &RunSettings, policy: &PolicySpec, device: &Device) -> String {
    let simulation = &args.simulation;
    let (page, mapping) = (device.profile.geometry.page_size, &simulation.mapping);
    let how = (mapping.absolute, mapping.footprint, mapping.partial_pages);
    let sample = mapping.sample.map(|of| (of, simulation.seed));
    let workload = (&args.one.input.workload, &simulation.workload);
    match &args.one.input.workload {
        Some(WorkloadSpec::Pattern(_)) => format!("{workload:?} {:?}", simulation.device.scale),
        Some(WorkloadSpec::Files(_)) => {
            let pages = device.exported_pages(simulation.device.spare(device));
            format!("{workload:?} {how:?} {page} {pages} {}", simulation.seed)
        }
        None => {
            let (reading, transforms) = (&simulation.reading, &simulation.transforms);
            let contents = policy.wants_contents();
            format!(
                "{:?} {how:?} {page} {reading:?} {transforms:?} {contents} {sample:?}",
                args.one.input.trace
            )
        }
    }
}
