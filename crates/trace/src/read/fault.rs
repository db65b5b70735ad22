//! What is wrong with one line or record, before the reader adds where it stood.

use std::path::Path;

use crate::{Place, TraceError};

/// What to do about a line that cannot be read.
pub(crate) const MEND: &str = "mend the line, or skip bad lines with ‹skip-bad-lines›";

/// One fault. Boxed in results, so that a good line costs nothing for it.
#[derive(Debug)]
pub(crate) struct Fault {
    what: String,
    remedy: String,
}

/// The result of parsing part of a line.
pub(crate) type Parsed<T> = Result<T, Box<Fault>>;

impl Fault {
    /// A fault of one line, to be mended or skipped.
    #[cold]
    pub(crate) fn line(what: impl Into<String>) -> Box<Fault> {
        Fault::with_remedy(what, MEND)
    }

    /// A fault with a remedy of its own.
    #[cold]
    pub(crate) fn with_remedy(what: impl Into<String>, remedy: impl Into<String>) -> Box<Fault> {
        Box::new(Fault { what: what.into(), remedy: remedy.into() })
    }

    /// The fault as the user sees it.
    #[cold]
    pub(crate) fn at(self, path: &Path, place: Place) -> TraceError {
        TraceError::Malformed { path: path.to_owned(), place, what: self.what, remedy: self.remedy }
    }

    /// What is wrong, without place and remedy.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }
}

/// Bytes of a trace as they may stand in a message: readable, one line, not too long.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let cut = &bytes[..bytes.len().min(MOST)];
    let dots = if bytes.len() > MOST { "…" } else { "" };
    format!("\"{}{dots}\"", String::from_utf8_lossy(cut).escape_debug())
}
