//! Which event of a request stands for it, where a trace records several.

use std::{fmt, str::FromStr};

use crate::TraceError;

/// The event of a traced request that stands for it. Exactly one is used: a request
/// passes through all of them, so mixing them would count it several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// `Q`: the file system asked (before merging and scheduling).
    Queue,
    /// `D`: issued to the driver, what the device sees.
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

    /// The default: what the device sees if it was recorded, else what was asked.
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
