//! Errors, by cause.

use thermocline_ftl::{FtlError, MountError};
use thermocline_media::MediumError;

/// Why there is no layer on a chip. The kind says whose fault it is, the text what to do.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    /// The user asked for something there is not.
    #[error("{0}")]
    Usage(String),
    /// A file, a chip, or figures that make no device.
    #[error("{0}")]
    Input(String),
    /// A chip is damaged at an unknown place.
    #[error("{0}")]
    Damaged(String),
    /// The chip or the system failed.
    #[error("{0}")]
    Failed(String),
    /// An invariant was broken: a bug of this program.
    #[error("{0}; this is a bug, please report it with the command that showed it")]
    Broken(String),
    /// The user interrupted the work.
    #[error("interrupted")]
    Interrupted,
}

impl AssemblyError {
    /// An operation on a chip failed.
    pub(crate) fn failed(chip: &dyn std::fmt::Display, error: impl std::fmt::Display) -> Self {
        Self::Failed(format!("{chip}: {error}"))
    }

    /// The error with the policy whose layer failed.
    #[must_use]
    pub fn of_policy(self, policy: &str) -> Self {
        match self {
            Self::Failed(text) => Self::Failed(format!("{policy}: {text}")),
            other => other,
        }
    }

    /// An error of a layer in use; `retired` blocks of its chip were retired.
    #[must_use]
    pub fn of_layer(error: FtlError, retired: u64) -> Self {
        match error {
            FtlError::NoSpace if retired > 0 => Self::Failed(format!(
                "the device is worn out: {retired} blocks failed to erase and no free block is left"
            )),
            FtlError::NoSpace => Self::Failed(
                "no space left: every page holds current data and nothing can be cleaned; give \
                 the device more over-provisioning"
                    .into(),
            ),
            FtlError::OutOfRange(_) => Self::Input(format!("{error}; give it more capacity")),
            FtlError::ReadOnly => Self::Failed(format!(
                "the device is worn out: {retired} blocks failed, and those left cannot hold what \
                 it promised; give it more over-provisioning"
            )),
            FtlError::Lost(_) => Self::Failed(error.to_string()),
            FtlError::Flash(_) => Self::Broken(error.to_string()),
        }
    }
}

impl From<MountError> for AssemblyError {
    fn from(error: MountError) -> Self {
        match error {
            MountError::Missing { .. } => Self::Damaged(error.to_string()),
            error => Self::Input(error.to_string()),
        }
    }
}

impl From<MediumError> for AssemblyError {
    fn from(error: MediumError) -> Self {
        match error {
            MediumError::Usage(_) => Self::Usage(error.to_string()),
            MediumError::Exists(_) => Self::Usage(format!(
                "{error}; name another file, or replace it with ‹force›: what it holds is lost then"
            )),
            MediumError::Unusable(_) => Self::Input(error.to_string()),
            MediumError::Failed(_) => Self::Failed(error.to_string()),
        }
    }
}
