//! xperf's dump of ETW, as in SNIA's Microsoft Enterprise and Production traces.
//!
//! `DiskRead` and `DiskWrite` rows: `…, TimeStamp (µs), Process ( PID), ThreadID, IrpPtr,
//! ByteOffset (hex), IOSize (hex), ElapsedTime, DiskNum, …`. `DiskFlush` rows have neither offset
//! nor size. The time is that of the event, which is the completion. All other rows are skipped,
//! including `DiskReadInit` and the like, which announce the same requests.

use crate::{
    Op, Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::Parsed,
        fields::{Field, label, request, trimmed},
        layout::Separator,
        lines::LineFormat,
        row::{self, Quick, Row},
        sample::Hit,
        units::TimeUnit,
    },
};

pub(super) const ENTRY: Entry = Entry {
    name: "xperf",
    about: "xperf CSV (Exchange, DTRS, TPC-C, …): microseconds, offset and size in hex bytes",
    source: "SNIA IOTTA, Microsoft Enterprise and Production traces",
    special: Special::NONE,
    detect: |sample| {
        let header = sample.first_line().trim_ascii() == b"BeginHeader";
        let hit = Hit { score: 100, from: "BeginHeader and rows of DiskRead and DiskWrite" };
        (header || sample.rows(Xperf).fit()).then_some(hit)
    },
    open: |setup| setup.lines(|_| Xperf),
};

struct Xperf;

/// Columns of reads and writes, counted from 0.
const TIME: (usize, &str) = (1, "TimeStamp");
const OFFSET: (usize, &str) = (5, "ByteOffset");
const SIZE: (usize, &str) = (6, "IOSize");
const DISK: (usize, &str) = (8, "DiskNum");
/// The disk's column in rows of flushes: `…, IrpPtr, ElapsedTime, DiskNum, …`.
const FLUSH_DISK: (usize, &str) = (6, "DiskNum");

impl LineFormat for Xperf {
    // "BeginHeader" is skipped like any other row without a request.
    const SKIPS_HEADER: bool = false;

    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        // The file name is last and may contain commas, so columns after the disk are not used.
        let mut cells = [&[][..]; 9];
        let mut found = 0;
        for (cell, bytes) in cells.iter_mut().zip(line.split(|&b| b == b',')) {
            *cell = bytes;
            found += 1;
        }
        let op = match cells[0].trim_ascii() {
            b"DiskRead" => Op::Read,
            b"DiskWrite" => Op::Write,
            b"DiskFlush" => Op::Flush,
            _ => return Ok(None),
        };
        let field = |(at, name): (usize, &'static str)| {
            if at < found {
                Ok(Field::new(cells[at], at + 1, name))
            } else {
                let label = label(at + 1, name);
                Err(crate::read::fault::Fault::line(format!("{label} is missing")))
            }
        };
        let time = field(TIME)?;
        // The header has a line for each kind of row: "DiskRead, TimeStamp, …".
        if time.bytes.eq_ignore_ascii_case(TIME.1.as_bytes()) {
            return Ok(None);
        }
        let time = time.time(cx.time_unit(TimeUnit::Microseconds))?;
        let (offset, len, disk) = match op {
            Op::Flush => (0, 0, field(FLUSH_DISK)?),
            _ => (field(OFFSET)?.hex()?, field(SIZE)?.hex()?, field(DISK)?),
        };
        request(time, op, offset, len, cx.volumes.named(disk.bytes)).map(Some)
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        const COMMA: Separator = Separator::Byte(b',');
        let (op, name) = if row.rest().starts_with(b"DiskRead,") {
            (Op::Read, 8)
        } else if row.rest().starts_with(b"DiskWrite,") {
            (Op::Write, 9)
        } else {
            return match row.word(COMMA)?.trim_ascii() {
                b"DiskRead" | b"DiskWrite" | b"DiskFlush" => None,
                _ => Some(()),
            };
        };
        row.pass(name);
        row.next(COMMA)?;
        let time = row.time(cx.time_unit(TimeUnit::Microseconds), |mark| mark == b'.')?;
        row.next(COMMA)?;
        for _ in TIME.0 + 1..OFFSET.0 {
            row.pass_column(b',')?;
        }
        row.blanks();
        let offset = row.hex()?;
        row.next(COMMA)?;
        let len = row.hex()?;
        row.next(COMMA)?;
        row.pass_column(b',')?;
        row.blanks();
        let disk = trimmed(row.word(COMMA)?);
        row::push(out, time, op, offset, len, || cx.volumes.named(disk))
    }
}
