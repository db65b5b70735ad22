//! SYSTOR '17 (Fujitsu VDI): `Timestamp,Response,IOType,LUN,Offset,Size` with a header line.
//!
//! Times are Unix seconds with 9 decimals, offsets and sizes in bytes. Rows without a type are left
//! out and counted. Rows are not in time order.

use crate::read::{
    entry::{Entry, Special},
    layout::{Layout, OpRule, Separator, Unit},
    sample::Hit,
    units::TimeUnit,
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["Timestamp", "Response", "IOType", "LUN", "Offset", "Size"],
    time: Some((0, TimeUnit::Seconds)),
    op: OpRule::WordOrUnknown(2),
    offset: (4, Unit::Bytes(1)),
    size: (5, Unit::Bytes(1)),
    volume: Some((3, 3)),
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "systor17",
    about: "SYSTOR '17 VDI: Unix seconds, response, R|W|empty, LUN, offset and size in bytes",
    source: "SNIA IOTTA 4928, 4964",
    special: Special::NONE,
    detect: |sample| {
        if sample.first_line() == b"Timestamp,Response,IOType,LUN,Offset,Size" {
            return Some(Hit { score: 100, from: "its header line" });
        }
        sample.columns(&LAYOUT, 6..=6, 85, "6 comma-separated fields, the 3rd R, W or empty")
    },
    open: |setup| setup.columns(LAYOUT),
};
