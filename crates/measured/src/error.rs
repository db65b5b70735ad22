//! What is wrong with an input.

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
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what was expected.
    #[error("{place}: {what}; {remedy}")]
    Input {
        /// Where.
        place: Place,
        /// What is wrong there.
        what: String,
        /// What would do.
        remedy: String,
    },
}

impl MeasuredError {
    pub(crate) fn input(place: &Place, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Input { place: place.clone(), what: what.into(), remedy: remedy.into() }
    }
}
