//! Settings as options of the command line: clap's view of the tables of [`thermocline_spec`].

use std::{
    ffi::OsStr,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    path::Path,
};

use clap::{
    Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, Error, FromArgMatches, ValueHint,
    builder::{
        PossibleValue, PossibleValuesParser, Resettable, StringValueParser, TypedValueParser,
        ValueParser,
    },
    error::ErrorKind,
    parser::ValueSource,
};
use thermocline_spec::{
    run::RunSpec,
    table::{Codec, Group, Info, Values},
    values::{Named, as_known, names},
};
use thermocline_study::{
    Door,
    settings::sweep::{Given, Kind, NOT_SWEPT, Swept},
};

/// Settings of a group, given as options.
#[derive(Debug)]
pub struct Of<G>(pub G);

impl<G> Deref for Of<G> {
    type Target = G;

    fn deref(&self) -> &G {
        &self.0
    }
}

impl<G> DerefMut for Of<G> {
    fn deref_mut(&mut self) -> &mut G {
        &mut self.0
    }
}

/// Groups of settings of which one must be given: clap's name, and whether several may.
const INPUTS: [(&str, &str, bool); 2] =
    [("OneInput", "input", false), ("ManyInputs", "inputs", true)];

/// The clap id of an option.
fn id(name: &str) -> String {
    name.replace('-', "_")
}

impl<G: Group> Args for Of<G> {
    fn augment_args(command: Command) -> Command {
        let table = G::table();
        let args = table.iter().enumerate().map(|(at, field)| arg::<G>(at, &field.info));
        let inputs = INPUTS.iter().filter_map(|(group, name, several)| {
            let ids = table.iter().filter(|field| field.info.group == *group);
            let ids: Vec<_> = ids.map(|field| id(field.info.name)).collect();
            let group = ArgGroup::new(*name).args(&ids).required(true).multiple(*several);
            (!ids.is_empty()).then_some(group)
        });
        command.args(args).groups(inputs)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<G: Group> FromArgMatches for Of<G> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut group = G::default();
        for field in G::table() {
            let id = id(field.info.name);
            if !is_given(matches, &id) {
                continue;
            }
            let texts: Vec<&str> = match field.info.value.is_empty() {
                true => field.info.alone.into_iter().collect(),
                false => {
                    matches.get_many::<String>(&id).into_iter().flatten().map(|t| &**t).collect()
                }
            };
            for text in texts {
                field
                    .set(&mut group, text)
                    .map_err(|why| Error::raw(ErrorKind::ValueValidation, why))?;
            }
        }
        Ok(Self(group))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Whether the user gave an option.
pub fn is_given(matches: &ArgMatches, id: &str) -> bool {
    matches.try_contains_id(id).unwrap_or(false)
        && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// The first setting of a group that was given.
pub fn first_given<G: Group>(matches: &ArgMatches) -> Option<&'static str> {
    let mut names = G::table().iter().map(|field| field.info.name);
    names.find(|name| is_given(matches, &id(name)))
}

/// A setting as an option.
fn arg<G: Group>(at: usize, info: &'static Info) -> Arg {
    let ids = |names: &[&str]| names.iter().map(|name| id(name)).collect::<Vec<_>>();
    let mut arg = Arg::new(id(info.name)).long(info.name).help(help(info));
    if !info.heading.is_empty() {
        arg = arg.help_heading(info.heading);
    }
    arg = arg.conflicts_with_all(ids(info.conflicts));
    if let Some(other) = info.requires {
        arg = arg.requires(id(other));
    }
    if let Some(letter) = info.short {
        arg = arg.short(letter);
    }
    if let Some(alias) = info.alias {
        arg = arg.visible_alias(alias);
    }
    if info.value.is_empty() {
        return arg.action(ArgAction::SetTrue);
    }
    if let Some(alone) = info.alone {
        arg = arg.num_args(0..=1).require_equals(true).default_missing_value(alone);
    }
    if let Some(default) = info.default {
        arg = arg.default_value(default);
    }
    let parser: ValueParser = match info.values {
        Values::Choices(_) | Values::Listed(_) => choices(info.values).into(),
        Values::Any | Values::Files | Values::Folders | Values::Names(_) => {
            Reader::<G>(at, PhantomData).into()
        }
    };
    let arg = match info.values {
        Values::Files => arg.value_hint(ValueHint::FilePath),
        Values::Folders => arg.value_hint(ValueHint::DirPath),
        Values::Names(_) => arg.hide_possible_values(true),
        Values::Any | Values::Choices(_) | Values::Listed(_) => arg,
    };
    let action = if info.repeats { ArgAction::Append } else { ArgAction::Set };
    arg.value_name(info.value).value_parser(parser).action(action).allow_hyphen_values(info.dashed)
}

fn help(info: &Info) -> String {
    Door::CommandLine.words(&info.help).into_owned()
}

/// Reads the values of a setting, and offers their names to shells.
struct Reader<G>(usize, PhantomData<fn() -> G>);

impl<G> Clone for Reader<G> {
    fn clone(&self) -> Self {
        Self(self.0, PhantomData)
    }
}

impl<G: Group> TypedValueParser for Reader<G> {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let field = &G::table()[self.0];
        let read = move |text: &str| {
            let set = field.set(&mut G::default(), text).map(|()| text.to_owned());
            set.map_err(|why| Door::CommandLine.words(&why).into_owned())
        };
        TypedValueParser::parse_ref(&read, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = G::table()[self.0].info.values.names();
        (!names.is_empty()).then(|| possible(names))
    }
}

/// Reads a choice of a setting, where an option of a command of its own takes it.
pub fn choice<T: Clone + Send + Sync + 'static>(
    codec: Codec<T>,
) -> impl TypedValueParser<Value = T> {
    let read = move |name: String| (codec.read)(&name).expect("a choice is a value");
    choices(codec.values).map(read)
}

fn choices(values: Values) -> PossibleValuesParser {
    let shown = |(name, help): (&'static str, &'static str)| {
        let help = help.trim().trim_end_matches('.');
        let value = PossibleValue::new(name);
        if help.is_empty() { value } else { value.help(help) }
    };
    PossibleValuesParser::new(values.names().into_iter().map(shown))
}

fn possible(named: Named) -> Box<dyn Iterator<Item = PossibleValue>> {
    Box::new(named.into_iter().map(|(name, about)| {
        let value = PossibleValue::new(name);
        if about.is_empty() { value } else { value.help(about) }
    }))
}

/// Takes any text, writes known names as they are known, and offers them to shells.
#[derive(Clone)]
pub struct Suggest(pub fn() -> Named);

impl TypedValueParser for Suggest {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let text = StringValueParser::new().parse_ref(command, arg, value)?;
        // A file may be called as it likes.
        if Path::new(&text).exists() {
            return Ok(text);
        }
        Ok(as_known(&text, &names((self.0)())))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(possible((self.0)()))
    }
}

/// Settings of a run with lists of values.
#[derive(Debug)]
pub struct SweptArgs(pub Swept);

/// The settings that can be varied, with their places in the table.
fn varied() -> impl Iterator<Item = (usize, &'static Info)> {
    let infos = RunSpec::table().iter().map(|field| &field.info).enumerate();
    infos.filter(|(_, info)| info.name != NOT_SWEPT)
}

impl Args for SweptArgs {
    fn augment_args(command: Command) -> Command {
        command.args(varied().map(|(at, info)| with_lists(arg::<RunSpec>(at, info), info)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// An option with lists of values, which are parsed when single simulations are made.
fn with_lists(arg: Arg, info: &Info) -> Arg {
    let kind = Kind::of(info);
    if kind == Kind::Flag {
        return arg;
    }
    let shown = match info.values {
        Values::Choices(_) | Values::Listed(_) => names(info.values.names()).join(", "),
        _ => String::new(),
    };
    let mut text = help(info);
    for (what, values) in
        [("default", info.default.unwrap_or_default()), ("possible values", &*shown)]
    {
        let is_told = what == "default" && text.contains("[default");
        if !values.is_empty() && !is_told {
            text += &format!(" [{what}: {values}]");
        }
    }
    // As a shell writes them: `--trace *.csv`.
    let many = if info.name == "trace" { 1..=usize::MAX } else { 1..=1 };
    arg.value_parser(ValueParser::string())
        .num_args(many)
        .action(ArgAction::Append)
        .default_value(Resettable::Reset)
        .help(text)
}

impl FromArgMatches for SweptArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given: Vec<(usize, Given)> = Vec::new();
        for (_, info) in varied() {
            let id = id(info.name);
            if !is_given(matches, &id) {
                continue;
            }
            let kind = Kind::of(info);
            let texts = match kind {
                Kind::Flag => Vec::new(),
                _ => matches.get_many::<String>(&id).into_iter().flatten().cloned().collect(),
            };
            let place = matches.index_of(&id).unwrap_or(0);
            given.push((place, Given { option: info.name.to_owned(), kind, texts }));
        }
        given.sort_by_key(|(place, _)| *place);
        Ok(Self(Swept(given.into_iter().map(|(_, given)| given).collect())))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
