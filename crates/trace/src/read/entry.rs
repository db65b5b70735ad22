//! A row of the registry: all that the readers know of one format.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    action::Action,
    decode::Decode,
    input::Input,
    layout::{Columns, Layout},
    lines::{LineFormat, Lines},
    sample::{Hit, Sample},
    units::TimeUnit,
};
use crate::TraceError;

/// A format.
pub(crate) struct Entry {
    /// The name `--format` takes.
    pub(crate) name: &'static str,
    /// One line: what it is, and its units.
    pub(crate) about: &'static str,
    /// Who defines it, or where such traces come from.
    pub(crate) source: &'static str,
    /// What sets it apart from most formats.
    pub(crate) special: Special,
    /// Whether a trace that begins so is of this format.
    pub(crate) detect: fn(&Sample<'_>) -> Option<Hit>,
    /// Opens the files of a trace, each with a reader of its own, in their order.
    pub(crate) open: fn(Setup) -> Result<Readers, TraceError>,
}

/// Checks the argument of a format.
type CheckArgument = fn(&str) -> Result<(), TraceError>;

/// Properties that few formats have.
pub(crate) struct Special {
    /// The operation is a 0/1 column, which people write both ways round.
    pub(crate) zero_one: bool,
    /// Checks the argument after the name, `columns:…`; without it the format takes none.
    pub(crate) argument: Option<CheckArgument>,
    /// Such a trace is several files, which a directory or a common prefix stands for.
    pub(crate) parts: Option<Parts>,
    /// The kind of device that such traces were recorded on, where the format tells: a profile's name.
    pub(crate) device: Option<&'static str>,
    /// Times are dates by definition: such as are none were written in another unit, or count from elsewhere.
    pub(crate) dated: bool,
}

impl Special {
    /// Nothing out of the ordinary.
    pub(crate) const NONE: Special =
        Special { zero_one: false, argument: None, parts: None, device: None, dated: false };
}

/// How the files of one trace are found.
pub(crate) struct Parts {
    /// What they are called, for messages.
    pub(crate) named: &'static str,
    /// The files that a directory, or a prefix of their names, stands for; in their order.
    pub(crate) find: fn(&Path) -> io::Result<Vec<PathBuf>>,
}

/// The readers of the files of a trace.
pub(crate) type Readers = Vec<Box<dyn Decode>>;

/// What readers are made from.
pub(crate) struct Setup {
    /// The files; their first 64 KiB are at hand.
    pub(crate) inputs: Vec<Input>,
    /// The argument of the format, checked.
    pub(crate) argument: Option<String>,
    /// The event that is to stand for a request, if the user says so.
    pub(crate) action: Option<Action>,
    /// The unit of times, if the user says so; the context has it for whoever reads a row.
    #[cfg_attr(
        not(feature = "tables"),
        expect(dead_code, reason = "readers of columns ask before rows")
    )]
    pub(crate) time_unit: Option<TimeUnit>,
    /// Whether to keep what requests wrote and read.
    pub(crate) contents: bool,
}

impl Setup {
    /// Readers of rows.
    pub(crate) fn columns(self, layout: Layout) -> Result<Readers, TraceError> {
        self.lines(|_| Columns::new(layout.clone()))
    }

    /// Readers of lines.
    pub(crate) fn lines<F: LineFormat + 'static>(
        self,
        format: impl Fn(&Input) -> F,
    ) -> Result<Readers, TraceError> {
        self.each(|input| {
            let format = format(&input);
            Ok(Lines::new(input, format))
        })
    }

    /// Readers of any kind.
    pub(crate) fn each<D: Decode + 'static>(
        self,
        open: impl Fn(Input) -> Result<D, TraceError>,
    ) -> Result<Readers, TraceError> {
        let boxed = |reader| Box::new(reader) as Box<dyn Decode>;
        self.inputs.into_iter().map(|input| open(input).map(boxed)).collect()
    }
}

/// A kind of file that is recognised in order to be refused, with words that help.
pub(crate) struct Refused {
    /// Whether a file that begins so is of this kind.
    pub(crate) detect: fn(&Sample<'_>) -> bool,
    /// What it is, and why it cannot be read.
    pub(crate) what: &'static str,
    /// What to do instead.
    pub(crate) remedy: &'static str,
}
