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
    /// Every policy on each input.
    Many(&'a [Compared]),
}

/// What came of all policies on one input.
pub struct Compared {
    /// What results call the input.
    pub input: String,
    /// The policies, in the order given.
    pub rows: Vec<Result<RunResult, Refused>>,
}

impl Compared {
    /// The runs there are.
    pub fn runs(&self) -> impl Iterator<Item = &RunResult> {
        self.rows.iter().flatten()
    }

    /// The policies that could not run.
    pub fn refused(&self) -> impl Iterator<Item = &Refused> {
        self.rows.iter().filter_map(|row| row.as_ref().err())
    }
}

/// A policy that could not run on an input.
#[derive(Debug, Serialize)]
pub struct Refused {
    /// The input.
    pub trace: String,
    /// The policy.
    pub policy: String,
    /// Why.
    pub error: String,
}

#[derive(Serialize)]
struct Runs<'a> {
    runs: &'a [&'a RunResult],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<&'a Refused>,
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
    let (runs, failures) = match results {
        Results::One(run) => (vec![*run], Vec::new()),
        Results::Many(inputs) => (
            inputs.iter().flat_map(Compared::runs).collect(),
            inputs.iter().flat_map(Compared::refused).collect(),
        ),
    };
    match (form, results) {
        (ResultFormat::Table, Results::One(run)) => {
            let text = run::show(run, &output);
            output.put_styled(&text)
        }
        (ResultFormat::Table, Results::Many(inputs)) => {
            let text = compare::show(inputs, &output);
            output.put_styled(&text)
        }
        (ResultFormat::Json, Results::One(run)) => json::print(run, output),
        (ResultFormat::Json, Results::Many(_)) => {
            json::print(&Runs { runs: &runs, failures }, output)
        }
        (ResultFormat::Csv, _) => output.put(columns::csv(&runs).as_bytes()),
        (ResultFormat::Parquet, _) => parquet(&runs, output),
    }
}

#[cfg(feature = "parquet")]
fn parquet(runs: &[&RunResult], output: Output) -> Result<(), Failure> {
    super::parquet::print(runs, output)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &[&RunResult], _: Output) -> Result<(), Failure> {
    unreachable!("the output was not opened")
}
