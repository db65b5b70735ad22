//! One policy on one input.

use std::slice;

use thermocline_assembly::{PolicySpec, policy::OwnPolicies};
use thermocline_report::compared::{Compared, Row};
use thermocline_sim::{Device, Outcome, RunResult, SimError};

use crate::{
    Context,
    jobs::{self, Extras},
    notes,
    settings::run::RunSpec,
};

/// The default policy.
const DEFAULT: &str = "thermocline";

/// A run that is understood, and not begun.
pub struct Run<'a> {
    settings: &'a RunSpec,
    /// The policy.
    pub policy: PolicySpec,
    /// The device, before it is cut to a trace.
    pub device: Device,
}

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    /// The result: with [`Extras::history`] also its course and the host's requests.
    compared: Compared,
    /// Caveats of the result, one line each.
    pub notes: Vec<String>,
}

impl Ran {
    /// The result, as `thermocline run --json` prints it.
    #[must_use]
    pub fn result(&self) -> &RunResult {
        self.compared.runs().next().expect("a run that failed is an error")
    }

    /// This run as a comparison of one policy, for pictures.
    #[must_use]
    pub fn compared(&self) -> &Compared {
        &self.compared
    }
}

impl<'a> Run<'a> {
    /// Understands the settings.
    ///
    /// # Errors
    /// A policy or a device that there is not.
    pub fn of(settings: &'a RunSpec, context: Context<'_>) -> Result<Self, SimError> {
        let trace = settings.one.input.trace.as_deref();
        let recorded = jobs::recorded_on(trace, &settings.simulation, context);
        let device = jobs::simulated(&settings.simulation, recorded)?;
        let policy = policy_of(settings, &device, &context.own())?;
        Ok(Self { settings, policy, device })
    }

    /// Runs it.
    ///
    /// # Errors
    /// Why there is no result.
    pub fn run(&self, extras: Extras<'_>, context: Context<'_>) -> Result<Ran, SimError> {
        let RunSpec { one, simulation } = self.settings;
        let (policies, device) = (slice::from_ref(&self.policy), &self.device);
        let (trace, workload) = (one.input.trace.as_deref(), &one.input.workload);
        let inputs = jobs::ready(trace, workload, policies, device, simulation, context)?;
        let [input] = &inputs[..] else { unreachable!("a run has one input") };
        notes::of_volumes(&inputs).iter().for_each(|warning| context.warn(warning));
        let which = (1, one.oracle);
        let done = jobs::run_all(&inputs, policies, which, extras, device, simulation, context)?;
        let Some(Outcome { result, no_oracle, history, oracle }) = done.into_iter().next() else {
            unreachable!("one policy on one input is one run");
        };
        let result = result.map_err(|e| e.of_policy(&self.policy.name))?;
        let mut notes = notes::on(&[&result], policies, input.is_recorded(), simulation);
        notes.extend(no_oracle.map(|why| notes::no_oracle(&result.trace.path, &why)));
        let pictured =
            extras.traffic.then(|| jobs::traffic(input, policies, device, simulation, context));
        let row = Row { policy: self.policy.name.clone(), runs: Ok(vec![result]), history };
        let compared =
            Compared { input: input.name(), rows: vec![row], traffic: pictured.flatten(), oracle };
        let notes = notes.iter().map(|note| context.words(note)).collect();
        Ok(Ran { compared, notes })
    }
}

/// Runs one policy on one input.
///
/// # Errors
/// Why there is no result.
pub fn run(settings: &RunSpec, context: Context<'_>) -> Result<Ran, SimError> {
    Run::of(settings, context)?.run(Extras::default(), context)
}

/// The policy that was asked for.
pub(crate) fn policy_of(
    settings: &RunSpec,
    device: &Device,
    own: &OwnPolicies,
) -> Result<PolicySpec, SimError> {
    let RunSpec { one, simulation } = settings;
    let (victim, placement) = (one.victim.as_deref(), one.placement.as_deref());
    let named = one.policy.as_deref().unwrap_or(jobs::DRIVE);
    if named == jobs::DRIVE
        && victim.is_none()
        && placement.is_none()
        && let Some(policy) = jobs::policy_of_drive(device, own)
    {
        return jobs::with_axes(policy?, &simulation.cleaning);
    }
    jobs::policy(one.policy.as_deref(), victim, placement, DEFAULT, &simulation.cleaning, own)
}
