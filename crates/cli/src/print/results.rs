//! The results of `run` and `compare`, in the form the user wants.

use serde::Serialize;
use thermocline_sim::RunResult;

use super::{columns, compare, json, run};
use crate::{
    args::output::{OutputArgs, ResultFormat},
    exit::Failure,
    output::Output,
};

/// What there is to print.
pub enum Results<'a> {
    /// One run.
    One(&'a RunResult),
    /// So many runs for each input, input by input.
    Many {
        /// All of them.
        runs: &'a [RunResult],
        /// How many belong together.
        per_input: usize,
    },
}

#[derive(Serialize)]
struct Runs<'a> {
    runs: &'a [RunResult],
}

/// Opens the output, if it can take the form asked for.
pub fn open(args: &OutputArgs) -> Result<Output, Failure> {
    if args.form() == ResultFormat::Parquet {
        if cfg!(not(feature = "parquet")) {
            return Err(Failure::usage(
                "this thermocline was built without Parquet; build it with `make full` or `cargo \
                 install --path crates/cli --features parquet`, or take --format csv",
            ));
        }
        let output = Output::open(args.output.as_deref())?;
        if output.is_terminal() {
            return Err(Failure::usage(
                "Parquet is binary and standard output is a terminal; name a file with --output",
            ));
        }
        return Ok(output);
    }
    Output::open(args.output.as_deref())
}

/// Prints.
pub fn print(results: &Results<'_>, form: ResultFormat, output: Output) -> Result<(), Failure> {
    let runs = match results {
        Results::One(run) => std::slice::from_ref(*run),
        Results::Many { runs, .. } => runs,
    };
    match (form, results) {
        (ResultFormat::Table, Results::One(run)) => {
            let text = run::show(run, &output);
            output.put_styled(&text)
        }
        (ResultFormat::Table, Results::Many { per_input, .. }) => {
            let text = compare::show(runs, *per_input, &output);
            output.put_styled(&text)
        }
        (ResultFormat::Json, Results::One(run)) => json::print(run, output),
        (ResultFormat::Json, Results::Many { .. }) => json::print(&Runs { runs }, output),
        (ResultFormat::Csv, _) => output.put(columns::csv(runs).as_bytes()),
        (ResultFormat::Parquet, _) => parquet(runs, output),
    }
}

#[cfg(feature = "parquet")]
fn parquet(runs: &[RunResult], output: Output) -> Result<(), Failure> {
    super::parquet::print(runs, output)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &[RunResult], _: Output) -> Result<(), Failure> {
    unreachable!("the output was not opened")
}
