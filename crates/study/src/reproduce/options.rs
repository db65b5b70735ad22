//! From the settings of an experiment's run to a spec, and to the command that makes it.

use std::path::PathBuf;

use thermocline_papers::{Run, Setting, Text};
use thermocline_sim::SimError;
use thermocline_sweep::{quoted, typed};

use super::choice::{Beside, Chosen};
use crate::{
    Door,
    settings::{run::RunSpec, table::Group},
};

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
    /// By this spec, which this command gives.
    As(Box<RunSpec>, String),
    /// An input is missing.
    Missing(String),
}

/// Settings, and their command line.
struct Line {
    given: Vec<(String, Option<String>)>,
    shown: String,
    missing: Option<String>,
}

/// Turns settings of experiments into specs.
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

    /// The spec of a run.
    pub fn spec(&mut self, run: &Run) -> Result<Runnable, SimError> {
        let line = self.line(run)?;
        if let Some(why) = line.missing {
            return Ok(Runnable::Missing(why));
        }
        let given = line.given.iter().map(|(name, value)| (&**name, value.as_deref()));
        let settings = RunSpec::of(given).map_err(SimError::from);
        let settings = settings.map_err(|e| failed(&run.wanted_by, &line.shown, e))?;
        Ok(Runnable::As(Box::new(settings), line.shown))
    }

    fn line(&mut self, run: &Run) -> Result<Line, SimError> {
        let begin = ["thermocline", "run"];
        let mut line = Line { given: Vec::new(), shown: begin.join(" "), missing: None };
        for (name, setting) in &run.settings {
            let texts = match setting {
                Setting::Flag(false) => continue,
                Setting::Flag(true) => {
                    line.add(name, None);
                    continue;
                }
                Setting::One(text) => std::slice::from_ref(text),
                Setting::Many(texts) => texts,
            };
            for text in texts {
                let (value, shown) = self.value(text, &mut line.missing)?;
                line.add(name, Some((value, shown)));
            }
        }
        Ok(line)
    }

    /// A value as the option takes it, and as a shell does.
    fn value(
        &mut self,
        text: &Text,
        missing: &mut Option<String>,
    ) -> Result<(String, String), SimError> {
        Ok(match text {
            Text::Plain(text) => (text.clone(), quoted(text)),
            Text::Beside { folder, file } => {
                let path = self.beside.path(self.chosen, folder, file)?;
                (path.display().to_string(), quoted(&format!("{folder}/{file}")))
            }
            Text::Trace(file) => {
                let mut paths = self.traces.iter().map(|folder| folder.join(file));
                match paths.find(|path| path.is_file()) {
                    Some(path) => {
                        let path = path.display().to_string();
                        let shown = quoted(&path);
                        (path, shown)
                    }
                    None => {
                        *missing = Some(match self.traces[..] {
                            [] => format!(
                                "{file} is not there; name the folder of traces with ‹traces›"
                            ),
                            _ => format!("{file} is in none of the folders of traces"),
                        });
                        (file.clone(), format!("\"${VARIABLE}\"/{}", quoted(file)))
                    }
                }
            }
        })
    }
}

impl Line {
    /// Adds a setting, with its value and how a shell has that.
    fn add(&mut self, name: &str, value: Option<(String, String)>) {
        let (value, shown) = value.unzip();
        self.shown = format!("{} {}", self.shown, typed(name, shown.as_deref()));
        self.given.push((name.to_owned(), value));
    }
}

/// An error of a run, with its experiment and its command. An error of a run is an error in the file.
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
        SimError::Usage(_) | SimError::Input(_) | SimError::TooSmall(_) | SimError::Trace(_) => {
            SimError::Input(text(&error))
        }
    }
}
