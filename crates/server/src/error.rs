//! Why a server could not begin, go on, or end well.

use std::path::PathBuf;

/// Why a server could not begin, go on, or end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// An address could not be listened on.
    #[error("{address}: {reason}")]
    Listening {
        /// As it was given.
        address: String,
        /// The cause and the remedy.
        reason: String,
    },
    /// The list of exports cannot be offered.
    #[error("{0}")]
    Exports(String),
    /// The recording could not be begun.
    #[error("{path}: {reason}")]
    Recording {
        /// The trace file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The certificate or key cannot be used.
    #[error("{path}: {reason}")]
    Tls {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// A device could not be left in order.
    #[error("export {name:?} was not closed in order, its next mount recovers it: {reason}")]
    Closing {
        /// The export.
        name: String,
        /// The cause.
        reason: String,
    },
    /// The system refused a thread or a wait.
    #[error("the system refused {what}: {source}")]
    System {
        /// The request.
        what: &'static str,
        /// Its answer.
        source: std::io::Error,
    },
}
