//! The arguments of `reproduce`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::values::{self, Suggest};

const WHAT: &str = "What to reproduce";
const OUTPUT: &str = "Output";

/// The arguments of `reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// Papers (cat), experiments of them (cat/table-4), `all`; or TOML files and folders of them.
    #[arg(value_name = "PAPER|FILE|DIR", required = true)]
    #[arg(value_parser = Suggest(values::papers), hide_possible_values = true)]
    pub what: Vec<String>,
    /// Folder with a folder a paper, in place of those that are built in.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = WHAT)]
    pub papers: Option<PathBuf>,
    /// Folder of the recorded traces that experiments name; repeat for several [default:
    /// $THERMOCLINE_TRACES, with colons between; experiments whose traces are in none are skipped].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = WHAT)]
    pub traces: Vec<PathBuf>,
    /// Only the experiments that take a second or two.
    #[arg(long, help_heading = WHAT)]
    pub quick: bool,
    /// Leave out the other ways to read the papers' text.
    #[arg(long, help_heading = WHAT)]
    pub no_readings: bool,
    /// Threads that runs are shared among; 0 is one a core. Results do not depend on it.
    #[arg(long, short = 'j', value_name = "N", default_value_t = 0, help_heading = "Running")]
    pub threads: usize,
    /// Run nothing; print the command of every run.
    #[arg(long, help_heading = OUTPUT, conflicts_with_all = ["json", "accept", "report"])]
    pub commands: bool,
    /// Everything as JSON.
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// File for the results [default: standard output].
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// Folder for a page a paper (Markdown, HTML) and its figures (SVG; PDF where that was
    /// built in, see `make full`).
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = OUTPUT)]
    pub report: Option<PathBuf>,
    /// Record the verdicts in the papers' folders, for later runs to be compared with.
    #[arg(long, help_heading = OUTPUT)]
    pub accept: bool,
}
