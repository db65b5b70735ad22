//! The errors of the simulator, by cause.

use thermocline_assembly::AssemblyError;
use thermocline_policy::foreign::Failure;
use thermocline_trace::TraceError;
use thermocline_units::naming::SpecError;

/// An error of the simulator. Its kind decides the exit code; its text contains the remedy.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// An invalid setting.
    #[error("{0}")]
    Usage(String),
    /// An unreadable file, or figures that do not describe a device.
    #[error("{0}")]
    Input(String),
    /// An error of the trace or the workload.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The input is smaller than the requested minimum.
    #[error("{0}")]
    TooSmall(String),
    /// The run could not be completed.
    #[error("{0}")]
    Failed(String),
    /// The run needs more memory than there is.
    #[error("{0}")]
    Memory(String),
    /// An invariant was violated: a bug of this program.
    #[error("{0}; this is a bug, please report it with the command that showed it")]
    Broken(String),
    /// A user-defined policy failed.
    #[error("{0}")]
    Policy(Failure),
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
}

impl SimError {
    /// Adds the name of the policy whose run failed.
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
