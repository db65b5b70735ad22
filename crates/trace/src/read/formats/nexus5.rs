//! The merged Nexus 5 eMMC sessions: `time_s_unix,op,lba512,sectors,packed,session`.

use crate::read::{
    format::Entry,
    layout::{Layout, OpRule, Separator, Unit},
    options::TimeUnit,
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["time_s_unix", "op", "lba512", "sectors", "packed", "session"],
    time: Some((0, TimeUnit::Seconds)),
    op: OpRule::Word(1),
    offset: (2, Unit::Sector),
    size: (3, Unit::Sector),
    volume: None,
};

pub(crate) const ENTRY: Entry = Entry {
    name: "nexus5",
    about: "Nexus 5 sessions, merged: Unix seconds, R|W, LBA and size in 512 B sectors",
    source: "derived from github.com/CASL-SDSU/SmartphoneIOTraces (IISWC 2015)",
    zero_one: false,
    detect: |sample| {
        let header = sample.first_line() == b"time_s_unix,op,lba512,sectors,packed,session";
        header.then_some(crate::read::detect::Hit { score: 100, from: "its header line" })
    },
    open: |setup| setup.columns(LAYOUT),
};
