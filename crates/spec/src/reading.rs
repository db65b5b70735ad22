//! How a trace is read.

use thermocline_trace::read::{Action, Format, ReadOptions, TimeUnit};

use crate::{
    group,
    values::{ACTION, COLUMNS, FORMAT, SECTOR_SIZE, TIME_UNIT},
};

group! {
    /// What the user says about a trace's file.
    pub struct ReadingArgs, "Reading a trace" {
        /// Format of the trace [default: guessed; `thermocline trace formats` lists them].
        trace_format: Option<Format> = one("trace-format", "NAME", FORMAT);
        /// Columns of a trace in an unknown format, by number or by the names of its header, such as
        /// `time=1:us,op=2:W/R,offset=3:sectors,size=4` or `time=when,op=rw,offset=addr:hex,size=len`; dates
        /// need no unit [default: guessed from a header].
        columns: Option<Format> = one("columns", "SPEC", COLUMNS).without(&["trace-format"]);
        /// Event that represents a blkparse, blktrace or ftrace request: Q (queued), D (issued) or C
        /// (completed) [default: D if there are any, otherwise Q].
        action: Option<Action> = one("action", "EVENT", ACTION);
        /// Swap reads and writes.
        invert_ops: bool = flag("invert-ops");
        /// Unit of the time column: ps, ns, 100ns, us, ms or s [default: the format's].
        time_unit: Option<TimeUnit> = one("time-unit", "UNIT", TIME_UNIT);
        /// Bytes of a sector [default: the format's].
        sector_size: Option<u32> = one("sector-size", "SIZE", SECTOR_SIZE);
        /// Skip malformed lines, and report how many there were.
        skip_bad_lines: bool = flag("skip-bad-lines");
    }
}

impl ReadingArgs {
    /// The options of the readers.
    #[must_use]
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.trace_format.clone().or_else(|| self.columns.clone()),
            action: self.action,
            invert_ops: self.invert_ops,
            time_unit: self.time_unit,
            sector_size: self.sector_size,
            skip_bad_lines: self.skip_bad_lines,
            ..ReadOptions::default()
        }
    }
}
