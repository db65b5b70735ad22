//! What can go wrong, by whose fault it is.

use thermocline_assembly::AssemblyError;
use thermocline_policy::foreign::Failure;
use thermocline_trace::TraceError;
use thermocline_units::naming::SpecError;

/// An error of the simulator; its kind decides the exit code, its text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The user asked for something there is not.
    #[error("{0}")]
    Usage(String),
    /// A file, or figures that make no device.
    #[error("{0}")]
    Input(String),
    /// The trace or the workload.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An input that was to be left out if it is so small.
    #[error("{0}")]
    TooSmall(String),
    /// The run could not be finished.
    #[error("{0}")]
    Failed(String),
    /// It takes more memory than there is.
    #[error("{0}")]
    Memory(String),
    /// An invariant was broken: a bug of this program.
    #[error("{0}; this is a bug, please report it with the command that showed it")]
    Broken(String),
    /// A policy of the user's own failed.
    #[error("{0}")]
    Policy(Failure),
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
}

impl SimError {
    /// The error with the policy whose run failed.
    #[must_use]
    pub fn of_policy(self, policy: &str) -> Self {
        match self {
            Self::Failed(text) => Self::Failed(format!("{policy}: {text}")),
            Self::Memory(text) => Self::Memory(format!("{policy}: {text}")),
            other => other,
        }
    }
}

impl From<SpecError> for SimError {
    fn from(error: SpecError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<AssemblyError> for SimError {
    fn from(error: AssemblyError) -> Self {
        match error {
            AssemblyError::Usage(text) => Self::Usage(text),
            AssemblyError::Input(text) | AssemblyError::Damaged(text) => Self::Input(text),
            AssemblyError::Failed(text) => Self::Failed(text),
            AssemblyError::Broken(text) => Self::Broken(text),
            AssemblyError::Interrupted => Self::Interrupted,
        }
    }
}
