//! An error in one line or record, to which the reader adds its position.

use std::path::Path;

use crate::{Place, TraceError};

/// The remedy for an invalid line.
pub(crate) const MEND: &str = "mend the line, or skip bad lines with ‹skip-bad-lines›";

/// An error. Boxed in results, so that valid lines do not pay for it.
#[derive(Debug)]
pub(crate) struct Fault {
    what: String,
    remedy: String,
}

/// The result of parsing a part of a line.
pub(crate) type Parsed<T> = Result<T, Box<Fault>>;

impl Fault {
    /// An error in a line that may be corrected or skipped.
    #[cold]
    pub(crate) fn line(what: impl Into<String>) -> Box<Fault> {
        Fault::with_remedy(what, MEND)
    }

    /// An error with its own remedy.
    #[cold]
    pub(crate) fn with_remedy(what: impl Into<String>, remedy: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { what: what.into(), remedy: remedy.into() })
    }

    /// The error for the user.
    #[cold]
    pub(crate) fn at(self, path: &Path, place: Place) -> TraceError {
        TraceError::Malformed { path: path.to_owned(), place, what: self.what, remedy: self.remedy }
    }

    /// What is wrong, without position and remedy.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }
}

/// Bytes of a trace for a message: readable, on one line, truncated.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let cut = &bytes[..bytes.len().min(MOST)];
    let dots = if bytes.len() > MOST { "…" } else { "" };
    format!("\"{}{dots}\"", String::from_utf8_lossy(cut).escape_debug())
}
