//! MSR Cambridge CSV: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Times are FILETIME (100 ns since 1601), offsets and sizes in bytes; the volume is host and disk.

use crate::read::{
    entry::{Entry, Special},
    layout::{Layout, OpRule, Separator, Unit},
    units::TimeUnit,
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["Timestamp", "Hostname", "DiskNumber", "Type", "Offset", "Size", "ResponseTime"],
    time: Some((0, TimeUnit::Ticks)),
    op: OpRule::Word(3),
    offset: (4, Unit::Bytes(1)),
    size: (5, Unit::Bytes(1)),
    volume: Some((1, 2)),
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "msr",
    about: "MSR Cambridge CSV: FILETIME, host, disk, Read|Write, offset and size in bytes",
    source: "SNIA IOTTA 388",
    special: Special { dated: true, ..Special::NONE },
    detect: |sample| {
        sample.columns(&LAYOUT, 7..=7, 95, "7 comma-separated fields, the 4th Read or Write")
    },
    open: |setup| setup.columns(LAYOUT),
};
