//! The log of nbdkit's log filter (`--filter=log logfile=…`).
//!
//! `2020-08-06 02:07:23.080415 connection=1 Pread id=1 offset=0x0 count=0x200 ...` is a request,
//! `connection=1 ...Pread id=1 return=0` is its reply; only requests are used. Times are the log's
//! wall clock, assumed to be UTC, in nanoseconds since 1970. A zero request that may punch a hole
//! is a trim, else a write of zeros. Connections share one device, so there is one volume.

use crate::{
    Op, Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::{Fault, Parsed},
        fields::{Field, request},
        layout::Separator,
        lines::LineFormat,
        row::{self, Quick, Row},
        sample::Hit,
    },
};

pub(super) const ENTRY: Entry = Entry {
    name: "nbdkit",
    about: "nbdkit log filter: wall clock, Read|Write|Trim|Zero|Flush, hex offset and count",
    source: "nbdkit-log-filter(1)",
    special: Special::NONE,
    detect: |sample| {
        let hit = Hit { score: 95, from: "dated lines of connections and requests" };
        sample.rows(Nbdkit::default()).fit().then_some(hit)
    },
    open: |setup| setup.lines(|_| Nbdkit::default()),
};

/// Caches the date of the last request and its nanoseconds since 1970, because most requests have
/// the same date.
#[derive(Default)]
struct Nbdkit {
    date: [u8; 10],
    date_ns: u64,
}

impl LineFormat for Nbdkit {
    const SKIPS_HEADER: bool = false;

    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        let mut words = line.split(|&b| b == b' ').filter(|word| !word.is_empty());
        let date = Field::new(words.next().unwrap_or_default(), 1, "date");
        let clock = Field::new(words.next().unwrap_or_default(), 2, "time");
        let time = wall_clock(date, clock)?;
        let Some(connection) = words.next() else {
            return Err(Fault::line("the line ends after its time"));
        };
        let kind = words.next().unwrap_or_default();
        // Lines about the server, replies, and requests without data are skipped.
        if !connection.starts_with(b"connection=") || kind.starts_with(b"...") {
            return Ok(None);
        }
        let value = |name: &'static str| {
            let mut words = line.split(|&b| b == b' ');
            words
                .find_map(|word| word.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
                .map(|value| Field::new(value, 0, name))
                .ok_or_else(|| Fault::line(format!("{name}=… is missing")))
        };
        let op = match kind {
            b"Pread" | b"Read" => Op::Read,
            b"Pwrite" | b"Write" => Op::Write,
            b"Trim" => Op::Trim,
            b"Flush" => Op::Flush,
            b"Zero" => {
                // Named "trim" since nbdkit 1.2, "may_trim" in its protocol.
                let hole = value("trim").or_else(|_| value("may_trim"));
                if hole.is_ok_and(|flag| flag.bytes != b"0") { Op::Trim } else { Op::Write }
            }
            _ => return Ok(None),
        };
        let (offset, len) = match op {
            Op::Flush => (0, 0),
            _ => (value("offset")?.hex()?, value("count")?.hex()?),
        };
        request(time, op, offset, len, cx.volumes.named(b"0")).map(Some)
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        const BLANK: Separator = Separator::Byte(b' ');
        let date = *row.rest().first_chunk()?;
        if date != self.date {
            let text = std::str::from_utf8(&date).ok()?;
            (self.date, self.date_ns) = (date, day(text)? * DAY_NS);
        }
        row.pass(date.len());
        row.expect(b" ")?;
        let time = self.date_ns + row.time_of_day()?;
        row.expect(b" connection=")?;
        row.word(BLANK)?;
        row.expect(b" ")?;
        // Replies are half of all lines.
        if row.rest().starts_with(b"...") {
            return Some(());
        }
        let op = match row.word(BLANK)? {
            b"Pread" | b"Read" => Op::Read,
            b"Pwrite" | b"Write" => Op::Write,
            b"Trim" => Op::Trim,
            _ => return None,
        };
        row.expect(b" id=")?;
        row.word(BLANK)?;
        row.expect(b" offset=")?;
        let offset = row.hex()?;
        row.expect(b" count=")?;
        let len = row.hex()?;
        row.ends(BLANK)?;
        row::push(out, time, op, offset, len, || cx.volumes.named(b"0"))
    }
}

/// Nanoseconds of a day.
const DAY_NS: u64 = 86_400_000_000_000;

/// Parses a number that consists of digits only.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// Days from 1970 to `2020-08-06`.
fn day(text: &str) -> Option<u64> {
    let mut parts = text.splitn(3, '-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let plausible =
        (1970..2500).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    plausible.then(|| days_since_1970(year, month, day))
}

/// `2020-08-06` `02:07:23.080415` in nanoseconds since 1970.
fn wall_clock(date: Field<'_>, clock: Field<'_>) -> Parsed<u64> {
    let within = || -> Option<u64> {
        let text = std::str::from_utf8(clock.bytes).ok()?;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let mut parts = whole.splitn(3, ':').map(number);
        let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
        let digits = u32::try_from(fraction.len()).ok().filter(|n| (1..=9).contains(n))?;
        let ns = number(fraction)? * 10_u64.pow(9 - digits);
        let plausible = hours < 24 && minutes < 60 && seconds < 61;
        plausible.then(|| (hours * 3600 + minutes * 60 + seconds) * 1_000_000_000 + ns)
    };
    let days = std::str::from_utf8(date.bytes).ok().and_then(day);
    let days = days.ok_or_else(|| date.fault("no date (year-month-day)"))?;
    let within = within().ok_or_else(|| clock.fault("no time of day"))?;
    Ok(days * DAY_NS + within)
}

/// Days from 1970-01-01 in the Gregorian calendar, with years that begin in March so that the leap
/// day is last.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year / 4 - year / 100 + year / 400;
    // There are 719 468 days from 0000-03-01 to 1970-01-01.
    365 * year + leaps + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::days_since_1970;

    #[test]
    fn days_are_counted_through_leap_years() {
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(days_since_1970(2000, 2, 29), 11_016);
        assert_eq!(days_since_1970(2020, 8, 6), 18_480);
    }
}
