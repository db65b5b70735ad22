//! The command line: what can be asked for, and how it is explained.

pub mod catalogue;
pub mod compare;
mod config;
mod help;
pub mod identify;
pub mod kinds;
pub mod measured;
mod media;
pub mod output;
pub mod pictures;
pub mod predict;
pub mod record;
pub mod reproduce;
pub mod run;
pub mod settings;
pub mod store;
pub mod sweep;
mod teach;
pub mod trace;
pub mod tune;
pub mod values;
pub mod watch;

use std::{ffi::OsString, path::PathBuf};

use clap::{
    Arg, ArgAction, Command as Clap, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint,
    value_parser,
};

use self::kinds::FILES;

/// What `--version` says; `-V` says the number alone.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (commit ",
    env!("THERMOCLINE_COMMIT"),
    "; features: ",
    env!("THERMOCLINE_FEATURES"),
    ")"
);

/// Compares garbage-collection policies for flash memory: simulates flash translation layers (FTLs), and
/// serves block devices on flash chips.
#[derive(Debug, Parser)]
#[command(name = "thermocline", version, long_version = LONG_VERSION, after_help = help::TOP)]
#[command(arg_required_else_help = true, propagate_version = true)]
pub struct Cli {
    /// Print only errors on standard error.
    #[arg(short, long, global = true, help_heading = "Output")]
    pub quiet: bool,
    /// Draw no progress bar (only a terminal gets one).
    #[arg(long, global = true, help_heading = "Output")]
    pub no_progress: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate one policy on one trace or workload.
    #[command(after_help = help::RUN)]
    Run(Box<run::RunArgs>),
    /// Simulate several policies on one or several inputs, side by side.
    #[command(after_help = help::COMPARE)]
    Compare(Box<compare::CompareArgs>),
    /// Simulate every combination of lists of settings, as one long table that can be resumed.
    #[command(after_help = help::SWEEP)]
    Sweep(Box<sweep::SweepArgs>),
    /// Search for the policy and the parameters that suit a trace best, and confirm them on the rest of it.
    #[command(after_help = help::TUNE)]
    Tune(Box<tune::TuneArgs>),
    /// Show policies side by side on the same writes: a chip's blocks, cleaning by cleaning, in a browser.
    #[command(after_help = help::WATCH)]
    Watch(Box<watch::WatchArgs>),
    /// Run the experiments of papers, and show their published numbers beside ours.
    #[command(after_help = help::REPRODUCE)]
    Reproduce(Box<reproduce::ReproduceArgs>),
    /// Inspect, convert and generate traces.
    #[command(subcommand, after_help = help::TRACE, arg_required_else_help = true)]
    Trace(trace::TraceCommand),
    /// Record what a disk is asked, as a trace, with blktrace, bpftrace or fio.
    #[command(after_help = help::RECORD)]
    Record(record::RecordArgs),
    /// Import and record the counters of real drives: bytes written by the host, and to the flash.
    #[command(subcommand, after_help = help::MEASURED, arg_required_else_help = true)]
    Measured(measured::MeasuredCommand),
    /// Find out what a real drive does: its over-provisioning, its superblocks, its translation layer.
    #[command(after_help = help::IDENTIFY)]
    Identify(Box<identify::IdentifyArgs>),
    /// Say what a real drive will write to its flash under given traffic, and how long it will live.
    #[command(after_help = help::PREDICT)]
    Predict(Box<predict::PredictArgs>),
    /// Make a flash chip in a file, with an empty store on it.
    #[command(after_help = help::format())]
    Format(Box<store::FormatArgs>),
    /// Export chips as block devices over NBD.
    #[command(after_help = help::SERVE)]
    Serve(Box<store::ServeArgs>),
    /// Verify a chip without modifying it.
    #[command(after_help = help::CHECK)]
    Check(store::CheckArgs),
    /// Rebuild a chip's tables from its pages, and write a fresh checkpoint.
    Repair(store::ChipArgs),
    /// Show the state of a chip: space, wear, bad blocks, errors.
    Stat(store::ChipArgs),
    /// Ask a server that runs: stat, check, scrub, flush, policy, watermarks, drain, stop.
    #[command(after_help = help::CTL)]
    Ctl(store::CtlArgs),
    /// Show a served chip at work, on the terminal: write amplification, latency, a map of its blocks.
    Top(store::TopArgs),
    /// Copy a chip, served or not, to an image of its own.
    #[command(after_help = help::BACKUP)]
    Backup(store::BackupArgs),
    /// Copy what the block device holds to a raw file.
    Export(store::ExportArgs),
    /// Make an image with what a raw file or a block device holds.
    Import(Box<store::ImportArgs>),
    /// Make an image larger. It is replaced when the larger one is complete.
    Grow(store::GrowArgs),
    /// Show the contents of a chip: blocks, pages, out-of-band areas, mapping table, index log.
    #[command(after_help = help::DUMP)]
    Dump(store::DumpArgs),
    /// List the policies, with their sources and parameters.
    #[command(after_help = help::POLICIES)]
    Policies(catalogue::PoliciesArgs),
    /// List the devices, with their figures and the sources of these.
    #[command(after_help = help::DEVICES)]
    Devices(catalogue::DevicesArgs),
    /// List the workloads that can be generated.
    #[command(after_help = help::WORKLOADS)]
    Workloads(catalogue::WorkloadsArgs),
    /// List the keys of results, with their units and meanings.
    #[command(after_help = help::KEYS)]
    Keys(catalogue::KeysArgs),
    /// Show in which figures two files of results differ.
    #[command(after_help = help::DIFF)]
    Diff(catalogue::DiffArgs),
    /// Print a shell's completion script.
    #[command(after_help = help::COMPLETIONS)]
    Completions(catalogue::CompletionsArgs),
    /// Write the man pages, for `make install`.
    #[command(hide = true)]
    Man(catalogue::ManArgs),
}

/// The command line as clap knows it.
pub fn command() -> Clap {
    // Where results have no format of their own, `--format` is the trace's.
    let alias = |arg: Arg| arg.visible_alias("format");
    let reads = |command: Clap| command.mut_arg("trace_format", alias);
    // `watch` makes one form of results only.
    let forms = |watch: Clap| {
        ["format", "json", "markdown"]
            .into_iter()
            .fold(watch, |watch, name| watch.mut_arg(name, |arg| arg.hide(true)))
    };
    // What is printed of one comparison is not printed of a fleet.
    let unprinted = |arg: Arg| match arg.get_id() == "per_volume" {
        true => arg.conflicts_with_all(["metrics", "sort"]),
        false => arg,
    };
    let fleet = |command: Clap| match command.get_name() == "compare" {
        true => command.mut_args(unprinted),
        false => command,
    };
    let all = Cli::command();
    let all = all.mut_subcommand("run", |run| with_files(run, "input", false));
    let all = all.mut_subcommand("watch", |watch| with_files(watch, "input", false));
    let all = all.mut_subcommand("predict", |predict| with_files(predict, "input", false));
    let all = all.mut_subcommand("compare", |compare| with_files(compare, "inputs", true));
    let all = all.mut_subcommands(fleet).mut_subcommand("watch", forms);
    all.mut_subcommand("trace", |trace| {
        trace
            .mut_subcommand("info", reads)
            .mut_subcommand("convert", reads)
            .mut_subcommand("split", reads)
    })
}

/// The command with traces by their names alone, beside those by `--trace`.
fn with_files(command: Clap, group: &'static str, several: bool) -> Clap {
    let files = Arg::new(FILES).value_name("FILE").help("Trace to replay, as by --trace.");
    let files = files.value_parser(value_parser!(PathBuf)).value_hint(ValueHint::FilePath);
    let files = match several {
        true => files.action(ArgAction::Append).num_args(1..),
        false => files.action(ArgAction::Set),
    };
    command.arg(files).mut_group(group, |group| group.arg(FILES))
}

/// What the user asked for.
pub fn parse() -> Result<Cli, clap::Error> {
    parse_from(&mut command(), std::env::args_os())
}

/// What these arguments ask for, the program's name first.
pub fn parse_from<T: Into<OsString> + Clone>(
    command: &mut Clap,
    arguments: impl IntoIterator<Item = T>,
) -> Result<Cli, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let arguments = config::with_file(command, arguments)?;
    let matches = command.try_get_matches_from_mut(&arguments).map_err(|error| {
        let words: Vec<_> =
            arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        teach::taught(command, words.get(1..).unwrap_or_default(), error)
    })?;
    kinds::check(command, &matches)?;
    let mut cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(command))?;
    let files = || {
        let (_, matches) = matches.subcommand()?;
        Some(matches.get_many::<PathBuf>(FILES)?.cloned())
    };
    match &mut cli.command {
        Command::Run(run) => {
            run.one.input.trace = run.one.input.trace.take().or_else(|| files()?.next())
        }
        Command::Predict(predict) => {
            predict.one.input.trace = predict.one.input.trace.take().or_else(|| files()?.next())
        }
        Command::Identify(identify) => {
            if let Some((_, own)) = matches.subcommand() {
                identify.runs = identify::RunArgs::of(own);
            }
        }
        Command::Watch(watch) => {
            watch.input.trace = watch.input.trace.take().or_else(|| files()?.next())
        }
        Command::Compare(compare) => {
            compare.many.inputs.trace.extend(files().into_iter().flatten())
        }
        _ => {}
    }
    Ok(cli)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
