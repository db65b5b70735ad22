//! The results of `run` and `compare`, in the form the user wants.

use std::path::Path;

use serde::Serialize;
use thermocline_sim::{
    RunResult,
    answer::{Aim, Answer},
    metric::metrics,
    statistics::Interval,
};

use super::{
    columns,
    compare::{self, View},
    compared::{Compared, Refused, Row, answer_for},
    json, run,
};
use crate::{
    args::output::{OutputArgs, ResultFormat},
    exit::Failure,
    output::Output,
};

/// All runs of a comparison.
#[derive(Serialize)]
struct Comparison<'a> {
    runs: Vec<&'a RunResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<&'a Refused>,
    /// Of several seeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    means: Vec<Means<'a>>,
    /// Of several inputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<AnswerFor<'a>>,
    answer: Answer,
}

/// Every figure of a policy over several seeds.
#[derive(Serialize)]
struct Means<'a> {
    trace: &'a str,
    policy: &'a str,
    seeds: usize,
    metrics: serde_json::Map<String, serde_json::Value>,
}

/// The answer on one of several inputs.
#[derive(Serialize)]
struct AnswerFor<'a> {
    trace: &'a str,
    #[serde(flatten)]
    answer: Answer,
}

impl<'a> Comparison<'a> {
    fn of(inputs: &'a [Compared], aim: Aim) -> Self {
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
                .map(|input| AnswerFor { trace: &input.input, answer: answer_for(aim, &[input]) })
                .collect(),
            answer: answer_for(aim, &inputs.iter().collect::<Vec<_>>()),
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
        let interval = figures.filter_map(|metric| {
            let interval = Interval::of(&row.values(metric)?)?;
            Some((metric.key.clone(), serde_json::to_value(interval).ok()?))
        });
        Self {
            trace: &input.input,
            policy: &row.policy,
            seeds: row.runs().len(),
            metrics: interval.collect(),
        }
    }
}

/// Opens the output, if it can take the form asked for.
pub fn open(args: &OutputArgs) -> Result<Output, Failure> {
    open_as(args.form() == ResultFormat::Parquet, args.output.as_deref())
}

/// Opens the output, for Parquet or for text.
pub fn open_as(parquet: bool, path: Option<&Path>) -> Result<Output, Failure> {
    if parquet && cfg!(not(feature = "parquet")) {
        return Err(Failure::usage(
            "this thermocline was built without Parquet; build it with `make full` or `cargo install \
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
        ResultFormat::Json => json::print(&Comparison::of(inputs, view.aim), output),
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
