//! Transformations of a trace before it is used.

use thermocline_trace::transform::{HintRule, OpSet, ShiftBy, Window};

use crate::{
    group,
    values::{HINT, NUMBER, OPS, SHIFT, TEXT, TIME, WINDOW},
};

group! {
    /// Transformations, in the order they are applied.
    pub struct TransformArgs, "Changing a trace (in this order)" {
        /// Keep only this volume, by name or index. Repeat for several.
        volume: Vec<String> = one("volume", "NAME", TEXT);
        /// Keep only these operations: read, write, trim, flush, separated by commas; -trim keeps all but
        /// trims.
        ops: Option<OpSet> = one("ops", "OPS", OPS).dashed();
        /// Sort by time within a window of requests (64) or of time (20ms).
        sort_window: Option<Window> = one("sort-window", "N|TIME", WINDOW);
        /// Drop repetitions of a request within this time, because some recorders log it several times.
        dedup_window: Option<u64> = one("dedup-window", "TIME", TIME);
        /// Shift addresses by this, such as -63s (sectors of 512 bytes) or +4KiB.
        shift: Option<ShiftBy> = one("shift", "BY", SHIFT).dashed();
        /// Placement hints of the writes: `volume` gives each volume its own, and 0..1GiB=3 those that begin at
        /// these addresses. Repeat for several ranges; the last one that fits counts.
        hint: Vec<HintRule> = one("hint", "volume|FROM..TO=N", HINT);
        /// Keep only the first N requests.
        limit: Option<u64> = one("limit", "N", NUMBER);
        /// The part of it that counts; of doors, not of words.
        part: Part = door();
    }
}

/// The part of a trace that is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// This many requests from the start; the others are not read.
    First(u64),
    /// Everything after this many requests, which are replayed and not counted.
    After(u64),
}
