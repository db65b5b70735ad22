//! The merged Nexus 5 eMMC sessions: `time_s_unix,op,lba512,sectors,packed,session`.

use crate::read::{
    entry::{Entry, Special},
    layout::{Layout, OpRule, Separator, Unit},
    units::TimeUnit,
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["time_s_unix", "op", "lba512", "sectors", "packed", "session"],
    time: Some((0, TimeUnit::Seconds)),
    op: OpRule::Word(1),
    offset: (2, Unit::Sector),
    size: (3, Unit::Sector),
    volume: None,
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "nexus5",
    about: "Nexus 5 sessions, merged: Unix seconds, R|W, LBA and size in 512 B sectors",
    source: "derived from github.com/CASL-SDSU/SmartphoneIOTraces (IISWC 2015)",
    special: Special { device: Some("emmc-5.1"), ..Special::NONE },
    detect: |sample| {
        let header = sample.first_line() == b"time_s_unix,op,lba512,sectors,packed,session";
        header.then_some(crate::read::sample::Hit { score: 100, from: "its header line" })
    },
    open: |setup| setup.columns(LAYOUT),
};
