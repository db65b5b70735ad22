//! `thermocline compare`: several policies on several inputs.

use thermocline_assembly::{PolicySpec, policy::split_list};
use thermocline_policy::{
    placement,
    preset::{self, LayerKind, PRESETS, Preset},
};
use thermocline_report::comparison;
use thermocline_sim::{Outcome, SimError};

use super::fleet;
use crate::{
    args::{compare::CompareArgs, output::ResultFormat, values},
    console::{Console, complain},
    exit::Failure,
    jobs::{self, Ready, Wanted},
    notes,
    pictures::{self, Pictures},
    print::{
        compare::View,
        compared::{Compared, Refused, Row},
        results,
        table::USUAL_WIDTH,
    },
};

/// What stands for every name there is.
const ALL: &str = "all";

/// Runs everything in one batch and prints.
pub fn run(args: &CompareArgs, console: Console) -> Result<(), Failure> {
    let policies = policies(args)?;
    let simulation = &args.simulation;
    if args.inputs.trace.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::usage("standard input can be read once; name --trace - once"));
    }
    let device = jobs::device(&simulation.device.shape)?;
    if args.per_volume {
        return fleet::run(args, &policies, &device, console);
    }
    let output = results::open(&simulation.output)?;
    let pictures = Pictures::open(&args.pictures)?;
    let traces = args.inputs.trace.iter().map(AsRef::as_ref);
    let inputs =
        jobs::ready(traces, &args.inputs.workload, &policies, &device, simulation, console)?;
    notes::of_volumes(&inputs).iter().for_each(|warning| console.warn(warning));
    let history = args.pictures.any();
    let what = Wanted {
        oracle: !args.no_oracle,
        delays: None,
        seeds: args.seeds,
        history,
        live: args.live,
    };
    let done = jobs::run_all(&inputs, &policies, what, &device, simulation, console)?;
    let mut compared = sorted(&inputs, &policies, done, console)?;
    for (input, compared) in inputs.iter().zip(&compared) {
        let runs: Vec<_> = compared.runs().collect();
        for note in notes::on(&runs, &policies, input.is_recorded(), simulation) {
            console.note(&note);
        }
        for refused in compared.refused() {
            let Refused { trace, policy, error } = refused;
            complain(&format!("{trace}: {policy} could not run: {error}"));
        }
    }
    if let Some(metric) = args.sort {
        compared.iter_mut().for_each(|compared| compared.sort(metric));
    }
    let form = simulation.output.form();
    let view = View {
        width: output.width().unwrap_or(USUAL_WIDTH),
        wide: args.wide,
        metrics: args.metrics.clone(),
        markdown: form == ResultFormat::Markdown,
        aim: args.aim,
    };
    results::print_comparison(&compared, form, &view, output)?;
    if history {
        for (compared, input) in compared.iter_mut().zip(&inputs) {
            compared.traffic = jobs::traffic(input, &policies, &device, simulation);
        }
        let page = || comparison::page(&compared, args.aim, &pictures::repeat());
        pictures.write(page, || comparison::all_charts(&compared))?;
    }
    match compared.iter().find(|compared| compared.runs().next().is_none()) {
        Some(Compared { input, .. }) => {
            Err(SimError::Failed(format!("no policy could run on {input}")).into())
        }
        None => Ok(()),
    }
}

/// What came of everything, input by input. A policy that cannot run does not stop the others; what
/// stops them all is an error.
fn sorted(
    inputs: &[Ready],
    policies: &[PolicySpec],
    outcomes: Vec<Outcome>,
    console: Console,
) -> Result<Vec<Compared>, Failure> {
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
                Err(error) if stop => return Err(error.of_policy(&policy.name).into()),
                Err(error) => Err(Refused {
                    trace: input.clone(),
                    policy: policy.name.clone(),
                    error: error.to_string(),
                }),
                Ok(runs) => Ok(runs),
            };
            compared.rows.push(Row { policy: policy.name.clone(), runs, history });
        }
        if let Some(why) = unmeasured {
            console.note(&notes::no_oracle(&input, &why));
        }
        all.push(compared);
    }
    Ok(all)
}

/// Every policy named, with every victim and every placement that replaces its own.
fn policies(args: &CompareArgs) -> Result<Vec<PolicySpec>, Failure> {
    let victims = listed("--victim", &args.victim, &values::victims())?;
    let placements = listed("--placement", &args.placement, &values::placements())?;
    let cleaning = &args.simulation.cleaning;
    let idles = listed("--idle", &cleaning.idle, &values::idles())?;
    let dead_data = listed("--dead-data", &cleaning.dead_data, &values::dead_data())?;
    let presets = |wanted: fn(&Preset) -> bool| -> Vec<&'static str> {
        PRESETS.iter().filter(|p| wanted(p)).map(|p| p.name).collect()
    };
    let page_mapped = |p: &Preset| p.layer == LayerKind::PageMapped;
    // A layer without axes has none to replace.
    let any = victims.is_empty() && placements.is_empty();
    let all = presets(if any { |_| true } else { page_mapped });
    let mut names = listed("--policies", &args.policies, &all)?;
    if names.is_empty() && any {
        // What knows the future is no choice.
        let possible = presets(|p| {
            p.layer == LayerKind::PageMapped && !placement::sees_future(preset::axes(p).1.name)
        });
        names.extend(possible.into_iter().map(str::to_owned));
    }
    let mut specs: Vec<PolicySpec> = Vec::new();
    for policy in alternatives(&names) {
        for victim in alternatives(&victims) {
            for placement in alternatives(&placements) {
                let spec = PolicySpec::of(policy, victim, placement)?;
                for idle in alternatives(&idles) {
                    for dead in alternatives(&dead_data) {
                        let mut spec = spec.clone().with(idle, dead)?;
                        // Where there are several, the name tells which.
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
        }
    }
    Ok(specs)
}

/// The names in all lists of an option. An empty list, as of a variable that is not set, is not the
/// same as none; `all` stands for every name there is.
fn listed(option: &str, lists: &[String], all: &[&str]) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for list in lists {
        let named = split_list(list);
        if named.is_empty() {
            return Err(Failure::usage(format!(
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
