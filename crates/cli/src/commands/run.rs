//! `thermocline run`: one policy on one input.

use std::{path::Path, slice};

use thermocline_assembly::PolicySpec;
use thermocline_report::comparison;
use thermocline_sim::{DelayLog, Outcome, answer::Aim};

use crate::{
    args::run::RunArgs,
    console::Console,
    exit::Failure,
    jobs::{self, Wanted},
    notes,
    pictures::{self, Pictures},
    print::{
        compared::{Compared, Row},
        results,
    },
};

/// The policy where nothing is said of it.
const DEFAULT: &str = "cat";

/// Runs and prints.
pub fn run(args: &RunArgs, console: Console) -> Result<(), Failure> {
    let policy = policy_of(args)?;
    let simulation = &args.simulation;
    let device = jobs::device(&simulation.device.shape)?;
    // An output that cannot be opened shows now, not after the work.
    let output = results::open(&simulation.output)?;
    let pictures = Pictures::open(&args.pictures)?;
    let delays = args.delays.as_deref().map(|path| delay_log(path, args)).transpose()?;
    let policies = slice::from_ref(&policy);
    let traces = args.input.trace.as_deref();
    let inputs = jobs::ready(traces, &args.input.workload, policies, &device, simulation, console)?;
    notes::of_volumes(&inputs).iter().for_each(|warning| console.warn(warning));
    let history = args.pictures.any();
    let what =
        Wanted { oracle: args.oracle, delays: delays.as_ref(), seeds: 1, history, live: args.live };
    let done = jobs::run_all(&inputs, policies, what, &device, simulation, console)?;
    if let Some(delays) = delays {
        delays.finish()?;
    }
    let Some(Outcome { result, no_oracle, history, oracle }) = done.into_iter().next() else {
        unreachable!("one policy on one input is one run");
    };
    let result = result.map_err(|e| e.of_policy(&policy.name))?;
    for note in notes::on(&[&result], policies, traces.is_some(), simulation) {
        console.note(&note);
    }
    if let Some(why) = no_oracle {
        console.note(&notes::no_oracle(&result.trace.path, &why));
    }
    results::print_run(&result, simulation.output.form(), output)?;
    if !args.pictures.any() {
        return Ok(());
    }
    let traffic = jobs::traffic(&inputs[0], policies, &device, simulation);
    let row = Row { policy: policy.name.clone(), runs: Ok(vec![result]), history };
    let compared = [Compared { input: inputs[0].name(), rows: vec![row], traffic, oracle }];
    let page = || comparison::page(&compared, Aim::default(), &pictures::repeat());
    pictures.write(page, || comparison::all_charts(&compared))
}

/// The policy that was asked for.
pub fn policy_of(args: &RunArgs) -> Result<PolicySpec, Failure> {
    let (victim, placement) = (args.victim.as_deref(), args.placement.as_deref());
    let cleaning = &args.simulation.cleaning;
    jobs::policy(args.policy.as_deref(), victim, placement, DEFAULT, cleaning)
}

/// Opens the file for delays, which results do not share.
fn delay_log(path: &Path, args: &RunArgs) -> Result<DelayLog, Failure> {
    let output = args.simulation.output.output.as_deref();
    if path.as_os_str() == "-" || output == Some(path) {
        return Err(Failure::usage(format!(
            "--delays {}: that is where results go; name another file",
            path.display()
        )));
    }
    Ok(DelayLog::create(path)?)
}
