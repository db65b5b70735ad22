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
    /// for several; they come after the traces.
    #[arg(long, value_name = "SPEC", help_heading = HEADING)]
    pub workload: Vec<WorkloadSpec>,
}

/// What a workload is like beside its pattern.
#[derive(Args, Debug)]
pub struct WorkloadArgs {
    /// Bytes a workload writes [default: 4 times the filled data; phases: their sum].
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(help_heading = HEADING)]
    pub bytes: Option<u64>,
    /// Bytes of each request [default: a page].
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    #[arg(help_heading = HEADING)]
    pub request: Option<u64>,
    /// Mean gap between requests of a Poisson process, such as 24.61s [default: each request comes
    /// when the last has ended].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    #[arg(help_heading = HEADING)]
    pub interarrival: Option<u64>,
    /// Share of the requests that read, below 100% [default: 0%].
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    #[arg(help_heading = HEADING)]
    pub reads: Option<f64>,
}

/// How a trace's addresses become pages of the device.
#[derive(Args, Debug)]
pub struct MappingArgs {
    /// Replay the trace so many times over [default: 1].
    #[arg(long = "loop", value_name = "N", help_heading = HEADING)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub times: Option<u32>,
    /// Keep the trace's addresses; without it, the pages it touches are numbered densely.
    #[arg(long, help_heading = HEADING)]
    pub absolute: bool,
    /// Take addresses beyond the device modulo its size.
    #[arg(long, help_heading = HEADING)]
    pub wrap: bool,
    /// Pages that need room: all that are read or written, or only those written [default:
    /// accessed].
    #[arg(long, value_name = "WHICH", help_heading = HEADING)]
    pub footprint: Option<FootprintArg>,
    /// Pages written in part: read, modify, write; or just write them [default: rmw].
    #[arg(long, value_name = "HOW", help_heading = HEADING)]
    pub partial_pages: Option<PartialPages>,
}

/// Which pages need room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FootprintArg {
    /// All that are read or written.
    Accessed,
    /// Those written.
    Written,
}

/// What becomes of pages written in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartialPages {
    /// They are read first, as a device must.
    Rmw,
    /// They count as written whole.
    Round,
}
