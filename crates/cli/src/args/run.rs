//! The arguments of `run`.

use std::path::PathBuf;

use clap::Args;
use thermocline_study::settings::run::{OnePolicy, SimulationArgs};

use super::{output::OutputArgs, pictures::PictureArgs, settings::Of};

/// The arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    pub one: Of<OnePolicy>,
    /// Write down the delay of every read and write, as CSV: arrival_us, op, response_us, delay_us.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub delays: Option<PathBuf>,
    /// Show the runs on the terminal while they last: write amplification, latency, maps of blocks.
    #[arg(long, help_heading = "Running")]
    pub live: bool,
    #[command(flatten)]
    pub pictures: PictureArgs,
    #[command(flatten)]
    pub simulation: Of<SimulationArgs>,
    #[command(flatten)]
    pub output: OutputArgs,
}
