//! RocksDB traces with discards, extracted to CSV: `time_ns,op(R/W/D),lba,sectors,io_class,…`.

use crate::read::{
    entry::{Entry, Special},
    layout::{Layout, OpRule, Separator, Unit},
    units::TimeUnit,
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["time_ns", "op", "lba", "sectors"],
    time: Some((0, TimeUnit::Nanoseconds)),
    op: OpRule::Word(1),
    offset: (2, Unit::Sector),
    size: (3, Unit::Sector),
    volume: None,
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "rocksdb",
    about: "RocksDB with discards (extracted CSV): nanoseconds, R|W|D, LBA and size in 512 B",
    source: "derived from github.com/Open-CAS/standalone-linux-io-tracer",
    special: Special::NONE,
    detect: |sample| {
        let header = sample.first_line().starts_with(b"time_ns,op,lba,sectors");
        header.then_some(crate::read::sample::Hit { score: 100, from: "its header line" })
    },
    open: |setup| setup.columns(LAYOUT),
};
