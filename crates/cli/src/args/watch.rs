//! The arguments of `watch`.

use clap::Args;
use thermocline_study::settings::{input::OneInput, run::SimulationArgs};

use super::{
    output::OutputArgs,
    settings::{Of, Suggest},
    values,
};

const HEADING: &str = "Excerpt";

/// The arguments of `watch`.
#[derive(Args, Debug)]
pub struct WatchArgs {
    #[command(flatten)]
    pub input: Of<OneInput>,
    /// One to four policies with commas between, each with parameters in brackets.
    #[arg(long, visible_alias = "policy", value_name = "NAMES", default_value = "greedy,dac")]
    #[arg(value_parser = Suggest(values::presets), hide_possible_values = true)]
    #[arg(help_heading = "Policies")]
    pub policies: Vec<String>,
    /// Where the excerpt begins, as a share of the host's page writes.
    #[arg(long, value_name = "SHARE", value_parser = values::share, default_value = "50%")]
    #[arg(help_heading = HEADING)]
    pub from: f64,
    /// Length of the excerpt: so many blocks full of host writes.
    #[arg(long, value_name = "N", default_value_t = 400, help_heading = HEADING)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub blocks: u32,
    /// Address to show the page at, where it goes to no --output; without a host this machine only.
    #[arg(long, value_name = "[HOST:]PORT", value_parser = values::own_address, help_heading = "Output")]
    #[arg(default_value = "127.0.0.1:0")]
    pub listen: String,
    #[command(flatten)]
    pub simulation: Of<SimulationArgs>,
    #[command(flatten)]
    pub output: OutputArgs,
}
