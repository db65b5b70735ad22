//! The arguments of `reproduce`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{settings::Suggest, values};

const WHAT: &str = "What to reproduce";
const OUTPUT: &str = "Output";

/// The arguments of `reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// Papers (cat), single experiments (cat/table-4), `all`; or TOML files and folders of them.
    #[arg(value_name = "PAPER|FILE|DIR", required = true)]
    #[arg(value_parser = Suggest(values::papers), hide_possible_values = true)]
    pub what: Vec<String>,
    /// Folder with one folder for each paper, in place of the built-in ones.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = WHAT)]
    pub papers: Option<PathBuf>,
    /// Folder of recorded traces; repeat for several. Experiments whose traces are missing are skipped
    /// [default: $THERMOCLINE_TRACES, separated by colons].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = WHAT)]
    pub traces: Vec<PathBuf>,
    /// Run only the experiments of the quick tests, some of them shortened, without readings.
    #[arg(long, help_heading = WHAT)]
    pub quick: bool,
    /// Fail also where a value is not the recorded one, though the verdict is the same.
    #[arg(long, help_heading = WHAT)]
    pub exact: bool,
    /// Leave out the alternative readings of ambiguous texts.
    #[arg(long, help_heading = WHAT)]
    pub no_readings: bool,
    /// Number of threads; 0 is one per core. Results do not depend on it.
    #[arg(long, short = 'j', value_name = "N", default_value_t = 0, help_heading = "Running")]
    pub threads: usize,
    /// Print the command of every run, and run nothing.
    #[arg(long, help_heading = OUTPUT, conflicts_with_all = ["json", "accept", "report", "plots"])]
    pub commands: bool,
    /// Print JSON.
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// File for the results [default: standard output].
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// One page with everything, if the name ends with .html; otherwise a folder for one page per paper
    /// (Markdown, HTML) and its figures (SVG; PDF if built in, see `make build`).
    #[arg(long, value_name = "FILE.html|DIR", value_hint = ValueHint::AnyPath, help_heading = OUTPUT)]
    pub report: Option<PathBuf>,
    /// Folder for the figures as files for a paper: SVG and CSV of each (PDF and PNG if built in, see
    /// `make build`).
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = OUTPUT)]
    pub plots: Option<PathBuf>,
    /// Record the verdicts in the papers' folders; later runs are compared with them.
    #[arg(long, help_heading = OUTPUT)]
    pub accept: bool,
}
