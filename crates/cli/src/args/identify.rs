//! The arguments of `identify`: options after a `--measured` belong to that measurement.

use std::path::PathBuf;

use clap::{ArgMatches, Args, ValueHint};
use thermocline_study::settings::device::{PRECONDITION, PreconditionArg};

use super::{settings::choice, values};

const RUNS: &str = "Measurements";
const DRIVE: &str = "Drive";

/// The arguments of `identify`.
#[derive(Args, Debug)]
pub struct IdentifyArgs {
    /// Measurement: a file of `thermocline measured`, or anything that `measured import` reads. Repeat for several;
    /// the options below belong to the measurement before them, and to all if they stand before the first.
    #[arg(long, value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    #[arg(help_heading = RUNS)]
    pub measured: Vec<PathBuf>,
    /// Workload that ran meanwhile, such as zipf:0.8 (`thermocline workloads` lists them).
    #[arg(long, value_name = "SPEC", help_heading = RUNS)]
    pub workload: Vec<String>,
    /// Trace of what ran meanwhile.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = RUNS)]
    pub trace: Vec<PathBuf>,
    /// Bytes of each request of the workload [default: a page].
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = RUNS)]
    pub request: Vec<u64>,
    /// How the drive was written before [default: whichever fits best].
    #[arg(long, value_name = "HOW", value_parser = choice(PRECONDITION), help_heading = RUNS)]
    pub preconditioned: Vec<PreconditionArg>,
    /// First part of the capacity that was used; the rest was trimmed [default: all of it].
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = RUNS)]
    pub used: Vec<u64>,
    /// Bytes that the host can address, as the drive says (`lsblk -b`).
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = DRIVE)]
    #[arg(required_unless_present = "device")]
    pub exports: Option<u64>,
    /// Profile or TOML file with what else is known of the drive: its capacity, times, endurance.
    #[arg(long, value_name = "NAME|FILE", help_heading = DRIVE)]
    pub device: Option<String>,
    /// Name of the drive in the profile that is written.
    #[arg(long, value_name = "NAME", default_value = "fitted", help_heading = DRIVE)]
    pub name: String,
    /// What the drive programs beside its pages, as a share, where it is known [default: what shows where nothing is
    /// copied].
    #[arg(long, value_name = "SHARE", value_parser = values::share, help_heading = DRIVE)]
    pub overhead: Option<f64>,
    /// Families to try: presets, or VICTIM+PLACEMENT [default: one log and survivors apart with four victim policies;
    /// cat, dac, sep-bit, midas, multi-log].
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Search")]
    pub families: Vec<String>,
    /// Pages of the simulated drives: more take longer, and follow the drive closer.
    #[arg(long, value_name = "N", default_value_t = 96 << 10, help_heading = "Search")]
    #[arg(value_parser = clap::value_parser!(u64).range(4096..))]
    pub pages: u64,
    /// Seed of all simulations; one seed gives one result.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
    pub seed: u64,
    /// Number of threads; 0 is one per core. Results do not depend on it.
    #[arg(long, short = 'j', value_name = "N", default_value_t = 0, help_heading = "Search")]
    pub threads: usize,
    /// Write the drive as a profile that --device of run, compare, sweep and predict takes.
    #[arg(long, short, value_name = "TOML", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Write a page as well, with measured and simulated curves on one chart.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// What belongs to each measurement.
    #[arg(skip)]
    pub runs: Vec<RunArgs>,
}

/// What belongs to a measurement.
#[derive(Clone, Debug, Default)]
pub struct RunArgs {
    pub measured: PathBuf,
    pub workload: Option<String>,
    pub trace: Option<PathBuf>,
    pub request: Option<u64>,
    pub preconditioned: Option<PreconditionArg>,
    pub used: Option<u64>,
}

impl RunArgs {
    /// The measurements of a command line, each with its options.
    pub fn of(matches: &ArgMatches) -> Vec<Self> {
        fn each<T: Clone + Send + Sync + 'static>(
            matches: &ArgMatches,
            id: &str,
        ) -> Vec<(usize, T)> {
            let places = matches.indices_of(id).into_iter().flatten();
            places.zip(matches.get_many::<T>(id).into_iter().flatten().cloned()).collect()
        }
        let measured = each::<PathBuf>(matches, "measured");
        let last = |place: usize, next: usize| {
            fn within<T: Clone>(all: &[(usize, T)], from: usize, to: usize) -> Option<T> {
                let own = all.iter().rev().find(|(at, _)| (from..to).contains(at));
                own.map(|(_, value)| value.clone())
            }
            let first = measured.first().map_or(0, |(at, _)| *at);
            macro_rules! own {
                ($id:literal, $kind:ty) => {{
                    let all = each::<$kind>(matches, $id);
                    within(&all, place, next).or_else(|| within(&all, 0, first))
                }};
            }
            Self {
                measured: PathBuf::new(),
                workload: own!("workload", String),
                trace: own!("trace", PathBuf),
                request: own!("request", u64),
                preconditioned: own!("preconditioned", PreconditionArg),
                used: own!("used", u64),
            }
        };
        let next = |at: usize| measured.get(at + 1).map_or(usize::MAX, |(place, _)| *place);
        let run = |(at, (place, file)): (usize, &(usize, PathBuf))| Self {
            measured: file.clone(),
            ..last(*place, next(at))
        };
        measured.iter().enumerate().map(run).collect()
    }
}
