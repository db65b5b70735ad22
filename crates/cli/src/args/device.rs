//! The device, and what it holds before the run.

use clap::{Args, ValueEnum};

use super::values::{self, ReadOnlyArg, Suggest};

const HEADING: &str = "Device";

/// The device of a simulation.
#[derive(Args, Debug)]
pub struct DeviceArgs {
    /// Built-in profile (`thermocline devices` lists them), or a TOML file.
    #[arg(long, value_name = "NAME|FILE", default_value = "slc-generic", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::devices), hide_possible_values = true)]
    pub device: String,
    /// Bytes of the whole chip [default: the profile's; with a trace, what its footprint needs].
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = HEADING)]
    pub capacity: Option<u64>,
    /// Bytes of an erase block [default: the profile's].
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = HEADING)]
    pub block_size: Option<u64>,
    /// Bytes of a page [default: the profile's].
    #[arg(long, value_name = "SIZE", value_parser = values::page_size, help_heading = HEADING)]
    pub page_size: Option<u64>,
    /// Banks the blocks are divided among [default: the profile's].
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub banks: Option<u32>,
    /// Share of the chip that is written in sequence before the statistics begin: the papers'
    /// utilization [default: all logical pages].
    #[arg(long, value_name = "SHARE", value_parser = values::share, help_heading = HEADING)]
    #[arg(conflicts_with = "over_provisioning")]
    pub fill: Option<f64>,
    /// Spare space: physical over logical pages, less 1.
    #[arg(long, value_name = "SHARE", value_parser = values::share, help_heading = HEADING)]
    #[arg(default_value = "15%")]
    pub over_provisioning: f64,
    /// Filled pages that are read-only: a share of them (workloads leave these alone), or
    /// `unwritten` (those the trace never writes) [default: none].
    #[arg(long, value_name = "SHARE|unwritten", help_heading = HEADING)]
    pub read_only: Option<ReadOnlyArg>,
    /// Free blocks kept for the cleaner [default: 2].
    #[arg(long, value_name = "BLOCKS", help_heading = HEADING)]
    pub reserve: Option<u32>,
    /// Cleaning starts below this number of free blocks [default: reserve + 1].
    #[arg(long, value_name = "BLOCKS", help_heading = HEADING)]
    pub low: Option<u32>,
    /// Cleaning stops at this number of free blocks [default: low].
    #[arg(long, value_name = "BLOCKS", help_heading = HEADING)]
    pub high: Option<u32>,
    /// Let blocks die at their rated endurance.
    #[arg(long, help_heading = HEADING)]
    pub wear_out: bool,
    /// Whose time runs: the device's (a request starts when the last has ended), or that of the
    /// arrivals [default: arrivals where the input has any].
    #[arg(long, value_name = "WHOSE", help_heading = HEADING)]
    pub clock: Option<ClockArg>,
}

/// Whose time runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockArg {
    /// A request starts when the last has ended.
    Device,
    /// Requests come when the trace or the Poisson process says.
    Arrivals,
}
