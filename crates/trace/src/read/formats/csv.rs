//! Thermocline's own comma-separated values: `time_ns,op,volume,offset,len` under that header line.
//!
//! Times are in nanoseconds since the trace's origin, offsets and lengths in bytes, operations
//! `read`, `write`, `trim` and `flush`. Written by `write::CsvWriter`, and easy to write by
//! scripts.

use crate::read::{
    entry::{Entry, Special},
    layout::{Layout, OpRule, Separator, Unit},
    sample::Hit,
    units::TimeUnit,
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["time_ns", "op", "volume", "offset", "len"],
    time: Some((0, TimeUnit::Nanoseconds)),
    op: OpRule::Word(1),
    offset: (3, Unit::Bytes(1)),
    size: (4, Unit::Bytes(1)),
    volume: Some((2, 2)),
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "csv",
    about: "our own CSV: nanoseconds, read|write|trim|flush, volume, offset and length in bytes",
    source: "write::CsvWriter",
    special: Special::NONE,
    detect: |sample| {
        let header = sample.first_line() == b"time_ns,op,volume,offset,len";
        header.then_some(Hit { score: 100, from: "its header line" })
    },
    open: |setup| setup.columns(LAYOUT),
};
