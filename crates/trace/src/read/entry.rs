//! An entry of the format registry.

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
    /// The name for `--format`.
    pub(crate) name: &'static str,
    /// One line: what it is, and its units.
    pub(crate) about: &'static str,
    /// Who defines it, or where such traces come from.
    pub(crate) source: &'static str,
    /// Rare properties.
    pub(crate) special: Special,
    /// Whether a trace with this beginning has this format.
    pub(crate) detect: fn(&Sample<'_>) -> Option<Hit>,
    /// Opens the files of a trace, each with its own reader, in order.
    pub(crate) open: fn(Setup) -> Result<Readers, TraceError>,
}

/// Checks the argument of a format.
type CheckArgument = fn(&str) -> Result<(), TraceError>;

/// Properties that few formats have.
pub(crate) struct Special {
    /// The operation is a 0/1 column, for which both conventions exist.
    pub(crate) zero_one: bool,
    /// Checks the argument after the name, `columns:…`. Without it the format takes none.
    pub(crate) argument: Option<CheckArgument>,
    /// A trace has several files, given by a directory or a common prefix.
    pub(crate) parts: Option<Parts>,
    /// The device profile of such traces, if the format determines it.
    pub(crate) device: Option<&'static str>,
    /// Times are dates by definition: such as are none were written in another unit, or count from elsewhere.
    pub(crate) dated: bool,
}

impl Special {
    /// No special properties.
    pub(crate) const NONE: Special =
        Special { zero_one: false, argument: None, parts: None, device: None, dated: false };
}

/// How the files of one trace are found.
pub(crate) struct Parts {
    /// Their name in messages.
    pub(crate) named: &'static str,
    /// The files of a directory or a prefix, in order.
    pub(crate) find: fn(&Path) -> io::Result<Vec<PathBuf>>,
}

/// The readers of the files of a trace.
pub(crate) type Readers = Vec<Box<dyn Decode>>;

/// The arguments for opening readers.
pub(crate) struct Setup {
    /// The files, with their first 64 KiB in memory.
    pub(crate) inputs: Vec<Input>,
    /// The checked argument of the format.
    pub(crate) argument: Option<String>,
    /// The event that represents a request, if given by the user.
    pub(crate) action: Option<Action>,
    /// The unit of times, if given by the user. Readers of rows take it from the context.
    #[cfg_attr(
        not(feature = "tables"),
        expect(dead_code, reason = "readers of columns ask before rows")
    )]
    pub(crate) time_unit: Option<TimeUnit>,
    /// Whether to keep the data of requests.
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

/// A kind of file that is detected in order to refuse it with a helpful message.
pub(crate) struct Refused {
    /// Whether a file with this beginning is of this kind.
    pub(crate) detect: fn(&Sample<'_>) -> bool,
    /// What it is, and why it cannot be read.
    pub(crate) what: &'static str,
    /// What to do instead.
    pub(crate) remedy: &'static str,
}
