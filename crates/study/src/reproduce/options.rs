//! From the settings of a run to the arguments of `thermocline run`.

use std::{ffi::OsString, path::PathBuf};

use thermocline_papers::{Run, Setting, Text};
use thermocline_sim::SimError;
use thermocline_sweep::quoted;

use super::choice::{Beside, Chosen};
use crate::{Door, settings::run::RunSettings};

/// Options that say where results go, or how the work is done; that is ours to decide.
const NOT_OF_EXPERIMENTS: [&str; 12] = [
    "delays",
    "format",
    "help",
    "json",
    "markdown",
    "no-progress",
    "output",
    "plots",
    "quiet",
    "report",
    "threads",
    "version",
];

/// The variable that names the folders of traces, as `PATH` names those of programs.
const VARIABLE: &str = "THERMOCLINE_TRACES";

/// The folders of traces: the option's, or the variable's.
pub fn traces(given: &[PathBuf]) -> Vec<PathBuf> {
    let variable = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    match given {
        [] => variable().map_or(Vec::new(), |value| std::env::split_paths(&value).collect()),
        given => given.to_vec(),
    }
}

/// How to run something.
pub enum Runnable {
    /// With these arguments, which this command gives.
    As(Box<RunSettings>, String),
    /// Not at all: an input is not there.
    Missing(String),
}

/// Arguments, and the same for a shell.
struct Line {
    arguments: Vec<OsString>,
    shown: String,
    missing: Option<String>,
}

/// What turns settings into arguments.
pub struct Options<'a> {
    chosen: &'a [Chosen],
    traces: Vec<PathBuf>,
    beside: Beside,
}

impl<'a> Options<'a> {
    /// For runs of these papers, with traces in these folders.
    pub fn new(chosen: &'a [Chosen], traces: Vec<PathBuf>) -> Self {
        Self { chosen, traces, beside: Beside::default() }
    }

    /// The command that makes a run.
    pub fn command(&mut self, run: &Run) -> Result<String, SimError> {
        Ok(self.line(run)?.shown)
    }

    /// The arguments as `thermocline run` would understand them.
    pub fn arguments(&mut self, run: &Run) -> Result<Runnable, SimError> {
        let line = self.line(run)?;
        if let Some(why) = line.missing {
            return Ok(Runnable::Missing(why));
        }
        let settings = RunSettings::parse(line.arguments);
        let settings = settings.map_err(|e| failed(&run.wanted_by, &line.shown, e))?;
        Ok(Runnable::As(Box::new(settings), line.shown))
    }

    fn line(&mut self, run: &Run) -> Result<Line, SimError> {
        let begin = ["thermocline", "run"];
        let mut line = Line { arguments: Vec::new(), shown: begin.join(" "), missing: None };
        for (name, setting) in &run.settings {
            if NOT_OF_EXPERIMENTS.contains(&name.as_str()) {
                return Err(SimError::Input(format!(
                    "{}: the option `{name}` is not for experiments; leave it out",
                    run.wanted_by
                )));
            }
            let option = format!("--{name}");
            let texts = match setting {
                Setting::Flag(false) => continue,
                Setting::Flag(true) => {
                    line.add(&option, None, option.clone());
                    continue;
                }
                Setting::One(text) => std::slice::from_ref(text),
                Setting::Many(texts) => texts,
            };
            for text in texts {
                let (value, shown) = self.value(text, &mut line.missing)?;
                line.add(&option, Some(value), shown);
            }
        }
        Ok(line)
    }

    /// A value as the option takes it, and as a shell does.
    fn value(
        &mut self,
        text: &Text,
        missing: &mut Option<String>,
    ) -> Result<(OsString, String), SimError> {
        Ok(match text {
            Text::Plain(text) => (text.into(), quoted(text)),
            Text::Beside { folder, file } => {
                let path = self.beside.path(self.chosen, folder, file)?;
                (path.into(), quoted(&format!("{folder}/{file}")))
            }
            Text::Trace(file) => {
                let mut paths = self.traces.iter().map(|folder| folder.join(file));
                match paths.find(|path| path.is_file()) {
                    Some(path) => {
                        let shown = quoted(&path.display().to_string());
                        (path.into(), shown)
                    }
                    None => {
                        *missing = Some(match self.traces[..] {
                            [] => format!(
                                "{file} is not there; name the folder of traces with ‹traces›"
                            ),
                            _ => format!("{file} is in none of the folders of traces"),
                        });
                        (file.into(), format!("\"${VARIABLE}\"/{}", quoted(file)))
                    }
                }
            }
        })
    }
}

impl Line {
    fn add(&mut self, option: &str, value: Option<OsString>, shown: String) {
        match value {
            None => {
                self.arguments.push(option.into());
                self.shown = format!("{} {shown}", self.shown);
            }
            // As one argument, for values that begin with a dash.
            Some(value) => {
                let mut argument = OsString::from(format!("{option}="));
                argument.push(value);
                self.arguments.push(argument);
                let between = if shown.starts_with('-') { '=' } else { ' ' };
                self.shown = format!("{} {option}{between}{shown}", self.shown);
            }
        }
    }
}

/// An error of a run, with who wanted it and its command. What is wrong with a run is wrong in the file.
pub fn failed(wanted_by: &str, command: &str, error: SimError) -> SimError {
    let text = |error: &SimError| {
        let error = error.to_string();
        format!("{wanted_by}: {}; the command is: {command}", Door::Toml.words(&error))
    };
    match error {
        SimError::Interrupted => SimError::Interrupted,
        SimError::Failed(_) | SimError::Memory(_) | SimError::Policy(_) => {
            SimError::Failed(text(&error))
        }
        SimError::Broken(_) => SimError::Broken(text(&error)),
        SimError::Usage(_) | SimError::Input(_) | SimError::Trace(_) => {
            SimError::Input(text(&error))
        }
    }
}
