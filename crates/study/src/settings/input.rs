//! What drives a simulation: traces or workloads.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use thermocline_workloads::WorkloadSpec;

use super::values;

const HEADING: &str = "Input";

/// The input of `run`.
#[derive(Args, Debug)]
#[group(id = "input", required = true, multiple = false)]
pub struct OneInput {
    /// Trace to replay; `-` is standard input.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = HEADING)]
    pub trace: Option<PathBuf>,
    /// Workload to generate, such as hot-cold:90/10 (`thermocline workloads` lists them).
    #[arg(long, value_name = "SPEC", help_heading = HEADING)]
    pub workload: Option<WorkloadSpec>,
}

/// The inputs of `compare`.
#[derive(Args, Debug)]
#[group(id = "inputs", required = true, multiple = true)]
pub struct ManyInputs {
    /// Trace to replay; `-` is standard input. Repeat for several.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = HEADING)]
    pub trace: Vec<PathBuf>,
    /// Workload to generate, such as hot-cold:90/10 (`thermocline workloads` lists them). Repeat
    /// for several; they run after the traces.
    #[arg(long, value_name = "SPEC", help_heading = HEADING)]
    pub workload: Vec<WorkloadSpec>,
}

/// What a workload is like beside its pattern.
#[derive(Args, Debug)]
pub struct WorkloadArgs {
    /// Bytes that a workload writes [default: 4 times the filled data; phases: their sum].
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(help_heading = HEADING)]
    pub bytes: Option<u64>,
    /// Bytes of each request [default: a page].
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(help_heading = HEADING)]
    pub request: Option<u64>,
    /// Mean time between requests (a Poisson process), such as 24.61s [default: a request starts when
    /// the previous one has ended].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    #[arg(help_heading = HEADING)]
    pub interarrival: Option<u64>,
    /// Share of read requests, below 100% [default: 0%].
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    #[arg(help_heading = HEADING)]
    pub reads: Option<f64>,
}

/// How a trace's addresses become pages of the device.
#[derive(Args, Debug)]
pub struct MappingArgs {
    /// Number of times to replay the trace [default: 1].
    #[arg(long = "loop", value_name = "N", help_heading = HEADING)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub times: Option<u32>,
    /// Repeat the input until write amplification has settled, at most N times; the statistics are those of the
    /// last time [default N: 20].
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "20")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..), help_heading = HEADING, conflicts_with = "times")]
    pub settle: Option<u32>,
    /// Keep the trace's addresses [default: number the touched pages densely].
    #[arg(long, help_heading = HEADING)]
    pub absolute: bool,
    /// Wrap addresses beyond the device's end (modulo its size).
    #[arg(long, help_heading = HEADING)]
    pub wrap: bool,
    /// Pages that count for the device's size: all that are read or written, or only those written
    /// [default: accessed].
    #[arg(long, value_name = "WHICH", help_heading = HEADING)]
    pub footprint: Option<FootprintArg>,
    /// Simulate a sample: one of N pages, chosen by a hash of their number and --seed, on a device whose
    /// blocks have an N-th of their pages. Costs an N-th in time and memory; write amplification is an
    /// estimate with an interval.
    #[arg(long, value_name = "1/N", value_parser = values::sample, help_heading = HEADING)]
    pub sample: Option<u32>,
    /// Pages written in part: read, modify and write them, or only write them [default: rmw].
    #[arg(long, value_name = "HOW", help_heading = HEADING)]
    pub partial_pages: Option<PartialPages>,
}

/// Which pages need room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FootprintArg {
    /// All pages that are read or written.
    Accessed,
    /// Pages that are written.
    Written,
}

/// What becomes of pages written in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartialPages {
    /// Read them first, as a device must.
    Rmw,
    /// Count them as written whole.
    Round,
}
