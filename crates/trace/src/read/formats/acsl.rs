//! ACSL Pixel: `proces,device,rw_flag,sector,size,timestamp` with a header line.
//!
//! Sectors and sizes are in units of 512 bytes, times in seconds since boot. Rows of the threads
//! `f2fs_discard-…` are marked as reads but are the discards that those threads issue.

use crate::{
    Op, Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::Parsed,
        layout::{Columns, Layout, OpRule, Separator, Unit},
        lines::LineFormat,
        row::{Quick, Row},
        sample::Hit,
        units::TimeUnit,
    },
};

const LAYOUT: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["process", "device", "rw_flag", "sector", "size", "timestamp"],
    time: Some((5, TimeUnit::Seconds)),
    op: OpRule::Word(2),
    offset: (3, Unit::Sector),
    size: (4, Unit::Sector),
    volume: Some((1, 1)),
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "acsl",
    about: "ACSL Pixel phones: process, device, R|W, LBA and size in 512 B sectors, seconds",
    source: "ACSL MobileBlockIOTraces",
    special: Special { device: Some("ufs-3.1"), ..Special::NONE },
    detect: |sample| {
        let header = sample.first_line();
        let named =
            header.strip_prefix(b"proces").map(|rest| rest.strip_prefix(b"s").unwrap_or(rest));
        (named == Some(b",device,rw_flag,sector,size,timestamp"))
            .then_some(Hit { score: 100, from: "its header line" })
    },
    open: |setup| setup.lines(|_| Acsl(Columns::new(LAYOUT))),
};

struct Acsl(Columns);

impl LineFormat for Acsl {
    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        let request = self.0.line(line, cx)?;
        let discards = self.0.field(line, 0, "process").bytes.starts_with(DISCARDS);
        Ok(request.map(|request| Request { op: op(request.op, discards), ..request }))
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        let discards = row.rest().starts_with(DISCARDS);
        self.0.quick(row, cx, out)?;
        if discards && let Some(request) = out.last_mut() {
            request.op = op(request.op, discards);
        }
        Some(())
    }
}

/// Prefix of the names of discarding threads.
const DISCARDS: &[u8] = b"f2fs_discard";

fn op(marked: Op, discards: bool) -> Op {
    if discards && marked == Op::Read { Op::Trim } else { marked }
}
