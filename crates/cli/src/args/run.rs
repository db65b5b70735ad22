//! The arguments of `run`.

use std::path::PathBuf;

use clap::Args;

use super::{
    input::OneInput,
    pictures::PictureArgs,
    simulation::SimulationArgs,
    values::{self, Suggest},
};

const HEADING: &str = "Policy";

/// The arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    pub input: OneInput,
    /// Policy, with parameters in brackets: 'cat(tau=84min)' (`thermocline policies` lists them)
    /// [default: cat; with --victim or --placement alone, a plain log].
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::presets), hide_possible_values = true)]
    pub policy: Option<String>,
    /// Victim policy, in place of the policy's own.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::victims), hide_possible_values = true)]
    pub victim: Option<String>,
    /// Placement, in place of the policy's own.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::placements), hide_possible_values = true)]
    pub placement: Option<String>,
    /// Run the oracle too, which knows the future, and say how much more the policy writes.
    #[arg(long, help_heading = HEADING)]
    pub oracle: bool,
    /// Write down the delay of every read and write, as CSV: arrival_us, op, response_us, delay_us.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub delays: Option<PathBuf>,
    /// Show the runs on the terminal while they last: write amplification, latency, maps of blocks.
    #[arg(long, help_heading = "Running")]
    pub live: bool,
    #[command(flatten)]
    pub pictures: PictureArgs,
    #[command(flatten)]
    pub simulation: SimulationArgs,
}
