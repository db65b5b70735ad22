//! Several policies on several inputs.

use serde::{Serialize, Serializer};
use thermocline_assembly::{
    PolicySpec,
    policy::{OwnPolicies, split_list},
};
use thermocline_policy::preset::{self, LayerKind, PRESETS, Preset};
use thermocline_report::compared::{Compared, Refused, Row, answer_for};
use thermocline_sim::{
    Device, Outcome, RunResult, SimError,
    answer::{Aim, Answer, Wish},
    metric::metrics,
    statistics::Interval,
    traffic::Traffic,
};

use crate::{
    Context, fdp,
    jobs::{self, Extras, Ready},
    notes,
    settings::{compare::CompareSettings, values},
};

/// The word for all names.
const ALL: &str = "all";

/// A comparison that is understood, and not begun.
pub struct Comparison<'a> {
    settings: &'a CompareSettings,
    /// The policies.
    pub policies: Vec<PolicySpec>,
    /// The device, before it is cut to a trace.
    pub device: Device,
}

/// The result of a comparison.
#[derive(Debug)]
pub struct Done {
    /// Every policy on each input.
    pub inputs: Vec<Compared>,
    /// Caveats of the result, one line each.
    pub notes: Vec<String>,
}

impl<'a> Comparison<'a> {
    /// Understands the settings.
    ///
    /// # Errors
    /// Policies or a device that there are not.
    pub fn of(settings: &'a CompareSettings, context: Context<'_>) -> Result<Self, SimError> {
        let traces = settings.many.inputs.trace.iter().map(AsRef::as_ref);
        let recorded = jobs::recorded_on(traces, &settings.simulation, context);
        let device = jobs::simulated(&settings.simulation, recorded)?;
        let policies = policies(settings, &device, &context.own())?;
        if settings.many.inputs.trace.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(SimError::Usage(
                "standard input can be read once; name ‹trace -› once".into(),
            ));
        }
        let aim = settings.many.aim;
        if settings.simulation.mapping.sample.is_some()
            && matches!(aim, Aim::Latency | Aim::Balanced)
        {
            return Err(SimError::Usage(format!(
                "‹aim {}› needs response times, which a ‹sample› does not give; leave one of them out",
                aim.name()
            )));
        }
        Ok(Self { settings, policies, device })
    }

    /// Runs everything in one batch. A policy that cannot run does not stop the others.
    ///
    /// # Errors
    /// What is wrong with all of them.
    pub fn run(&self, extras: Extras<'_>, context: Context<'_>) -> Result<Done, SimError> {
        let Self { settings, policies, device } = self;
        let CompareSettings { many, simulation } = settings;
        let inputs = self.ready(context)?;
        if many.fdp.is_some() {
            fdp::check(&inputs)?;
        }
        notes::of_volumes(&inputs).iter().for_each(|warning| context.warn(warning));
        let which = (many.seeds, !many.no_oracle);
        let done = jobs::run_all(&inputs, policies, which, extras, device, simulation, context)?;
        let mut notes = Vec::new();
        let mut compared = sorted(&inputs, policies, done, &mut notes, context)?;
        for (input, compared) in inputs.iter().zip(&mut compared) {
            let runs: Vec<_> = compared.runs().collect();
            notes.extend(notes::on(&runs, policies, input.is_recorded(), simulation));
            if let Some(handles) = many.fdp {
                notes.extend(fdp::answer(handles, input.most_hint(), policies, compared));
            }
            if extras.traffic {
                compared.traffic = jobs::traffic(input, policies, device, simulation, context);
            }
        }
        let notes = notes.iter().map(|note| context.words(note)).collect();
        Ok(Done { inputs: compared, notes })
    }

    /// The host's requests on each input, without a run; `None` where no policy can run.
    ///
    /// # Errors
    /// An input that cannot be read.
    pub fn traffic(&self, context: Context<'_>) -> Result<Vec<Option<Traffic>>, SimError> {
        let Self { settings: CompareSettings { simulation, .. }, policies, device } = self;
        let inputs = self.ready(context)?;
        let of = |input| jobs::traffic(input, policies, device, simulation, context);
        Ok(inputs.iter().map(of).collect())
    }

    fn ready(&self, context: Context<'_>) -> Result<Vec<Ready>, SimError> {
        let Self { settings: CompareSettings { many, simulation }, policies, device } = self;
        let traces = many.inputs.trace.iter().map(AsRef::as_ref);
        jobs::ready(traces, &many.inputs.workload, policies, device, simulation, context)
    }
}

/// Runs several policies on several inputs.
///
/// # Errors
/// What is wrong with all of them.
pub fn compare(
    settings: &CompareSettings,
    extras: Extras<'_>,
    context: Context<'_>,
) -> Result<Done, SimError> {
    if settings.many.per_volume {
        return Err(SimError::Usage("‹per-volume› makes a fleet, not a comparison".into()));
    }
    Comparison::of(settings, context)?.run(extras, context)
}

impl Done {
    /// As `thermocline compare --json` prints it.
    #[must_use]
    pub fn listed(&self, wish: Wish) -> Listed<'_> {
        Listed::of(&self.inputs, wish)
    }
}

/// The results, input by input. A policy that cannot run does not stop the others; a common cause
/// is an error.
fn sorted(
    inputs: &[Ready],
    policies: &[PolicySpec],
    outcomes: Vec<Outcome>,
    notes: &mut Vec<String>,
    context: Context<'_>,
) -> Result<Vec<Compared>, SimError> {
    let nothing_ran = outcomes.iter().all(|outcome| outcome.result.is_err());
    let seeds = outcomes.len() / (inputs.len() * policies.len()).max(1);
    let mut outcomes = outcomes.into_iter();
    let mut all = Vec::new();
    for input in inputs {
        let outcomes: Vec<_> = outcomes.by_ref().take(policies.len() * seeds).collect();
        let senseless = |o: &Outcome| matches!(o.result, Err(SimError::Usage(_)));
        let stop = nothing_ran || outcomes.iter().all(senseless);
        let input = input.name();
        let unmeasured = outcomes.iter().find_map(|outcome| outcome.no_oracle.clone());
        let oracle = outcomes.iter().find_map(|outcome| outcome.oracle.clone());
        let mut outcomes = outcomes.into_iter();
        let mut compared =
            Compared { input: input.clone(), rows: Vec::new(), traffic: None, oracle };
        for policy in policies {
            let mut history = None;
            let runs = outcomes.by_ref().take(seeds).map(|outcome| {
                history = history.take().or(outcome.history);
                outcome.result
            });
            let runs = match runs.collect::<Result<Vec<_>, _>>() {
                Err(error) if stop => return Err(error.of_policy(&policy.name)),
                Err(error) => Err(Refused {
                    trace: input.clone(),
                    policy: policy.name.clone(),
                    error: context.words(error),
                }),
                Ok(runs) => Ok(runs),
            };
            compared.rows.push(Row { policy: policy.name.clone(), runs, history });
        }
        if let Some(why) = unmeasured {
            notes.push(notes::no_oracle(&input, &why));
        }
        all.push(compared);
    }
    Ok(all)
}

fn known(named: fn() -> values::Named) -> Vec<&'static str> {
    values::names(named())
}

/// Every policy named, with every victim and every placement that replaces its own.
fn policies(
    args: &CompareSettings,
    device: &Device,
    own: &OwnPolicies,
) -> Result<Vec<PolicySpec>, SimError> {
    let victims = listed("‹victim›", &args.many.victim, &known(values::victims))?;
    let placements = listed("‹placement›", &args.many.placement, &known(values::placements))?;
    let cleaning = &args.simulation.cleaning;
    let idles = listed("‹idle›", &cleaning.idle, &known(values::idles))?;
    let dead_data = listed("‹dead-data›", &cleaning.dead_data, &known(values::dead_data))?;
    let presets = |wanted: fn(&Preset) -> bool| -> Vec<&'static str> {
        PRESETS.iter().filter(|p| wanted(p)).map(|p| p.name).collect()
    };
    let page_mapped = |p: &Preset| p.layer == LayerKind::PageMapped;
    // A layer without axes has none to replace.
    let any = victims.is_empty() && placements.is_empty();
    // DFTL needs RAM that the others do not take.
    let all = presets(if any { |p| p.layer != LayerKind::Dftl } else { page_mapped });
    let mut names = listed("‹policies›", &args.many.policies, &all)?;
    if names.is_empty() && any && args.many.fdp.is_some() {
        names.extend(fdp::INFERRING.map(str::to_owned));
    } else if names.is_empty() && any {
        names.extend(device.profile.drive.iter().map(|_| jobs::DRIVE.to_owned()));
        names.extend(preset::usual().map(|preset| preset.name.to_owned()));
    }
    let mut bases = Vec::new();
    for policy in alternatives(&names) {
        for victim in alternatives(&victims) {
            for placement in alternatives(&placements) {
                let of_drive = || jobs::policy_of_drive(device, own);
                let plain = victim.is_none() && placement.is_none();
                let drive = policy.filter(|name| plain && *name == jobs::DRIVE);
                bases.push(match drive.and_then(|_| of_drive()) {
                    Some(spec) => spec?,
                    None => own.spec(policy, victim, placement)?,
                });
            }
        }
    }
    if let Some(handles) = args.many.fdp {
        bases.extend(fdp::specs(handles, own)?);
    }
    let mut specs: Vec<PolicySpec> = Vec::new();
    for base in &bases {
        for idle in alternatives(&idles) {
            for dead in alternatives(&dead_data) {
                let mut spec = base.clone().with(idle, dead)?;
                // With several values the name includes the value.
                let tell = |several: bool, axis, call: Option<&str>| {
                    let call = call.filter(|_| several);
                    call.map_or_else(String::new, |call| format!(" {axis}={call}"))
                };
                spec.name += &tell(idles.len() > 1, "idle", idle);
                spec.name += &tell(dead_data.len() > 1, "dead-data", dead);
                if !specs.contains(&spec) {
                    specs.push(spec);
                }
            }
        }
    }
    Ok(specs)
}

/// The names in all lists of an option. An empty list, as of a variable that is not set, is not the
/// same as none; `all` stands for every name there is.
fn listed(option: &str, lists: &[String], all: &[&str]) -> Result<Vec<String>, SimError> {
    let mut names = Vec::new();
    for list in lists {
        let named = split_list(list);
        if named.is_empty() {
            return Err(SimError::Usage(format!(
                "{option} `{list}` names nothing; `thermocline policies` lists the names"
            )));
        }
        for name in named {
            if name == ALL {
                names.extend(all.iter().map(|&name| name.to_owned()));
            } else {
                names.push(name);
            }
        }
    }
    Ok(names)
}

/// Each of the list, or the policy's own where there is none.
fn alternatives(list: &[String]) -> Vec<Option<&str>> {
    if list.is_empty() { vec![None] } else { list.iter().map(|s| Some(s.as_str())).collect() }
}

/// All runs of a comparison, as JSON has them.
#[derive(Debug, Serialize)]
pub struct Listed<'a> {
    /// Every run, input by input.
    pub runs: Vec<&'a RunResult>,
    /// Policies that could not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<&'a Refused>,
    /// Of several seeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub means: Vec<Means<'a>>,
    /// Of several inputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerFor<'a>>,
    /// The policy to choose.
    pub answer: Answer,
}

/// Every figure of a policy over several seeds.
#[derive(Debug, Serialize)]
pub struct Means<'a> {
    /// The input.
    pub trace: &'a str,
    /// The policy.
    pub policy: &'a str,
    /// The number of seeds.
    pub seeds: usize,
    /// Mean and interval by the keys of results.
    #[serde(serialize_with = "as_map")]
    pub metrics: Vec<(&'static str, Interval)>,
}

/// The answer on one of several inputs.
#[derive(Debug, Serialize)]
pub struct AnswerFor<'a> {
    /// The input.
    pub trace: &'a str,
    /// The policy to choose.
    #[serde(flatten)]
    pub answer: Answer,
}

impl<'a> Listed<'a> {
    /// For the aim of the choice.
    #[must_use]
    pub fn of(inputs: &'a [Compared], wish: Wish) -> Self {
        let several = inputs.iter().filter(|_| inputs.len() > 1);
        let rows = inputs.iter().flat_map(|input| input.rows.iter().map(move |row| (input, row)));
        Self {
            runs: inputs.iter().flat_map(Compared::runs).collect(),
            failures: inputs.iter().flat_map(Compared::refused).collect(),
            means: rows
                .filter(|(_, row)| row.runs().len() > 1)
                .map(|(input, row)| Means::of(input, row))
                .collect(),
            answers: several
                .map(|input| AnswerFor { trace: &input.input, answer: answer_for(wish, &[input]) })
                .collect(),
            answer: answer_for(wish, &inputs.iter().collect::<Vec<_>>()),
        }
    }
}

impl<'a> Means<'a> {
    fn of(input: &'a Compared, row: &'a Row) -> Self {
        let is_result = |key: &str| {
            !["config.", "trace.", "perf.", "schema_version"]
                .iter()
                .any(|part| key.starts_with(part))
        };
        let figures = metrics().iter().filter(|metric| is_result(&metric.key));
        let interval = figures
            .filter_map(|metric| Some((metric.key.as_str(), Interval::of(&row.values(metric)?)?)));
        Self {
            trace: &input.input,
            policy: &row.policy,
            seeds: row.runs().len(),
            metrics: interval.collect(),
        }
    }
}

fn as_map<S: Serializer>(
    pairs: &[(&'static str, Interval)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}
