//! Where results go, and how they look.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

const HEADING: &str = "Output";

/// The output of `run` and `compare`.
#[derive(Args, Debug)]
pub struct OutputArgs {
    /// Form of the results.
    #[arg(long, value_name = "FORM", default_value = "table", help_heading = HEADING)]
    pub format: ResultFormat,
    /// Short for --format json.
    #[arg(long, conflicts_with = "format", help_heading = HEADING)]
    pub json: bool,
    /// Short for --format markdown: tables to paste.
    #[arg(long, conflicts_with_all = ["format", "json"], help_heading = HEADING)]
    pub markdown: bool,
    /// File for the results [default: standard output].
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = HEADING)]
    pub output: Option<PathBuf>,
}

impl OutputArgs {
    /// The form asked for, in either way.
    pub fn form(&self) -> ResultFormat {
        match (self.json, self.markdown) {
            (true, _) => ResultFormat::Json,
            (_, true) => ResultFormat::Markdown,
            _ => self.format,
        }
    }
}

/// Forms of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResultFormat {
    /// For people.
    Table,
    /// The whole result, as documented.
    Json,
    /// Tables to paste.
    Markdown,
    /// A result a line, as JSON.
    #[value(name = "jsonl")]
    JsonLines,
    /// A row a run.
    Csv,
    /// The same, for data frames.
    Parquet,
}
