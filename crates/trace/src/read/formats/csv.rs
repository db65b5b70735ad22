//! Thermocline's own comma-separated values: `time_ns,op,volume,offset,len` under that header line, with
//! `,hint` at its end where writes carry placement hints.
//!
//! Times are in nanoseconds since the trace's origin, offsets and lengths in bytes, operations
//! `read`, `write`, `trim` and `flush`. Written by `write::CsvWriter`, and easy to write by
//! scripts.

use crate::read::{
    entry::{Entry, Special},
    layout::{Columns, Layout, OpRule, Separator, Unit},
    sample::Hit,
    units::TimeUnit,
};

/// The header line, and that of a trace with hints.
const HEADER: &[u8] = b"time_ns,op,volume,offset,len";
const WITH_HINTS: &[u8] = b"time_ns,op,volume,offset,len,hint";

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["time_ns", "op", "volume", "offset", "len", "hint"],
    time: Some((0, TimeUnit::Nanoseconds)),
    op: OpRule::Word(1),
    offset: (3, Unit::Bytes(1)),
    size: (4, Unit::Bytes(1)),
    volume: Some((2, 2)),
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "csv",
    about: "our own CSV: nanoseconds, read|write|trim|flush, volume, offset and length in bytes",
    source: "write::CsvWriter",
    special: Special::NONE,
    detect: |sample| {
        let header = [HEADER, WITH_HINTS].contains(&sample.first_line());
        header.then_some(Hit { score: 100, from: "its header line" })
    },
    open: |setup| {
        // Files of one trace may differ.
        setup.lines(|input| {
            let mut lines = input.window().split(|byte| *byte == b'\n').take(16);
            let hinted = lines.any(|line| line.trim_ascii_end().ends_with(WITH_HINTS));
            Columns::new(if hinted { Layout { hint: Some(5), ..LAYOUT } } else { LAYOUT })
        })
    },
};
