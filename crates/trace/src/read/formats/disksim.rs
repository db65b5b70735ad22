//! Rows of five numbers: DiskSim, and simulators that adopted its format with other units.
//!
//! `time device block size flags`, separated by blanks. They differ in the unit of time, the unit
//! of the size, and the meaning of the last column.

use crate::read::{
    entry::{Entry, Special},
    layout::{Columns, Layout, OpRule, Separator, Unit},
    sample::Sample,
    units::TimeUnit,
};

/// DiskSim: milliseconds, 512-byte blocks, hexadecimal flags whose bit 0 means a read.
const DISKSIM_LAYOUT: Layout = Layout {
    separator: Separator::Blank,
    names: &["time", "device", "block", "size", "flags"],
    time: Some((0, TimeUnit::Milliseconds)),
    op: OpRule::ReadFlag(4),
    offset: (2, Unit::Sector),
    size: (3, Unit::Sector),
    volume: Some((1, 1)),
    hint: None,
    decimal: None,
};

/// SSDSim and MQSim: whole nanoseconds, 0 write and 1 read.
const SSDSIM_LAYOUT: Layout = Layout {
    names: &["time", "device", "block", "size", "operation"],
    time: Some((0, TimeUnit::Nanoseconds)),
    op: OpRule::OneReads(4),
    ..DISKSIM_LAYOUT
};

/// FlashSim: milliseconds, the block in sectors but the size in pages of 4 KiB.
const FLASHSIM_LAYOUT: Layout = Layout {
    names: &["time", "device", "block", "pages", "operation"],
    op: OpRule::OneReads(4),
    size: (3, Unit::Bytes(4096)),
    ..DISKSIM_LAYOUT
};

/// Sectors in a page of FlashSim's sizes.
const PAGE_SECTORS: u64 = 8;

pub(super) const DISKSIM: Entry = Entry {
    name: "disksim",
    about: "DiskSim ASCII: milliseconds, device, block and size in 512 B, hex flags (bit 0 read)",
    source: "DiskSim 4.0 reference manual, ascii trace format",
    special: Special { zero_one: true, ..Special::NONE },
    detect: |sample| {
        let from = "5 columns, the 1st with decimals, the 5th a flag";
        let hit = sample.columns(&DISKSIM_LAYOUT, 5..=5, 70, from)?;
        has_decimals(sample).then_some(hit)
    },
    open: |setup| setup.columns(DISKSIM_LAYOUT),
};

pub(super) const SSDSIM: Entry = Entry {
    name: "ssdsim",
    about: "SSDSim ASCII: nanoseconds, device, LBA and size in 512 B sectors, 0 write 1 read",
    source: "SSDSim; MQSim's is the same",
    special: Special { zero_one: true, ..Special::NONE },
    detect: |sample| {
        let from = "5 whole numbers a row, the 5th 0 or 1 (MQSim's format is the same)";
        // A sixth column has content hashes in the variant for deduplication.
        let hit = sample.columns(&SSDSIM_LAYOUT, 5..=6, 70, from)?;
        (!has_decimals(sample)).then_some(hit)
    },
    open: |setup| setup.columns(SSDSIM_LAYOUT),
};

pub(super) const MQSIM: Entry = Entry {
    name: "mqsim",
    about: "MQSim ASCII: time (ns; time-unit sets another Time_Unit), device, 512 B sectors, 0 write",
    source: "github.com/CMU-SAFARI/MQSim",
    special: Special { zero_one: true, ..Special::NONE },
    // Rows cannot be distinguished from SSDSim's, which are read the same way.
    detect: |_| None,
    open: |setup| setup.columns(SSDSIM_LAYOUT),
};

pub(super) const FLASHSIM: Entry = Entry {
    name: "flashsim",
    about: "FlashSim ASCII: milliseconds, device, LBA in 512 B sectors, size in 4 KiB, 0 write",
    source: "FlashSim run_trace",
    special: Special { zero_one: true, ..Special::NONE },
    detect: |sample| {
        let from = "5 columns, the 1st with decimals, sizes that join up in units of 4 KiB";
        let hit = sample.columns(&FLASHSIM_LAYOUT, 5..=5, 75, from)?;
        (has_decimals(sample) && counts_pages(sample)).then_some(hit)
    },
    open: |setup| setup.columns(FLASHSIM_LAYOUT),
};

/// True if the times are not whole numbers.
fn has_decimals(sample: &Sample<'_>) -> bool {
    sample.lines.iter().any(|line| {
        let word = line.split(|b| matches!(b, b' ' | b'\t')).find(|word| !word.is_empty());
        word.is_some_and(|word| word.contains(&b'.'))
    })
}

/// Whether the sizes count pages: whether more requests continue ones shortly before them then.
/// Sequential runs join in the true unit; in the wrong unit only by chance. So a clear share
/// decides.
fn counts_pages(sample: &Sample<'_>) -> bool {
    const WINDOW: usize = 8;
    let rows = sample.rows(Columns::new(DISKSIM_LAYOUT)).requests;
    let (mut pages, mut sectors) = (0_u64, 0_u64);
    for (index, row) in rows.iter().enumerate() {
        for before in &rows[index.saturating_sub(WINDOW)..index] {
            if before.volume == row.volume {
                let gap = row.offset.wrapping_sub(before.offset);
                sectors += u64::from(gap == before.len);
                pages += u64::from(gap == before.len.wrapping_mul(PAGE_SECTORS));
            }
        }
    }
    pages >= 3 && 2 * pages >= sectors
}
