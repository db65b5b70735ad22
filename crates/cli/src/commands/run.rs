//! `thermocline run`: one policy on one input.

use std::slice;

use thermocline_sim::PolicySpec;

use crate::{
    args::run::RunArgs,
    console::Console,
    exit::Failure,
    jobs, notes,
    print::results::{self, Results},
};

/// Runs and prints.
pub fn run(args: &RunArgs, console: Console) -> Result<(), Failure> {
    let policy =
        PolicySpec::parse(&args.policy, args.victim.as_deref(), args.placement.as_deref())?;
    let simulation = &args.simulation;
    let device = jobs::device(&simulation.device)?;
    // An output that cannot be opened shows now, not after the work.
    let output = results::open(&simulation.output)?;
    let traces = args.input.trace.as_deref();
    let inputs = jobs::ready(traces, &args.input.workload, &device, simulation, console)?;
    let done = jobs::run_all(&inputs, slice::from_ref(&policy), &device, simulation, console)?;
    for note in notes::on(&done, traces.is_some(), simulation) {
        console.note(&note);
    }
    results::print(&Results::One(&done[0]), simulation.output.form(), output)
}
