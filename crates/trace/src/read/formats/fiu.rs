//! FIU (IODedup, SRCMap): `ns pid process lba size W|R major minor MD5`.
//!
//! Times are in nanoseconds, LBA and size in 512-byte sectors; the volume is `major,minor`. Process
//! names may contain blanks, so everything but the time is located from the right.

use memchr::memrchr2;

use crate::{
    Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::{Fault, Parsed},
        fields::{Field, is_hex, request},
        layout::Separator,
        lines::LineFormat,
        row::{self, Quick, Row},
        sample::Hit,
        units::TimeUnit,
    },
};

pub(super) const ENTRY: Entry = Entry {
    name: "fiu",
    about: "FIU IODedup / SRCMap: nanoseconds, pid, process, LBA and size in 512 B, W|R, device",
    source: "SNIA IOTTA 390, 391",
    special: Special::NONE,
    detect: |sample| {
        let hit = Hit { score: 85, from: "9 columns, W or R, a device and a hash at the end" };
        sample.rows(Fiu).fit().then_some(hit)
    },
    open: |setup| setup.lines(|_| Fiu),
};

struct Fiu;

impl LineFormat for Fiu {
    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        // From the right: MD5, minor, major, W|R, size, LBA; before them the process and the pid.
        let missing = |name| Fault::line(format!("the {name} is missing"));
        let mut line = line;
        while let [rest @ .., b' ' | b'\t'] = line {
            line = rest;
        }
        // The hash is half of the line.
        let end = memrchr2(b' ', b'\t', line).ok_or_else(|| missing("MD5"))?;
        let (line, hash) = (&line[..end], Field::new(&line[end + 1..], 9, "MD5"));
        let mut words = line.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty());
        let time = Field::new(words.next().unwrap_or_default(), 1, "timestamp");
        let mut last = words.rev();
        let mut next = |number, name| {
            let word = last.next().ok_or_else(|| missing(name))?;
            Ok::<_, Box<Fault>>(Field::new(word, number, name))
        };
        let minor = next(8, "minor")?;
        let major = next(7, "major")?;
        let op = next(6, "W|R")?.op()?;
        let len = next(5, "size")?.bytes_of(cx.sector())?;
        let offset = next(4, "lba")?.bytes_of(cx.sector())?;
        next(3, "process")?;
        next(2, "pid")?;
        if hash.bytes.len() < 16 || !is_hex(hash.bytes) {
            return Err(hash.fault("not a hash"));
        }
        let time = time.time(cx.time_unit(TimeUnit::Nanoseconds))?;
        major.number()?;
        minor.number()?;
        // Both words are in one line, in this order, so the bytes from one to the other name the
        // volume.
        let start = major.bytes.as_ptr() as usize - line.as_ptr() as usize;
        let end = minor.bytes.as_ptr() as usize - line.as_ptr() as usize + minor.bytes.len();
        let volume = cx.volumes.index(&line[start..end], spelled);
        request(time, op, offset, len, volume).map(Some)
    }

    /// For rows of nine words, which can be read from the left.
    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        let time = row.time(cx.time_unit(TimeUnit::Nanoseconds), |mark| mark == b'.')?;
        row.gap()?;
        row.word(Separator::Blank)?;
        row.gap()?;
        row.word(Separator::Blank)?;
        row.gap()?;
        let offset = row.bytes_of(cx.sector())?;
        row.gap()?;
        let len = row.bytes_of(cx.sector())?;
        row.gap()?;
        let op = row.op(Separator::Blank)?;
        row.gap()?;
        let start = *row;
        row.number()?;
        row.gap()?;
        row.number()?;
        let volume = start.until(*row);
        row.gap()?;
        let hash = row.line()?;
        if hash.len() < 16 || !is_hex(hash) {
            return None;
        }
        row::push(out, time, op, offset, len, || cx.volumes.index(volume, spelled))
    }
}

/// Major and minor number in the form `6,0`.
fn spelled(key: &[u8]) -> String {
    String::from_utf8_lossy(key).split_ascii_whitespace().collect::<Vec<_>>().join(",")
}
