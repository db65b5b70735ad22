//! The arguments of `compare`.

use clap::Args;
use thermocline_sim::metric::{self, Metric};
use thermocline_study::settings::{compare::ManyPolicies, run::SimulationArgs};

use super::{output::OutputArgs, pictures::PictureArgs, settings::Of};

const OUTPUT: &str = "Output";

/// The arguments of `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    #[command(flatten)]
    pub many: Of<ManyPolicies>,
    /// Show the runs on the terminal while they last: write amplification, latency, maps of blocks.
    #[arg(long, help_heading = "Running")]
    pub live: bool,
    /// Every column, however wide the table is then.
    #[arg(long, help_heading = OUTPUT)]
    pub wide: bool,
    /// Columns of the table: keys of the result (docs/results.md) or their last words, with commas
    /// between [default: the most important that the screen has room for].
    #[arg(long, value_name = "KEYS", value_delimiter = ',', value_parser = metric::named)]
    #[arg(conflicts_with = "wide", help_heading = OUTPUT)]
    pub metrics: Vec<&'static Metric>,
    /// Sort by a key of the result, the best first [default: the order of the policies].
    #[arg(long, value_name = "KEY", value_parser = metric::named, help_heading = OUTPUT)]
    pub sort: Option<&'static Metric>,
    #[command(flatten)]
    pub pictures: PictureArgs,
    #[command(flatten)]
    pub simulation: Of<SimulationArgs>,
    #[command(flatten)]
    pub output: OutputArgs,
}
