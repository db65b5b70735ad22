//! What `run` and `compare` have in common.

use clap::Args;

use super::{
    cleaning::CleaningArgs,
    device::DeviceArgs,
    input::{MappingArgs, WorkloadArgs},
    reading::ReadingArgs,
    transform::TransformArgs,
};

/// Everything but inputs and policies.
#[derive(Args, Debug)]
pub struct SimulationArgs {
    /// What a workload is like.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// How addresses become pages.
    #[command(flatten)]
    pub mapping: MappingArgs,
    /// The device.
    #[command(flatten)]
    pub device: DeviceArgs,
    /// When it cleans.
    #[command(flatten)]
    pub cleaning: CleaningArgs,
    /// How a trace is read.
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// What is done to it first.
    #[command(flatten)]
    pub transforms: TransformArgs,
    /// Seed of all random choices; one seed gives one result.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Running")]
    pub seed: u64,
    /// Number of threads; 0 is one per core. Results do not depend on it.
    #[arg(long, short = 'j', value_name = "N", default_value_t = 0, help_heading = "Running")]
    pub threads: usize,
    /// Recount all tables at the end, and fail if any count differs.
    #[arg(long, help_heading = "Running")]
    pub check: bool,
}
