//! Tencent CBS: `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! Times are Unix seconds (with a resolution of a second), offsets and sizes 512-byte sectors, the
//! type 0 for reads and 1 for writes.

use crate::read::{
    entry::{Entry, Special},
    layout::{Layout, OpRule, Separator, Unit},
    units::TimeUnit,
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["Timestamp", "Offset", "Size", "IOType", "VolumeID"],
    time: Some((0, TimeUnit::Seconds)),
    op: OpRule::OneWrites(3),
    offset: (1, Unit::Sector),
    size: (2, Unit::Sector),
    volume: Some((4, 4)),
    hint: None,
    decimal: None,
};

/// Unix seconds from 2001-09-09 to 2065, which distinguish the first column from other numbers.
const UNIX_NS: std::ops::Range<u64> = 1_000_000_000_000_000_000..3_000_000_000_000_000_000;

pub(super) const ENTRY: Entry = Entry {
    name: "tencent",
    about: "Tencent CBS: Unix seconds, offset and size in 512 B sectors, 0 read 1 write, volume",
    source: "SNIA IOTTA 27917",
    special: Special { zero_one: true, ..Special::NONE },
    detect: |sample| {
        let hit = sample.columns(
            &LAYOUT,
            5..=5,
            80,
            "5 comma-separated numbers, the 1st a date, the 4th 0 or 1",
        )?;
        let rows = sample.rows(crate::read::layout::Columns::new(LAYOUT));
        rows.requests.iter().all(|r| UNIX_NS.contains(&r.time_ns)).then_some(hit)
    },
    open: |setup| setup.columns(LAYOUT),
};
