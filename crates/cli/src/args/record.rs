//! The arguments of `record`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::values;

/// The arguments of `record`.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// Block device to record; a file or folder stands for the device that it is on; a fio job (.fio) is
    /// run.
    #[arg(value_name = "DEVICE|FILE", value_hint = ValueHint::AnyPath)]
    pub what: PathBuf,
    /// How long: 10m, 90s, 2h.
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    pub duration: u64,
    /// Name of the recording, or its beginning [default: that of the device or the job, here].
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Tool that records [default: of a device, the first of blktrace and bpftrace that is installed].
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<Tool>,
}

/// What records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tool {
    /// The kernel's block tracer: a file for each processor.
    Blktrace,
    /// A program for the kernel's tracepoint of issued requests.
    Bpftrace,
    /// A job's own log of its requests.
    Fio,
}
