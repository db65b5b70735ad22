//! Errors of inputs.

use std::io;

use crate::Place;

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum MeasuredError {
    /// A file cannot be read.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file has an unexpected content.
    #[error("{place}: {what}; {remedy}")]
    Input {
        /// Where.
        place: Place,
        /// The fault.
        what: String,
        /// The remedy.
        remedy: String,
    },
}

impl MeasuredError {
    pub(crate) fn input(place: &Place, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Input { place: place.clone(), what: what.into(), remedy: remedy.into() }
    }
}
