//! Errors of traces, with remedies.

use std::{io, path::PathBuf};

use thermocline_units::UnitError;

/// A position in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a text trace, counted from 1.
    Line(u64),
    /// A byte offset in the decompressed stream of a binary trace.
    Byte(u64),
    /// A packet of a capture, counted from 1.
    Packet(u64),
    /// The input as a whole.
    Whole,
}

/// An error of a reader, a writer, a generator or a transformation.
///
/// The message is one line: the file, the position, what is wrong, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// An error of the operating system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The data violate the format.
    #[error("{}{}: {what}; {remedy}", path.display(), place.suffix())]
    Malformed {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// The position in the file.
        place: Place,
        /// What is wrong, naming the field.
        what: String,
        /// What the user can do.
        remedy: String,
    },
    /// The format is not recognised, or cannot be used.
    #[error("{}: {what}; {remedy}", path.display())]
    Format {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// What the user can do.
        remedy: String,
    },
    /// A request that cannot be used, detected after it was read. The caller that knows the file
    /// adds its name.
    #[error("{what}; {remedy}")]
    Request {
        /// What is wrong with it.
        what: String,
        /// What the user can do.
        remedy: String,
    },
    /// A specification given by the user (workload, columns, volume) is invalid.
    #[error("{what}; {remedy}")]
    Usage {
        /// What is wrong.
        what: String,
        /// What the user can do.
        remedy: String,
    },
}

impl TraceError {
    /// An invalid specification, and what to write instead.
    pub fn usage(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        TraceError::Usage { what: what.into(), remedy: remedy.into() }
    }

    /// A request that cannot be used.
    pub(crate) fn request(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        TraceError::Request { what: what.into(), remedy: remedy.into() }
    }
}

impl From<UnitError> for TraceError {
    fn from(error: UnitError) -> Self {
        Self::Usage { what: error.what, remedy: error.remedy }
    }
}

impl Place {
    fn suffix(self) -> String {
        match self {
            Place::Line(n) => format!(":{n}"),
            Place::Byte(n) => format!(": byte {n}"),
            Place::Packet(n) => format!(": packet {n}"),
            Place::Whole => String::new(),
        }
    }
}
