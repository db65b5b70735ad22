//! The event that represents a request, where a trace records several.

use std::{fmt, str::FromStr};

use crate::TraceError;

/// The event that represents a traced request. Exactly one is used, because a request passes
/// through all of them and would otherwise be counted several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// `Q`: queued by the file system, before merging and scheduling.
    Queue,
    /// `D`: issued to the driver, as seen by the device.
    Issue,
    /// `C`: completed by the device.
    Complete,
}

impl Action {
    /// Its letter in traces and on the command line.
    pub fn letter(self) -> u8 {
        match self {
            Action::Queue => b'Q',
            Action::Issue => b'D',
            Action::Complete => b'C',
        }
    }

    /// The default: issued requests if they were recorded, else queued ones.
    pub(crate) fn preferred(seen: impl Fn(Action) -> bool) -> Action {
        [Action::Issue, Action::Queue, Action::Complete]
            .into_iter()
            .find(|&action| seen(action))
            .unwrap_or(Action::Issue)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Action::Queue => "Q",
            Action::Issue => "D",
            Action::Complete => "C",
        })
    }
}

impl FromStr for Action {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        match text {
            "Q" | "q" | "queue" => Ok(Action::Queue),
            "D" | "d" | "issue" => Ok(Action::Issue),
            "C" | "c" | "complete" => Ok(Action::Complete),
            _ => Err(TraceError::Usage {
                what: format!("{text:?} is no action of a traced request"),
                remedy: "say Q (queued), D (issued to the device) or C (completed)".into(),
            }),
        }
    }
}
