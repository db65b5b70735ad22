//! K5cloud: `volume,seconds,R|W,offset,size`, offsets and sizes in bytes.

use crate::read::{
    entry::{Entry, Special},
    layout::{Layout, OpRule, Separator, Unit},
    units::TimeUnit,
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["volume", "timestamp", "type", "offset", "size"],
    time: Some((1, TimeUnit::Seconds)),
    op: OpRule::Word(2),
    offset: (3, Unit::Bytes(1)),
    size: (4, Unit::Bytes(1)),
    volume: Some((0, 0)),
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "k5cloud",
    about: "K5cloud: volume, seconds, R|W, offset and size in bytes",
    source: "SNIA IOTTA, Fujitsu K5 cloud",
    special: Special::NONE,
    detect: |sample| sample.columns(&LAYOUT, 5..=5, 80, "5 comma-separated fields, the 3rd R or W"),
    open: |setup| setup.columns(LAYOUT),
};
