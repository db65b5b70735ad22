//! Options for reading a trace.

use super::{action::Action, format::Format, units::TimeUnit};

/// How to read a trace. The default guesses the format and takes every unit from it.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; `None` guesses it from the first 64 KiB.
    pub format: Option<Format>,
    /// The event that represents a request, where a trace records several. `None` means
    /// [`Action::Issue`] if the first events include one, else [`Action::Queue`].
    pub action: Option<Action>,
    /// Swaps reads and writes, for traces with the opposite 0/1 convention.
    pub invert_ops: bool,
    /// The unit of the time column, instead of the format's own.
    pub time_unit: Option<TimeUnit>,
    /// Bytes in a sector, instead of the format's own; no effect on formats in bytes.
    pub sector_size: Option<u32>,
    /// Skips malformed lines of a text trace, and counts them in the warnings.
    pub skip_bad_lines: bool,
    /// Keeps the data of requests, if the trace contains them, for
    /// [`Source::contents`](crate::Source::contents). Costs time and memory.
    pub contents: bool,
}
