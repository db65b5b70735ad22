//! SPC / UMass: `ASU,LBA,Size,Opcode,Timestamp[,optional…]`.
//!
//! Times are in seconds from the start, the LBA in 512-byte blocks, the size in bytes; the volume
//! is the ASU. Optional fields may differ from row to row and are not used.

use crate::read::{
    entry::{Entry, Special},
    layout::{Layout, OpRule, Separator, Unit},
    units::TimeUnit,
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["ASU", "LBA", "Size", "Opcode", "Timestamp"],
    time: Some((4, TimeUnit::Seconds)),
    op: OpRule::Word(3),
    offset: (1, Unit::Sector),
    size: (2, Unit::Bytes(1)),
    volume: Some((0, 0)),
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "spc",
    about: "SPC / UMass (Financial, WebSearch): ASU, LBA in 512 B, size in bytes, R|W, seconds",
    source: "SPC trace file format; UMass Trace Repository",
    special: Special::NONE,
    detect: |sample| {
        sample.columns(&LAYOUT, 5..=64, 85, "5 comma-separated fields, the 4th R or W")
    },
    open: |setup| setup.columns(LAYOUT),
};
