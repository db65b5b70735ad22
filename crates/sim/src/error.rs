//! What can go wrong, by whose fault it is.

use thermocline_ftl::FtlError;
use thermocline_trace::TraceError;

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
    /// The run could not be finished.
    #[error("{0}")]
    Failed(String),
    /// An invariant was broken: a bug of this program.
    #[error("{0}; this is a bug, please report it with the command that showed it")]
    Broken(String),
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
            other => other,
        }
    }

    /// An error of the layer during a run.
    pub(crate) fn of_layer(error: FtlError, retired: u64) -> Self {
        match error {
            FtlError::NoSpace if retired > 0 => Self::Failed(format!(
                "the device is worn out: {retired} blocks failed to erase and no free block is left"
            )),
            FtlError::NoSpace => Self::Failed(
                "no space left: every page holds current data and nothing can be cleaned; give \
                 the device more over-provisioning"
                    .into(),
            ),
            FtlError::OutOfRange(_) => Self::Input(format!("{error}; give it more --capacity")),
            FtlError::ReadOnly => Self::Failed(format!(
                "the device is worn out: {retired} blocks failed, and those left cannot hold what \
                 it promised; give it more over-provisioning"
            )),
            FtlError::Flash(_) => Self::Broken(error.to_string()),
        }
    }
}

/// Letters of a prefix that stand for a name.
const TELLING: usize = 3;

/// "did you mean": the known name nearest to a wrong one, if any is near. Case does not matter, and
/// the beginning of a name is as near as one wrong letter.
pub(crate) fn nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    let distance = |name: &str| {
        let name = name.to_lowercase();
        let distance = strsim::damerau_levenshtein(&wrong, &name);
        if wrong.len() >= TELLING && name.starts_with(&wrong) { distance.min(1) } else { distance }
    };
    known
        .into_iter()
        .map(|name| (distance(name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len().max(wrong.len()) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
