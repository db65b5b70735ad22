//! Settings: the options of `thermocline run` and `thermocline compare`, in one place for all doors.
//!
//! Clap understands them, names them and explains them. A door that has no command line makes words of what
//! it was given (`--over-provisioning=15%`), and has the same checks and messages.

pub mod cleaning;
pub mod compare;
pub mod device;
pub mod generate;
pub mod input;
pub mod kinds;
pub mod reading;
pub mod run;
pub mod simulation;
pub mod sweep;
pub mod transform;
pub mod values;

use std::ffi::OsString;

use clap::{Args, Command, FromArgMatches};
use thermocline_sim::SimError;

use self::{compare::CompareSettings, generate::GeneratorArgs, run::RunSettings};

/// The program, for messages that say where more is to be read.
const PROGRAM: &str = "thermocline";

impl RunSettings {
    /// Understands words: `--trace=disk.csv`, `--policy=dac`.
    ///
    /// # Errors
    /// [`SimError::Usage`] with what is wrong and what to write.
    pub fn parse<T: Into<OsString> + Clone>(
        words: impl IntoIterator<Item = T>,
    ) -> Result<Self, SimError> {
        understand("run", words)
    }
}

impl CompareSettings {
    /// Understands words: `--trace=disk.csv`, `--policies=greedy,dac`.
    ///
    /// # Errors
    /// [`SimError::Usage`] with what is wrong and what to write.
    pub fn parse<T: Into<OsString> + Clone>(
        words: impl IntoIterator<Item = T>,
    ) -> Result<Self, SimError> {
        understand("compare", words)
    }
}

impl GeneratorArgs {
    /// Understands words: `--span=1GiB`, `--seed=2`.
    ///
    /// # Errors
    /// [`SimError::Usage`] with what is wrong and what to write.
    pub fn parse<T: Into<OsString> + Clone>(
        words: impl IntoIterator<Item = T>,
    ) -> Result<Self, SimError> {
        understand("generate", words)
    }
}

fn understand<S: Args + FromArgMatches, T: Into<OsString> + Clone>(
    name: &'static str,
    words: impl IntoIterator<Item = T>,
) -> Result<S, SimError> {
    let usage = |error: clap::Error| SimError::Usage(one_line(&error.render().to_string()));
    let mut command = command_of::<S>(name);
    let line = [PROGRAM, name].map(OsString::from).into_iter();
    let matches = command.try_get_matches_from_mut(line.chain(words.into_iter().map(Into::into)));
    let matches = matches.map_err(usage)?;
    let Some((_, matches)) = matches.subcommand() else { unreachable!("it is required") };
    let Some(command) = command.find_subcommand_mut(name) else { unreachable!("it was made so") };
    if command.get_arguments().any(|arg| arg.get_id() == "trace") {
        kinds::check(command, matches).map_err(usage)?;
    }
    S::from_arg_matches(matches).map_err(|error| usage(error.format(command)))
}

fn command_of<S: Args>(name: &'static str) -> Command {
    let settings = S::augment_args(Command::new(name)).disable_help_flag(true);
    Command::new(PROGRAM)
        .subcommand(settings)
        .subcommand_required(true)
        .disable_help_subcommand(true)
}

/// An option, as its help explains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its name, without dashes.
    pub name: String,
    /// What it means.
    pub help: String,
    /// What its value is called; none if it is a flag.
    pub value: Option<String>,
    /// Its value where it is left out, if that is one.
    pub default: Option<String>,
    /// Whether it may be given several times.
    pub repeats: bool,
    /// What it belongs to.
    pub heading: String,
}

/// The options of a run.
#[must_use]
pub fn of_run() -> Vec<OptionInfo> {
    options::<RunSettings>()
}

/// The options of a comparison.
#[must_use]
pub fn of_compare() -> Vec<OptionInfo> {
    options::<CompareSettings>()
}

fn options<S: Args>() -> Vec<OptionInfo> {
    let command = S::augment_args(Command::new(PROGRAM));
    let option = |arg: &clap::Arg| {
        let takes_values = arg.get_action().takes_values();
        let value = arg.get_value_names().and_then(|names| names.first());
        let default = arg.get_default_values().first();
        Some(OptionInfo {
            name: arg.get_long()?.to_owned(),
            help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
            value: value.filter(|_| takes_values).map(ToString::to_string),
            default: default
                .filter(|_| takes_values)
                .map(|default| default.to_string_lossy().into_owned()),
            repeats: matches!(arg.get_action(), clap::ArgAction::Append),
            heading: arg.get_help_heading().unwrap_or_default().to_owned(),
        })
    };
    command.get_arguments().filter_map(option).collect()
}

/// Clap's message without its layout: the problem and its tips, not the usage.
#[must_use]
pub fn one_line(rendered: &str) -> String {
    let text = rendered.strip_prefix("error: ").unwrap_or(rendered);
    let (text, usage) = text.split_once("\nUsage: ").unwrap_or((text, ""));
    let text = text.split("\nFor more information").next().unwrap_or(text);
    let mut parts: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n") {
        let words: Vec<_> = paragraph.split_whitespace().collect();
        let words = words.join(" ").replace(" tip: ", "; ");
        if !words.is_empty() {
            parts.push(words.strip_prefix("tip: ").unwrap_or(&words).to_owned());
        }
    }
    // The usage begins with the command in question, before its first option or value.
    let command: Vec<_> = usage
        .split_whitespace()
        .take_while(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect();
    if !command.is_empty() {
        parts.push(format!("see `{} --help`", command.join(" ")));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_errors_are_one_line() {
        let unknown = "error: unexpected argument '--polic' found\n\n  tip: a similar argument \
                       exists: '--policy'\n\nUsage: thermocline run --policy <NAME>\n\nFor more \
                       information, try '--help'.\n";
        assert_eq!(
            one_line(unknown),
            "unexpected argument '--polic' found; a similar argument exists: '--policy'; see \
             `thermocline run --help`"
        );
        let missing = "error: the following required arguments were not provided:\n  <SHELL>\n\n\
                       Usage: thermocline completions <SHELL>\n\nFor more information, try \
                       '--help'.\n";
        assert_eq!(
            one_line(missing),
            "the following required arguments were not provided: <SHELL>; see `thermocline \
             completions --help`"
        );
    }
}
