//! The results of `run` and `compare`, in the form the user wants.

use std::path::Path;

use thermocline_sim::RunResult;
use thermocline_study::Listed;

use super::{
    columns,
    compare::{self, View},
    compared::Compared,
    json, run,
};
use crate::{
    args::output::{OutputArgs, ResultFormat},
    exit::Failure,
    output::Output,
};

/// Opens the output, if it can take the form asked for.
pub fn open(args: &OutputArgs) -> Result<Output, Failure> {
    open_as(args.form() == ResultFormat::Parquet, args.output.as_deref())
}

/// Opens the output, for Parquet or for text.
pub fn open_as(parquet: bool, path: Option<&Path>) -> Result<Output, Failure> {
    if parquet && cfg!(not(feature = "parquet")) {
        return Err(Failure::usage(
            "this thermocline was built without Parquet; build it with `make build` or `cargo install \
             --path crates/cli --features parquet`, or take --format csv",
        ));
    }
    let output = Output::open(path)?;
    if parquet && output.is_terminal() {
        return Err(Failure::usage(
            "Parquet is binary and standard output is a terminal; name a file with --output",
        ));
    }
    Ok(output)
}

/// Prints one run.
pub fn print_run(run: &RunResult, form: ResultFormat, output: Output) -> Result<(), Failure> {
    match form {
        ResultFormat::Table => {
            let text = run::show(run, &output);
            output.put_styled(&text)
        }
        ResultFormat::Markdown => {
            let text = run::markdown(run);
            output.put(text.as_bytes())
        }
        ResultFormat::Json => json::print(run, output),
        ResultFormat::JsonLines => json::print_lines(&[run], output),
        ResultFormat::Csv => output.put(columns::csv(&[run]).as_bytes()),
        ResultFormat::Parquet => parquet(&[run], output),
    }
}

/// Prints every policy on each input.
pub fn print_comparison(
    inputs: &[Compared],
    form: ResultFormat,
    view: &View,
    output: Output,
) -> Result<(), Failure> {
    let runs: Vec<_> = inputs.iter().flat_map(Compared::runs).collect();
    match form {
        ResultFormat::Table => output.put_styled(&compare::show(inputs, view)),
        ResultFormat::Markdown => output.put(compare::show(inputs, view).as_bytes()),
        ResultFormat::Json => json::print(&Listed::of(inputs, view.wish), output),
        ResultFormat::JsonLines => json::print_lines(&runs, output),
        ResultFormat::Csv => output.put(columns::csv(&runs).as_bytes()),
        ResultFormat::Parquet => parquet(&runs, output),
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
