//! What is done to a trace before it is used.

use clap::Args;
use thermocline_trace::transform::{OpSet, ShiftBy, Window};

use super::values;

const HEADING: &str = "Changing a trace (in this order)";

/// Transformations, in the order they are applied.
#[derive(Args, Debug, Default)]
pub struct TransformArgs {
    /// Keep only this volume, by name or index. Repeat for several.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub volume: Vec<String>,
    /// Keep only these operations: read, write, trim, flush, separated by commas; -trim keeps all but
    /// trims.
    #[arg(long, value_name = "OPS", allow_hyphen_values = true, help_heading = HEADING)]
    pub ops: Option<OpSet>,
    /// Sort by time within a window of requests (64) or of time (20ms).
    #[arg(long, value_name = "N|TIME", value_parser = values::window, help_heading = HEADING)]
    pub sort_window: Option<Window>,
    /// Drop repetitions of a request within this time, because some recorders log it several times.
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = HEADING)]
    pub dedup_window: Option<u64>,
    /// Shift addresses by this, such as -63s (sectors of 512 bytes) or +4KiB.
    #[arg(long, value_name = "BY", allow_hyphen_values = true, help_heading = HEADING)]
    pub shift: Option<ShiftBy>,
    /// Keep only the first N requests.
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub limit: Option<u64>,
    /// The part of it that counts; of doors, not of words.
    #[arg(skip)]
    pub part: Part,
}

/// The part of a trace that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// So many requests from the start on; the others are not read.
    First(u64),
    /// What follows this many requests; they are replayed, and not counted.
    After(u64),
}
