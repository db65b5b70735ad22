//! A logger of a memory card's requests: `µs|R or W|offset|bytes`.

use crate::read::{
    entry::{Entry, Special},
    layout::{Layout, OpRule, Separator, Unit},
    units::TimeUnit,
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b'|'),
    names: &["time", "operation", "offset", "bytes"],
    time: Some((0, TimeUnit::Microseconds)),
    op: OpRule::Word(1),
    offset: (2, Unit::Bytes(1)),
    size: (3, Unit::Bytes(1)),
    volume: None,
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "card-logger",
    about: "A card's logger: microseconds, R or W, offset and size in bytes, with | between",
    source: "examples/trace-format",
    special: Special::NONE,
    detect: |sample| sample.columns(&LAYOUT, 4..=4, 80, "4 columns with | between"),
    open: |setup| setup.columns(LAYOUT),
};
