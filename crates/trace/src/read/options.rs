//! What the caller may say about a trace before it is read.

use super::{action::Action, format::Format, units::TimeUnit};

/// How to read a trace. The default guesses the format and takes every unit from it.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; `None` guesses it from the first 64 KiB.
    pub format: Option<Format>,
    /// Which event of a request counts where a trace records several; `None` takes
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
