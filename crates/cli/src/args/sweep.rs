//! The arguments of `sweep`: the options of `run`, with lists of values.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use thermocline_study::settings::compare::WhichVolumes;
use thermocline_sweep::{Condition, Shard};

use super::{
    pictures::PictureArgs,
    settings::{Of, SweptArgs},
};

const RUNNING: &str = "Running";
const OUTPUT: &str = "Output";
const SEARCH: &str = "Search";

/// The arguments of `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// TOML file of settings: `policy = "greedy,cat"`; options given here come before those in it.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Run everything with so many seeds, from --seed on.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = RUNNING)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Number of simulations at a time; 0 is one per core. Results do not depend on it.
    #[arg(long, visible_alias = "threads", short, value_name = "N", default_value_t = 0)]
    #[arg(help_heading = RUNNING)]
    pub jobs: usize,
    /// Folder that keeps every result: what is in it is not computed again, whatever sweep asks for it
    /// [default: OUTPUT.store beside the output, thermocline.store without one].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = RUNNING)]
    pub store: Option<PathBuf>,
    /// Each volume of a trace is a device of its own: a row for each volume and combination.
    #[arg(long, help_heading = RUNNING, conflicts_with = "until")]
    pub per_volume: bool,
    #[command(flatten)]
    pub which: Of<WhichVolumes>,
    /// Only this part of the rows, as in 3/16; the parts one behind another are the whole.
    #[arg(long, value_name = "N/OF", help_heading = RUNNING, conflicts_with = "until")]
    pub shard: Option<Shard>,
    /// Search the one range without steps (2%..60%) for the value at which this begins to hold, as in
    /// 'write_amplification<=1.5'; the key is one of docs/results.md.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse, help_heading = SEARCH)]
    pub until: Option<Condition>,
    /// How close the search comes: the step between the values it may choose [default: a power of
    /// ten, at most a hundredth of the range].
    #[arg(long, value_name = "STEP", requires = "until", help_heading = SEARCH)]
    pub tolerance: Option<String>,
    /// Form of the table [default: table on a terminal, csv elsewhere].
    #[arg(long, value_name = "FORM", help_heading = OUTPUT)]
    pub format: Option<TableFormat>,
    /// File for the table [default: standard output; with --until none].
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub pictures: PictureArgs,
    #[command(flatten)]
    pub swept: SweptArgs,
}

/// Forms of a table of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// The settings that differ and the figures there is room for, for people.
    Table,
    /// A row a simulation.
    Csv,
    /// An object a line, as JSON.
    #[value(name = "jsonl")]
    JsonLines,
    /// For data frames.
    Parquet,
}
