//! What the caller may say about a trace before it is read.

use std::{fmt, str::FromStr};

use super::format::Format;
use crate::TraceError;

/// How to read a trace. The default guesses the format and takes every unit from it.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; `None` guesses it from the first 64 KiB.
    pub format: Option<Format>,
    /// Which event of a blkparse, blktrace or ftrace request counts; `None` takes
    /// [`Action::Issue`] where the first events hold one, else [`Action::Queue`].
    pub action: Option<Action>,
    /// Swaps reads and writes, for traces whose 0/1 column is the other way round.
    pub invert_ops: bool,
    /// The unit of the time column, in place of the format's own.
    pub time_unit: Option<TimeUnit>,
    /// Bytes in a sector, in place of the format's own; no effect on formats that count in bytes.
    pub sector_size: Option<u32>,
    /// Leaves out malformed lines of a text trace, and counts them in the warnings.
    pub skip_bad_lines: bool,
    /// Keeps what requests wrote and read, where the trace has it, for
    /// [`Source::contents`](crate::Source::contents). Costs time and memory.
    pub contents: bool,
}

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
    /// The letter blkparse prints.
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

/// The unit of a time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// 10⁻¹² s (MQSim can count so); rounded to whole nanoseconds.
    Picoseconds,
    /// 10⁻⁹ s.
    Nanoseconds,
    /// 100 ns, the tick of a Windows FILETIME.
    Ticks,
    /// 10⁻⁶ s.
    Microseconds,
    /// 10⁻³ s.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    /// All of them, with the names they are chosen by.
    const NAMES: [(&'static str, TimeUnit); 6] = [
        ("ps", TimeUnit::Picoseconds),
        ("ns", TimeUnit::Nanoseconds),
        ("100ns", TimeUnit::Ticks),
        ("us", TimeUnit::Microseconds),
        ("ms", TimeUnit::Milliseconds),
        ("s", TimeUnit::Seconds),
    ];

    /// Picoseconds in one unit: small enough for every unit to be a whole number.
    pub(crate) fn picoseconds(self) -> u64 {
        match self {
            TimeUnit::Picoseconds => 1,
            TimeUnit::Nanoseconds => 1_000,
            TimeUnit::Ticks => 100_000,
            TimeUnit::Microseconds => 1_000_000,
            TimeUnit::Milliseconds => 1_000_000_000,
            TimeUnit::Seconds => 1_000_000_000_000,
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMES.iter().find(|(_, unit)| unit == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

impl FromStr for TimeUnit {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let text = if text == "µs" { "us" } else { text };
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, unit)| *unit).ok_or_else(|| {
            TraceError::Usage {
                what: format!("{text:?} is no unit of time"),
                remedy: "say ps, ns, 100ns (FILETIME), us, ms or s".into(),
            }
        })
    }
}
