//! The arguments of `measured`.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Subcommand, ValueHint};

use super::{help, values};

/// What can be done with counters of drives.
#[derive(Debug, Subcommand)]
pub enum MeasuredCommand {
    /// Make a measurement of what tools printed about a drive.
    #[command(after_help = help::MEASURED_IMPORT)]
    Import(ImportArgs),
    /// Poll a drive while something writes to it, and make a measurement.
    #[command(after_help = help::MEASURED_RECORD)]
    Record(RecordArgs),
    /// List the printouts that can be read, with their units and the sources of these.
    Formats(FormatsArgs),
}

/// The arguments of `measured import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Printouts of one drive: files, or a folder of files; several printouts in a file follow one another.
    #[arg(value_name = "FILE|FOLDER", required = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Time between two printouts, where neither they nor their files' names say when they were made: 10s.
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub every: Option<u64>,
    #[command(flatten)]
    pub target: TargetArgs,
}

/// Where a measurement is written.
#[derive(Args, Debug)]
pub struct TargetArgs {
    /// File to write, CSV, or JSON if it ends in .json [default: standard output].
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// The arguments of `measured record`.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// The drive, for which nvme or smartctl is run; after --, a command that prints its counters.
    #[arg(value_name = "DEVICE|-- COMMAND", required = true, trailing_var_arg = true)]
    #[arg(allow_hyphen_values = true, value_hint = ValueHint::AnyPath)]
    pub what: Vec<OsString>,
    /// Time between two readings.
    #[arg(long, value_name = "TIME", value_parser = values::duration, default_value = "10s")]
    pub every: u64,
    /// How long [default: until Ctrl-C].
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    pub duration: Option<u64>,
    #[command(flatten)]
    pub target: TargetArgs,
}

/// The arguments of `measured formats`.
#[derive(Args, Debug)]
pub struct FormatsArgs {
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
