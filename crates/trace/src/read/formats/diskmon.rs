//! Sysinternals DiskMon logs: `# Time Duration Disk Request Sector Length`, TAB between columns.
//!
//! Sector and length are in units of 512 bytes. The time is seconds from the start, or a time of
//! day, with a decimal point or comma. The duration's unit differs between versions; it is not
//! used.

use crate::{
    Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::{Fault, Parsed},
        fields::{Field, label, request, trimmed},
        layout::Separator,
        lines::LineFormat,
        row::{self, Quick, Row},
        sample::Hit,
        units::TimeUnit,
    },
};

use super::locale;

pub(super) const ENTRY: Entry = Entry {
    name: "diskmon",
    about: "DiskMon log: index, seconds or time of day, duration, disk, Read|Write, 512 B sectors",
    source: "Sysinternals DiskMon",
    special: Special::NONE,
    detect: |sample| {
        let tabs = |line: &&[u8]| line.iter().filter(|&&b| b == b'\t').count() >= 6;
        let hit = Hit { score: 85, from: "7 TAB-separated columns, the 5th Read or Write" };
        (sample.lines.iter().any(tabs) && sample.rows(Diskmon).fit()).then_some(hit)
    },
    open: |setup| setup.lines(|_| Diskmon),
};

const NAMES: [&str; 7] = ["#", "Time", "Duration", "Disk", "Request", "Sector", "Length"];

struct Diskmon;

impl LineFormat for Diskmon {
    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        let mut row = NAMES.map(|name| Field { bytes: &[], number: 0, name });
        let mut cells = line.split(|&b| b == b'\t');
        for (field, number) in row.iter_mut().zip(1..) {
            let name = field.name;
            let cell = cells
                .next()
                .ok_or_else(|| Fault::line(format!("{} is missing", label(number, name))))?;
            *field = Field::new(cell, number, name);
        }
        let [_, time, _, disk, op, sector, length] = row;
        let op = op.op()?;
        let time = match time.bytes.contains(&b':') {
            true => time_of_day(time)?,
            false => locale::time(time, cx.time_unit(TimeUnit::Seconds))?,
        };
        let offset = sector.bytes_of(cx.sector())?;
        let len = length.bytes_of(cx.sector())?;
        request(time, op, offset, len, cx.volumes.named(disk.bytes)).map(Some)
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        const TAB: Separator = Separator::Byte(b'\t');
        row.word(TAB)?;
        row.next(TAB)?;
        let time = locale::quick_time(row, cx.time_unit(TimeUnit::Seconds))?;
        row.next(TAB)?;
        row.word(TAB)?;
        row.next(TAB)?;
        let disk = trimmed(row.word(TAB)?);
        row.next(TAB)?;
        let op = row.op(TAB)?;
        row.next(TAB)?;
        let offset = row.bytes_of(cx.sector())?;
        row.next(TAB)?;
        let len = row.bytes_of(cx.sector())?;
        row.ends(TAB)?;
        row::push(out, time, op, offset, len, || cx.volumes.named(disk))
    }
}

/// `9:41:07.125 PM` in nanoseconds since midnight.
fn time_of_day(field: Field<'_>) -> Parsed<u64> {
    let wrong = || field.fault("no time of day");
    let text = std::str::from_utf8(field.bytes).map_err(|_| wrong())?;
    let (clock, half) = match text.split_once(' ') {
        Some((clock, half)) => (clock, Some(half.trim())),
        None => (text, None),
    };
    let mut parts = clock.splitn(3, ':');
    let mut next = || parts.next().ok_or_else(wrong);
    let hours: u64 = next()?.parse().map_err(|_| wrong())?;
    let minutes: u64 = next()?.parse().map_err(|_| wrong())?;
    let seconds = Field { bytes: next()?.as_bytes(), ..field };
    let hours = match half {
        None => hours,
        Some(half) if half.eq_ignore_ascii_case("am") => hours % 12,
        Some(half) if half.eq_ignore_ascii_case("pm") => hours % 12 + 12,
        Some(_) => return Err(wrong()),
    };
    let within = locale::time(seconds, TimeUnit::Seconds).map_err(|_| wrong())?;
    if hours > 23 || minutes > 59 || within >= 61_000_000_000 {
        return Err(wrong());
    }
    Ok((hours * 3600 + minutes * 60) * 1_000_000_000 + within)
}
