//! wpaexporter's CSV of Windows disk activity (ETW), with `;` or `,` between columns.
//!
//! The columns depend on the export's profile, so they are located by the header's names: `IO
//! Type`, `Init Time (s)`, `Size (B)`, `Min Offset` (hexadecimal bytes), `Disk`. Numbers follow the
//! locale of the exporting host. The arrival is the init time, in seconds.

use crate::{
    Op, Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::{Fault, Parsed},
        fields::{Field, request, trimmed},
        layout::{Separator, columns},
        lines::LineFormat,
        row::{self, Quick, Row},
        sample::Hit,
        units::TimeUnit,
    },
};

use super::locale;

pub(super) const ENTRY: Entry = Entry {
    name: "wpaexporter",
    about: "wpaexporter CSV (Windows ETW disk activity): seconds, size in bytes, hex offset",
    source: "Windows Performance Toolkit, wpaexporter",
    special: Special::NONE,
    detect: |sample| {
        Header::of(sample.first_line()).ok().map(|_| Hit { score: 100, from: "its header line" })
    },
    open: |setup| setup.lines(|_| Wpa { header: None }),
};

/// The used columns, by their header names.
const WANTED: [&str; 5] = ["IO Type", "Init Time (s)", "Size (B)", "Min Offset", "Disk"];

/// The positions of the columns.
struct Header {
    separator: u8,
    at: [usize; WANTED.len()],
    /// The used columns from left to right.
    order: [usize; WANTED.len()],
}

impl Header {
    fn of(line: &[u8]) -> Parsed<Header> {
        let separator = if line.contains(&b';') { b';' } else { b',' };
        let mut at = [0; WANTED.len()];
        for (at, name) in at.iter_mut().zip(WANTED) {
            let mut cells = columns(line, Separator::Byte(separator));
            let found =
                cells.position(|(start, end)| trimmed(&line[start..end]) == name.as_bytes());
            *at = found.ok_or_else(|| {
                Fault::with_remedy(
                    format!("the header has no column {name:?}"),
                    "export again with a profile that shows it",
                )
            })?;
        }
        let mut order = std::array::from_fn(|which| which);
        order.sort_unstable_by_key(|&which: &usize| at[which]);
        Ok(Header { separator, at, order })
    }

    /// The used columns of a row.
    fn row<'a>(&self, line: &'a [u8]) -> Parsed<[Field<'a>; WANTED.len()]> {
        let mut row = WANTED.map(|name| Field { bytes: &[], number: 0, name });
        // From left to right, each used column once.
        let mut cells = columns(line, Separator::Byte(self.separator)).enumerate();
        for &which in &self.order {
            let column = self.at[which];
            let (_, (start, end)) = cells.find(|(at, _)| *at == column).ok_or_else(too_few)?;
            row[which] = Field::new(&line[start..end], column + 1, WANTED[which]);
        }
        Ok(row)
    }
}

#[cold]
fn too_few() -> Box<Fault> {
    Fault::line("the row has fewer columns than the header")
}

struct Wpa {
    header: Option<Header>,
}

impl LineFormat for Wpa {
    const SKIPS_HEADER: bool = false;

    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        let Some(header) = &self.header else {
            self.header = Some(Header::of(line)?);
            return Ok(None);
        };
        let [op, time, size, offset, disk] = header.row(line)?;
        // The header of a concatenated file.
        if op.bytes == WANTED[0].as_bytes() {
            return Ok(None);
        }
        let op = op.op()?;
        let time = locale::time(time, cx.time_unit(TimeUnit::Seconds))?;
        // A flush has an offset of 2^64 - 1 and a size of 0, which are meaningless.
        let (offset, len) = match op {
            Op::Flush => (0, 0),
            _ => (offset.hex()?, locale::whole(size)?),
        };
        request(time, op, offset, len, cx.volumes.named(disk.bytes)).map(Some)
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        let header = self.header.as_ref()?;
        let separator = Separator::Byte(header.separator);
        let (mut op, mut time, mut len, mut offset) = (Op::Read, 0, 0, 0);
        let (mut disk, mut passed) = (&[][..], 0);
        for &which in &header.order {
            while passed < header.at[which] {
                row.column(separator)?;
                row.next(separator)?;
                passed += 1;
            }
            match which {
                0 => op = row.op(separator)?,
                1 if header.separator == b',' => {
                    time = row.time(cx.time_unit(TimeUnit::Seconds), |mark| mark == b'.')?;
                }
                1 => time = locale::quick_time(row, cx.time_unit(TimeUnit::Seconds))?,
                2 => len = locale::grouped(trimmed(row.word(separator)?))?,
                3 => offset = row.hex()?,
                _ => disk = trimmed(row.column(separator)?),
            }
            row.ends(separator)?;
        }
        row::push(out, time, op, offset, len, || cx.volumes.named(disk))
    }
}
