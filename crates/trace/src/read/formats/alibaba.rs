//! Alibaba block traces 2020: `device_id,opcode,offset,length,timestamp`.
//!
//! Times are in microseconds since the Unix epoch, offsets and lengths in bytes.

use crate::read::{
    entry::{Entry, Special},
    layout::{Layout, OpRule, Separator, Unit},
    units::TimeUnit,
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["device_id", "opcode", "offset", "length", "timestamp"],
    time: Some((4, TimeUnit::Microseconds)),
    op: OpRule::Word(1),
    offset: (2, Unit::Bytes(1)),
    size: (3, Unit::Bytes(1)),
    volume: Some((0, 0)),
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "alibaba",
    about: "Alibaba Cloud 2020: device, R|W, offset and length in bytes, Unix microseconds",
    source: "github.com/alibaba/block-traces",
    special: Special { dated: true, ..Special::NONE },
    detect: |sample| sample.columns(&LAYOUT, 5..=5, 90, "5 comma-separated fields, the 2nd R or W"),
    open: |setup| setup.columns(LAYOUT),
};
