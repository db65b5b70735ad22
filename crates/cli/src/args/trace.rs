//! The arguments of `trace`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use thermocline_study::settings::{
    generate::GeneratorArgs, reading::ReadingArgs, transform::TransformArgs,
};
use thermocline_trace::write::OutputFormat;
use thermocline_workloads::WorkloadSpec;

use super::{help, settings::Of, values};

/// What can be done with traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Describe traces: operations, footprint, overwrites, skew, sizes, alignment, volumes.
    #[command(after_help = help::TRACE_INFO)]
    Info(InfoArgs),
    /// Write a trace in another format, optionally transformed.
    #[command(after_help = help::TRACE_CONVERT)]
    Convert(ConvertArgs),
    /// Write each volume of a trace into a native file of its own.
    #[command(after_help = help::TRACE_SPLIT)]
    Split(SplitArgs),
    /// Write a generated workload as a trace.
    #[command(after_help = help::TRACE_GENERATE)]
    Generate(GenerateArgs),
    /// List the formats that can be read.
    Formats(FormatsArgs),
}

/// The arguments of `trace info`.
#[derive(Args, Debug)]
pub struct InfoArgs {
    /// Traces; `-` is standard input.
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Page size, in bytes, for the footprint and the overwrites.
    #[arg(long, value_name = "SIZE", value_parser = values::page_size, default_value = "4KiB")]
    pub page_size: u64,
    #[command(flatten)]
    pub reading: Of<ReadingArgs>,
    #[command(flatten)]
    pub transforms: Of<TransformArgs>,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Where a trace is written.
#[derive(Args, Debug)]
pub struct TargetArgs {
    /// File to write; `-` is standard output. `.zst` and `.gz` compress.
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Format to write: native, csv, fio (iolog version 2) or fio-v3 [default: by the extension
    /// .tct, .csv or .fio].
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<OutputFormat>,
}

/// The arguments of `trace convert`.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// Trace to read; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    #[command(flatten)]
    pub target: TargetArgs,
    /// Start time at 0 with the first request.
    #[arg(long)]
    pub rebase: bool,
    #[command(flatten)]
    pub reading: Of<ReadingArgs>,
    #[command(flatten)]
    pub transforms: Of<TransformArgs>,
}

/// The arguments of `trace split`.
#[derive(Args, Debug)]
pub struct SplitArgs {
    /// Trace to read; `-` is standard input.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Folder for the files, VOLUME.tct each.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    #[command(flatten)]
    pub reading: Of<ReadingArgs>,
    #[command(flatten)]
    pub transforms: Of<TransformArgs>,
}

/// The arguments of `trace generate`.
#[derive(Args, Debug)]
pub struct GenerateArgs {
    /// Workload, such as hot-cold:90/10 (`thermocline workloads` lists them).
    #[arg(value_name = "SPEC")]
    pub spec: WorkloadSpec,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub shape: Of<GeneratorArgs>,
}

/// The arguments of `trace formats`.
#[derive(Args, Debug)]
pub struct FormatsArgs {
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
