//! A trace format with its name.

use std::{fmt, str::FromStr};

use super::{
    entry::{Entry, Readers, Setup},
    formats::REGISTRY,
};
use crate::TraceError;

/// A trace format: an entry of the registry, with its argument if it takes one.
#[derive(Clone)]
pub struct Format {
    entry: &'static Entry,
    argument: Option<String>,
}

impl Format {
    /// All formats, in the order they are listed to users.
    pub fn all() -> impl ExactSizeIterator<Item = Format> {
        REGISTRY.iter().map(Format::of)
    }

    /// Its name, such as `msr`.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// One line: what it is, and its units.
    pub fn about(&self) -> &'static str {
        self.entry.about
    }

    /// Who defines it, or where such traces come from.
    pub fn source(&self) -> &'static str {
        self.entry.source
    }

    /// The device profile nearest to that of such traces, if the format determines it.
    pub fn device(&self) -> Option<&'static str> {
        self.entry.special.device
    }

    /// Its argument: the description of columns.
    pub fn argument(&self) -> Option<&str> {
        self.argument.as_deref()
    }

    pub(crate) fn of(entry: &'static Entry) -> Format {
        Format { entry, argument: None }
    }

    pub(crate) fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Opens the files of a trace. `setup` has no argument yet.
    pub(crate) fn open(&self, setup: Setup) -> Result<Readers, TraceError> {
        (self.entry.open)(Setup { argument: self.argument.clone(), ..setup })
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({self})")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.argument {
            Some(argument) => write!(f, "{}:{argument}", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

impl FromStr for Format {
    type Err = TraceError;

    /// Parses a name of [`Format::all`], followed by `:` and an argument if the format takes one.
    fn from_str(text: &str) -> Result<Format, TraceError> {
        let (name, argument) = match text.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        let entry = REGISTRY.iter().find(|entry| entry.name == name);
        match (entry.map(|entry| (entry, entry.special.argument)), argument) {
            (Some((entry, Some(check))), argument) => {
                let argument = argument.unwrap_or_default();
                check(argument)?;
                Ok(Format { entry, argument: Some(argument.to_owned()) })
            }
            (Some((entry, None)), None) => Ok(Format::of(entry)),
            _ => Err(TraceError::usage(
                format!("{text:?} is no trace format"),
                format!(
                    "say one of {}",
                    REGISTRY.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
                ),
            )),
        }
    }
}
