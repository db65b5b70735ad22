//! The arguments of `tune`: the options of `run`, with lists of values to choose from.

use clap::Args;
use thermocline_sim::metric::Metric;
use thermocline_study::{settings::compare::WhichVolumes, tune};

use super::{
    output::OutputArgs,
    pictures::PictureArgs,
    settings::{Of, SweptArgs},
    values,
};

const SEARCH: &str = "Search";
const RUNNING: &str = "Running";

/// The arguments of `tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// Figure that shall be good: write-amplification, lifetime, p99, memory, or a key of
    /// docs/results.md.
    #[arg(long, value_name = "AIM", value_parser = tune::aim, default_value = "write-amplification")]
    #[arg(help_heading = SEARCH)]
    pub aim: &'static Metric,
    /// Number of simulations that the search may take; a few more simplify and confirm what it found.
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = SEARCH)]
    pub budget: usize,
    /// Part of the trace that is searched; the rest confirms. A workload is confirmed with another seed.
    #[arg(long, value_name = "SHARE", value_parser = values::share, default_value = "60%")]
    #[arg(help_heading = SEARCH)]
    pub part: f64,
    /// Price of space, where --over-provisioning is searched: per cent of the aim that 1 % more flash must
    /// be worth.
    #[arg(long, value_name = "N", default_value_t = 1.0, help_heading = SEARCH)]
    pub price: f64,
    /// Search only what lists are given of, not the policies' parameters and --high.
    #[arg(long, help_heading = SEARCH)]
    pub no_parameters: bool,
    /// Each volume of a trace is a device of its own: a search for each of them.
    #[arg(long, help_heading = SEARCH, conflicts_with_all = ["report", "plots"])]
    pub per_volume: bool,
    #[command(flatten)]
    pub which: Of<WhichVolumes>,
    /// Number of simulations at a time; 0 is one per core. Results do not depend on it.
    #[arg(long, visible_alias = "threads", short, value_name = "N", default_value_t = 0)]
    #[arg(help_heading = RUNNING)]
    pub jobs: usize,
    #[command(flatten)]
    pub pictures: PictureArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub swept: SweptArgs,
}
