//! fio iolog, versions 1 to 3.
//!
//! Version 1: `rw, offset, length`, no header, 0 reads and 1 writes. Version 2: `file action offset
//! length`, with waits in microseconds between. Version 3: the same without waits, with each line
//! after its microseconds since the start. Offsets and lengths are in bytes; the volume is the
//! file. `sync`, `fsync` and `datasync` are flushes; `add`, `open` and `close` are skipped.

use crate::{
    Op, Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::{Fault, Parsed},
        fields::{Field, request, trimmed},
        layout::{Columns, Layout, OpRule, Separator, Unit},
        lines::LineFormat,
        row::{self, Quick, Row},
        sample::Hit,
        units::TimeUnit,
    },
};

/// Version 1 has rows of three numbers without times.
const VERSION_1: Layout = Layout {
    separator: Separator::Byte(b','),
    names: &["rw", "offset", "length"],
    time: None,
    op: OpRule::OneWrites(0),
    offset: (1, Unit::Bytes(1)),
    size: (2, Unit::Bytes(1)),
    volume: None,
    hint: None,
    decimal: None,
};

pub(super) const ENTRY: Entry = Entry {
    name: "fio-iolog",
    about: "fio iolog v1, v2, v3: actions on files, offset and length in bytes, microseconds",
    source: "github.com/axboe/fio, HOWTO (trace file format)",
    special: Special::NONE,
    detect: |sample| {
        if sample.first_line().starts_with(b"fio version ") {
            return Some(Hit { score: 100, from: "its first line" });
        }
        sample.columns(
            &VERSION_1,
            3..=3,
            60,
            "3 comma-separated numbers, the 1st 0 or 1 (version 1)",
        )
    },
    open: |setup| setup.lines(|_| Fio::new()),
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    /// Not known before the first line.
    Unknown,
    One,
    Two,
    Three,
}

struct Fio {
    version: Version,
    rows: Columns,
    /// The sum of version 2's waits, in nanoseconds.
    clock_ns: u64,
}

impl Fio {
    fn new() -> Fio {
        Fio { version: Version::Unknown, rows: Columns::new(VERSION_1), clock_ns: 0 }
    }

    /// Takes the version from the first line; true if the line contains nothing else.
    fn begin(&mut self, line: &[u8]) -> Parsed<bool> {
        let Some(rest) = line.strip_prefix(b"fio version ") else {
            self.version = Version::One;
            return Ok(false);
        };
        self.version = match rest.trim_ascii() {
            b"2 iolog" => Version::Two,
            b"3 iolog" => Version::Three,
            _ => {
                return Err(Fault::with_remedy(
                    format!(
                        "this iolog is neither version 2 nor 3: {}",
                        String::from_utf8_lossy(rest).trim()
                    ),
                    "write it again with a fio that knows version 3 (3.31 or later)",
                ));
            }
        };
        Ok(true)
    }

    /// Parses a line of version 2 or 3.
    fn action(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        let unit = cx.time_unit(TimeUnit::Microseconds);
        let mut words =
            line.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty()).zip(1..);
        let mut next = |name| match words.next() {
            Some((word, number)) => Ok(Field::new(word, number, name)),
            None => Err(Fault::line(format!("the {name} is missing"))),
        };
        if self.version == Version::Three {
            self.clock_ns = next("timestamp")?.time(unit)?;
        }
        let file = next("filename")?;
        let action = next("action")?;
        let op = match action.bytes {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"fsync" | b"datasync" => Op::Flush,
            b"add" | b"open" | b"close" => return Ok(None),
            b"wait" if self.version == Version::Two => {
                let wait = next("wait")?.time(unit)?;
                self.clock_ns = self
                    .clock_ns
                    .checked_add(wait)
                    .ok_or_else(|| Fault::line("the waits add up to more than 584 years"))?;
                return Ok(None);
            }
            _ => return Err(action.fault("no action of a fio iolog")),
        };
        let (offset, len) = match op {
            Op::Flush => (0, 0),
            _ => (next("offset")?.number()?, next("length")?.number()?),
        };
        request(self.clock_ns, op, offset, len, cx.volumes.named(file.bytes)).map(Some)
    }
}

impl LineFormat for Fio {
    const SKIPS_HEADER: bool = false;

    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        // Each of several concatenated logs has a first line.
        let begins = self.version == Version::Unknown || line.starts_with(b"fio version ");
        if begins && self.begin(line)? {
            return Ok(None);
        }
        match self.version {
            Version::Two | Version::Three => self.action(line, cx),
            Version::One | Version::Unknown => self.rows.line(line, cx),
        }
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        let time = match self.version {
            Version::Unknown => return None,
            Version::One => return self.rows.quick(row, cx, out),
            Version::Two => self.clock_ns,
            Version::Three => {
                let time = row.time(cx.time_unit(TimeUnit::Microseconds), |mark| mark == b'.')?;
                row.gap()?;
                time
            }
        };
        let file = row.word(Separator::Blank)?;
        row.gap()?;
        let op = row.plain_read_or_write()?;
        row.gap()?;
        let offset = row.number()?;
        row.gap()?;
        let len = row.number()?;
        row.ends(Separator::Blank)?;
        row::push(out, time, op, offset, len, || cx.volumes.named(trimmed(file)))
    }
}
