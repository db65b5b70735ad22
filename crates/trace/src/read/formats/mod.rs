//! The registry of formats. A new format is a file here and an entry below (two lines in Rust).

mod acsl;
mod alibaba;
mod biosnoop;
mod biotracer;
mod blkparse;
mod blkreplay;
mod blktrace;
mod cache_traces;
mod columns;
mod counters;
mod csv;
mod diskmon;
mod disksim;
mod fio;
mod fiu;
mod ftrace;
mod json;
mod k5cloud;
mod lcs;
mod locale;
mod msr;
mod native;
mod nbdkit;
mod nexus5;
mod rocksdb;
mod spc;
mod srt;
mod systor;
#[cfg(feature = "tables")]
mod tables;
mod tencent;
mod usb;
mod utf16;
mod vscsi;
mod wpaexporter;
mod xperf;

use super::entry::{Entry, Refused};

pub(super) use columns::{cells, memory, no_format};
#[cfg(feature = "tables")]
pub(super) use tables::in_memory;

/// All formats. If two fit a trace equally well, the first is guessed.
pub(super) static REGISTRY: &[Entry] = &[
    native::ENTRY,
    csv::ENTRY,
    msr::ENTRY,
    spc::ENTRY,
    alibaba::ENTRY,
    tencent::ENTRY,
    systor::ENTRY,
    fiu::ENTRY,
    k5cloud::ENTRY,
    blkparse::ENTRY,
    blktrace::ENTRY,
    ftrace::ENTRY,
    biosnoop::ENTRY,
    fio::ENTRY,
    disksim::DISKSIM,
    disksim::SSDSIM,
    disksim::MQSIM,
    disksim::FLASHSIM,
    usb::USBMON,
    #[cfg(feature = "usb-captures")]
    usb::CAPTURE,
    vscsi::ENTRY,
    lcs::ENTRY,
    srt::ENTRY,
    srt::KINDS,
    blkreplay::ENTRY,
    biotracer::ENTRY,
    acsl::ENTRY,
    wpaexporter::ENTRY,
    xperf::ENTRY,
    diskmon::ENTRY,
    nbdkit::ENTRY,
    nexus5::ENTRY,
    rocksdb::ENTRY,
    #[cfg(feature = "tables")]
    tables::PARQUET,
    #[cfg(feature = "tables")]
    tables::ARROW,
    columns::ENTRY,
];

/// Files that are not block traces, with the message for each.
pub(super) static REFUSED: &[Refused] = &[
    cache_traces::LCS,
    cache_traces::ORACLE_GENERAL,
    cache_traces::LIS,
    utf16::UTF16,
    json::JSON,
    biosnoop::BPFTRACE,
    ftrace::OF_DRIVERS,
    counters::COUNTERS,
    #[cfg(not(feature = "tables"))]
    columns::TABLE_REFUSED,
    #[cfg(not(feature = "usb-captures"))]
    usb::CAPTURE_REFUSED,
];
