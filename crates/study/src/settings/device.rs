//! The device, and what it holds before the run.

use clap::{Args, ValueEnum};

use thermocline_assembly::Device;

use super::values::{self, FillArg, ReadOnlyArg, Suggest};

const HEADING: &str = "Device";

/// What a device is like.
#[derive(Args, Debug)]
pub struct ShapeArgs {
    /// Built-in profile (`thermocline devices` lists them), or a TOML file [default: slc-generic; for
    /// traces of phones a phone's flash].
    #[arg(long, value_name = "NAME|FILE", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::devices), hide_possible_values = true)]
    pub device: Option<String>,
    /// Bytes of the whole chip [default: the profile's; in simulations of a trace, enough for its
    /// footprint].
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = HEADING)]
    pub capacity: Option<u64>,
    /// Bytes of an erase block [default: the profile's].
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = HEADING)]
    pub block_size: Option<u64>,
    /// Bytes of a page [default: the profile's].
    #[arg(long, value_name = "SIZE", value_parser = values::page_size, help_heading = HEADING)]
    pub page_size: Option<u64>,
    /// Number of banks; they share the blocks [default: the profile's].
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub banks: Option<u32>,
    /// Number of channels, which the banks share: operations of banks overlap, transfers on a channel
    /// do not [default: the profile's].
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub channels: Option<u32>,
}

/// How the device is written before the statistics begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PreconditionArg {
    /// Nothing: as from the factory.
    Fresh,
    /// Every page once, in order.
    Sequential,
    /// Every page once, in random order.
    Shuffled,
}

/// The device of a simulation.
#[derive(Args, Debug)]
pub struct DeviceArgs {
    /// Its shape.
    #[command(flatten)]
    pub shape: ShapeArgs,
    /// Share of the chip to write in sequence before the statistics begin (the papers' utilization), or
    /// `none` for a device fresh from the factory [default: all logical pages].
    #[arg(long, value_name = "SHARE|none", help_heading = HEADING)]
    #[arg(conflicts_with = "over_provisioning")]
    pub fill: Option<FillArg>,
    /// How the device was written before the statistics begin: not at all, each page once in order, or each
    /// once in random order [default: sequential].
    #[arg(long, value_name = "HOW", help_heading = HEADING, conflicts_with = "fill")]
    pub preconditioned: Option<PreconditionArg>,
    /// Use only the first part of the capacity; the rest is trimmed before the statistics begin [default: all
    /// of it].
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = HEADING)]
    #[arg(conflicts_with = "fill")]
    pub used: Option<u64>,
    /// Simulate a smaller device of as many blocks with an N-th of the pages in each: an N-th of the time and
    /// memory. Sizes are given and printed as of the whole device. For workloads; a trace takes --sample.
    #[arg(long, value_name = "1/N", value_parser = values::sample, help_heading = HEADING)]
    pub scale: Option<u32>,
    /// Over-provisioning: physical / logical pages - 1 [default: a drive's own; 15% for others].
    #[arg(long, value_name = "SHARE", value_parser = values::share, help_heading = HEADING)]
    pub over_provisioning: Option<f64>,
    /// Bytes that the host writes before the statistics begin, beside the fill: to see a device once it has
    /// settled, or one stretch of a run [default: none].
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = HEADING)]
    pub warm_up: Option<u64>,
    /// Number of logical pages, as on a chip that is formatted already [default: from
    /// --over-provisioning, --fill or the trace's footprint].
    #[arg(long, value_name = "N", help_heading = HEADING)]
    #[arg(conflicts_with = "over_provisioning", value_parser = clap::value_parser!(u32).range(1..))]
    pub logical_pages: Option<u32>,
    /// Filled pages that are read-only: a share of them, which workloads never write, or `unwritten`,
    /// those that the trace never writes [default: none].
    #[arg(long, value_name = "SHARE|unwritten", help_heading = HEADING)]
    pub read_only: Option<ReadOnlyArg>,
    /// Requests the device works on at once [default: with --clock device one, otherwise all that
    /// have arrived].
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub queue_depth: Option<u32>,
    /// Keep the map on the chip, as a device with little RAM does, and this much RAM for changes of it:
    /// 16KiB. For policies without memory per page [default: the map in RAM].
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = HEADING)]
    pub map_cache: Option<u64>,
    /// Retire blocks at their rated endurance (P/E cycles).
    #[arg(long, help_heading = HEADING)]
    pub wear_out: bool,
    /// Host writes a day for lifetimes in years: 50GB, 20GiB [default: the rate of the trace's
    /// arrivals].
    #[arg(long, value_name = "SIZE", value_parser = values::daily_writes, help_heading = HEADING)]
    pub daily_writes: Option<u64>,
    /// When a request starts: when the previous one has ended (device), or at its arrival time
    /// (arrivals) [default: arrivals if the input has any].
    #[arg(long, value_name = "WHOSE", help_heading = HEADING)]
    pub clock: Option<ClockArg>,
    /// Unit of the ages that policies transform [default: 1700 times the mean gap between page writes;
    /// 363 erase times without arrivals].
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = HEADING)]
    pub time_scale: Option<u64>,
}

impl DeviceArgs {
    /// Over-provisioning where neither the user nor the device says.
    pub const SPARE: f64 = 0.15;

    /// Over-provisioning of this device.
    #[must_use]
    pub fn spare(&self, device: &Device) -> f64 {
        self.over_provisioning.or(device.over_provisioning).unwrap_or(Self::SPARE)
    }
}

/// Whose time runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockArg {
    /// A request starts when the previous one has ended.
    Device,
    /// A request starts when the trace or the Poisson process says.
    Arrivals,
}
