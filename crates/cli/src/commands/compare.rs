//! `thermocline compare`: several policies on several inputs.

use thermocline_policy::preset::{LayerKind, PRESETS};
use thermocline_sim::{PolicySpec, policy::split_list};

use crate::{
    args::compare::CompareArgs,
    console::Console,
    exit::Failure,
    jobs::{self, Ready},
    notes,
    print::results::{self, Results},
};

/// What victims and placements stand on where no policy is named: a log and nothing else.
const PLAIN: &str = "greedy";

/// Runs everything in one batch and prints.
pub fn run(args: &CompareArgs, console: Console) -> Result<(), Failure> {
    let policies = policies(args)?;
    let simulation = &args.simulation;
    if args.inputs.trace.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::usage("standard input can be read once; name --trace - once"));
    }
    let device = jobs::device(&simulation.device)?;
    let output = results::open(&simulation.output)?;
    let traces = args.inputs.trace.iter().map(AsRef::as_ref);
    let inputs = jobs::ready(traces, &args.inputs.workload, &device, simulation, console)?;
    let done = jobs::run_all(&inputs, &policies, &device, simulation, console)?;
    for (input, done) in inputs.iter().zip(done.chunks(policies.len())) {
        for note in notes::on(done, matches!(input, Ready::Trace(_)), simulation) {
            console.note(&note);
        }
    }
    let results = Results::Many { runs: &done, per_input: policies.len() };
    results::print(&results, simulation.output.form(), output)
}

/// Every policy named, with every victim and every placement that replaces its own.
fn policies(args: &CompareArgs) -> Result<Vec<PolicySpec>, Failure> {
    let mut names = listed("--policies", &args.policies)?;
    let victims = listed("--victim", &args.victim)?;
    let placements = listed("--placement", &args.placement)?;
    let axes_only = names.is_empty() && !(victims.is_empty() && placements.is_empty());
    if axes_only {
        names.push(PLAIN.into());
    } else if names.is_empty() {
        let page_mapped = PRESETS.iter().filter(|p| p.layer == LayerKind::PageMapped);
        names.extend(page_mapped.map(|p| p.name.to_owned()));
    }
    let mut specs: Vec<PolicySpec> = Vec::new();
    for name in &names {
        for victim in alternatives(&victims) {
            for placement in alternatives(&placements) {
                let mut spec = PolicySpec::parse(name, victim, placement)?;
                if axes_only {
                    spec.name = format!("{} + {}", spec.victim.show(), spec.placement.show());
                }
                if !specs.contains(&spec) {
                    specs.push(spec);
                }
            }
        }
    }
    Ok(specs)
}

/// The names in all lists of an option. An empty list, as of a variable that is not set, is not the
/// same as none.
fn listed(option: &str, lists: &[String]) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for list in lists {
        let named = split_list(list);
        if named.is_empty() {
            return Err(Failure::usage(format!(
                "{option} `{list}` names nothing; `thermocline policies` lists the names"
            )));
        }
        names.extend(named);
    }
    Ok(names)
}

/// Each of the list, or the policy's own where there is none.
fn alternatives(list: &[String]) -> Vec<Option<&str>> {
    if list.is_empty() { vec![None] } else { list.iter().map(|s| Some(s.as_str())).collect() }
}
