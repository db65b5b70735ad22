//! The settings of a sweep: those of a run, with lists of values.

use std::path::PathBuf;

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches,
    builder::{Resettable, ValueParser},
    parser::ValueSource,
};
use thermocline_sweep::Condition;

use super::run::RunSettings;

/// The option that says how the work is done.
const NOT_SWEPT: &str = "threads";
/// Options whose values have commas: each time the option is given is a value.
const REPEATED: [&str; 5] = ["trace", "workload", "columns", "trace-format", "ops"];
/// Options that together are one value.
const TOGETHER: [&str; 1] = ["volume"];

/// What a sweep is made of.
#[derive(Debug)]
pub struct SweepSettings {
    /// A TOML file of settings; those of `swept` come before those in it.
    pub file: Option<PathBuf>,
    /// Everything with this many seeds, from the one given on.
    pub seeds: u64,
    /// Search the one range without steps for the value at which this begins to hold.
    pub until: Option<Condition>,
    /// The step between the values that the search may choose.
    pub tolerance: Option<String>,
    /// Lists of values.
    pub swept: Swept,
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

impl Given {
    /// An option with texts as people write them. With `listed` each is a value and stands for itself;
    /// otherwise a text may be a list or a range of them.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(option: &str, texts: Vec<String>, listed: bool) -> Result<Self, &'static str> {
        let kind =
            Swept::kind(option).ok_or("is no option of `thermocline run` that can be varied")?;
        if (kind == Kind::Flag) != texts.is_empty() {
            return Err(match kind {
                Kind::Flag => "is a flag: write true, or leave it out",
                _ => "needs a value",
            });
        }
        let kind = if listed && kind == Kind::List { Kind::Values } else { kind };
        Ok(Self { option: option.to_owned(), kind, texts })
    }
}

impl Swept {
    /// The file of settings, where it stands behind the traces and was taken for one.
    pub fn take_file(&mut self) -> Option<PathBuf> {
        let traces = self.0.iter_mut().find(|given| given.option == "trace")?;
        let last = traces.texts.last().filter(|text| text.ends_with(".toml"))?;
        let file = PathBuf::from(last);
        traces.texts.pop();
        if traces.texts.is_empty() {
            self.0.retain(|given| given.option != "trace");
        }
        Some(file)
    }

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
    let run = RunSettings::augment_args(Command::new("run"));
    let options: Vec<_> = run.get_arguments().cloned().collect();
    options.into_iter().filter(|arg| arg.get_long().is_some_and(|name| name != NOT_SWEPT))
}

/// As above, with lists of values, which are understood when a single simulation is made of them.
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
    // As a shell writes them: `--trace *.csv`.
    let many = if kind_of(&arg) == Kind::Values && arg.get_long() == Some("trace") {
        1..=usize::MAX
    } else {
        1..=1
    };
    arg.value_parser(ValueParser::string())
        .num_args(many)
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
