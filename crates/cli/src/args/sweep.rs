//! The arguments of `sweep`: the options of `run`, with lists of values.

use std::path::PathBuf;

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, ValueEnum, ValueHint,
    builder::{Resettable, ValueParser},
    parser::ValueSource,
};
use thermocline_sweep::{Condition, Shard};

use super::{pictures::PictureArgs, run::RunArgs};

const RUNNING: &str = "Running";
const OUTPUT: &str = "Output";
const SEARCH: &str = "Search";

/// Options of `run` that say where results go, or how the work is done.
const NOT_SWEPT: [&str; 8] =
    ["delays", "format", "json", "markdown", "output", "plots", "report", "threads"];
/// Options whose values have commas: each time the option is given is a value.
const REPEATED: [&str; 5] = ["trace", "workload", "columns", "trace-format", "ops"];
/// Options that together are one value.
const TOGETHER: [&str; 1] = ["volume"];

/// The arguments of `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// TOML file of settings: `policy = "greedy,cat"`; options given here come before those in it.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Run everything with so many seeds, from --seed on.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = RUNNING)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Number of simulations at a time; 0 is one per core. Results do not depend on it.
    #[arg(long, visible_alias = "threads", short, value_name = "N", default_value_t = 0)]
    #[arg(help_heading = RUNNING)]
    pub jobs: usize,
    /// Folder that keeps every result: what is in it is not computed again, whatever sweep asks for it
    /// [default: OUTPUT.store beside the output, thermocline.store without one].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = RUNNING)]
    pub store: Option<PathBuf>,
    /// Only this part of the rows, as in 3/16; the parts one behind another are the whole.
    #[arg(long, value_name = "N/OF", help_heading = RUNNING, conflicts_with = "until")]
    pub shard: Option<Shard>,
    /// Search the one range without steps (2%..60%) for the value at which this begins to hold, as in
    /// 'write_amplification<=1.5'; the key is one of docs/results.md.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse, help_heading = SEARCH)]
    pub until: Option<Condition>,
    /// How close the search comes: the step between the values it may choose [default: a power of
    /// ten, at most a hundredth of the range].
    #[arg(long, value_name = "STEP", requires = "until", help_heading = SEARCH)]
    pub tolerance: Option<String>,
    /// Form of the table.
    #[arg(long, value_name = "FORM", default_value = "csv", help_heading = OUTPUT)]
    pub format: TableFormat,
    /// File for the table [default: standard output; with --until none].
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub pictures: PictureArgs,
    #[command(flatten)]
    pub swept: Swept,
}

/// Forms of a table of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// A row a simulation.
    Csv,
    /// An object a line, as JSON.
    #[value(name = "jsonl")]
    JsonLines,
    /// For data frames.
    Parquet,
}

/// Options of `run`, in the order they were given.
#[derive(Clone, Debug, Default)]
pub struct Swept(pub Vec<Given>);

/// An option, as it was given.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its name.
    pub option: String,
    /// How its values are written.
    pub kind: Kind,
    /// The texts it was given.
    pub texts: Vec<String>,
}

/// How the values of an option are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It has none.
    Flag,
    /// Lists and ranges.
    List,
    /// Each text is a value.
    Values,
    /// All texts together are one value.
    One,
}

impl Swept {
    /// How the values of an option are written; nothing if `run` has no such option.
    pub fn kind(option: &str) -> Option<Kind> {
        let arg = options().find(|arg| arg.get_long() == Some(option))?;
        Some(kind_of(&arg))
    }
}

fn kind_of(arg: &Arg) -> Kind {
    let name = arg.get_long().unwrap_or_default();
    match name {
        _ if !arg.get_action().takes_values() => Kind::Flag,
        name if TOGETHER.contains(&name) => Kind::One,
        name if REPEATED.contains(&name) => Kind::Values,
        _ => Kind::List,
    }
}

/// The options of `run` that can be varied.
fn options() -> impl Iterator<Item = Arg> {
    let run = RunArgs::augment_args(Command::new("run"));
    let options: Vec<_> = run.get_arguments().cloned().collect();
    options.into_iter().filter(|arg| {
        arg.get_long().is_some_and(|name| !NOT_SWEPT.contains(&name) && name != "help")
    })
}

/// The same with lists of values, which are understood when a single simulation is made of them.
fn with_lists(arg: Arg) -> Arg {
    if kind_of(&arg) == Kind::Flag {
        return arg;
    }
    let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    let default = defaults.collect::<Vec<_>>().join(",");
    let shown = !arg.is_hide_possible_values_set();
    let possible = arg.get_possible_values().into_iter().filter(|_| shown);
    let names: Vec<_> = possible.map(|value| value.get_name().to_owned()).collect();
    let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    for (what, values) in [("default", default), ("possible values", names.join(", "))] {
        let is_told = what == "default" && help.contains("[default");
        if !values.is_empty() && !is_told {
            help += &format!(" [{what}: {values}]");
        }
    }
    arg.value_parser(ValueParser::string())
        .action(ArgAction::Append)
        .default_value(Resettable::Reset)
        .help(help)
}

impl Args for Swept {
    fn augment_args(command: Command) -> Command {
        command.args(options().map(with_lists))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Swept {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given: Vec<(usize, Given)> = Vec::new();
        for arg in options() {
            let id = arg.get_id().as_str();
            if matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            let kind = kind_of(&arg);
            let texts = match kind {
                Kind::Flag => Vec::new(),
                _ => matches.get_many::<String>(id).into_iter().flatten().cloned().collect(),
            };
            let option = arg.get_long().unwrap_or_default().to_owned();
            given.push((matches.index_of(id).unwrap_or(0), Given { option, kind, texts }));
        }
        given.sort_by_key(|(place, _)| *place);
        Ok(Self(given.into_iter().map(|(_, given)| given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
