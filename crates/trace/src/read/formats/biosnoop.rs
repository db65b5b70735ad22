//! bcc's biosnoop, in Python and with libbpf: `TIME(s) COMM PID DISK T SECTOR BYTES [P] [QUE(ms)]
//! LAT(ms)`.
//!
//! Times are those of completion: seconds, `TIMESTAMP` of day, or `TIME` with a date. Sectors have
//! 512 bytes. Process names may contain blanks, so the columns are located from the right: `T`, one
//! or more letters of the kernel, precedes two numbers.

use crate::{
    Request,
    read::{
        context::Context,
        dates,
        entry::{Entry, Refused, Special},
        fault::{Fault, Parsed},
        fields::{Field, request},
        layout::Separator,
        lines::LineFormat,
        row::{self, Quick, Row},
        rwbs,
        sample::Hit,
        units::TimeUnit,
    },
};

pub(super) const ENTRY: Entry = Entry {
    name: "biosnoop",
    about: "bcc and libbpf biosnoop: seconds (completion), process, disk, RWBS, 512 B sector, bytes",
    source: "github.com/iovisor/bcc, tools/biosnoop and libbpf-tools/biosnoop",
    special: Special::NONE,
    detect: |sample| {
        let hit = Hit { score: 95, from: "the columns of biosnoop" };
        let header = is_header(sample.first_line());
        (header && sample.rows(Biosnoop).fit()).then_some(hit)
    },
    open: |setup| setup.lines(|_| Biosnoop),
};

/// The bpftrace tool of the same name.
pub(super) const BPFTRACE: Refused = Refused {
    detect: |sample| {
        let mut words = words(sample.first_line());
        words.next() == Some(b"TIME(ms)") && words.next_back() == Some(b"LAT(ms)")
    },
    what: "bpftrace's biosnoop.bt prints neither sectors nor sizes",
    remedy: "record with bcc's biosnoop, or by bpftrace -e 'tracepoint:block:block_rq_issue { \
             printf(\"%llu %d %s %llu %d\\n\", nsecs, args.dev, args.rwbs, args.sector, args.bytes); }' \
             and read that with ‹columns 'sep=space,skip=1,time=1:ns,op=3,offset=4:sectors,size=5,volume=2'›",
};

/// The words of a line.
fn words(line: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    line.split(|b| matches!(b, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// Whether a line is the header, which the tool repeats for new readers of a pipe.
fn is_header(line: &[u8]) -> bool {
    let mut words = words(line);
    matches!(words.next(), Some(b"TIME(s)" | b"TIME" | b"TIMESTAMP"))
        && words.any(|word| word == b"SECTOR")
}

/// Maximum number of columns from the disk to the end, including `T`.
const RIGHT: usize = 7;

struct Biosnoop;

impl LineFormat for Biosnoop {
    const SKIPS_HEADER: bool = false;

    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        if is_header(line) {
            return Ok(None);
        }
        let mut right: [&[u8]; RIGHT] = [b""; RIGHT];
        for (cell, word) in right.iter_mut().zip(words(line).rev()) {
            *cell = word;
        }
        let is_number = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
        let is_op = |at: &usize| {
            rwbs::is_word(right[*at]) && is_number(right[at - 1]) && is_number(right[at - 2])
        };
        // After the bytes comes the latency, optionally preceded by the time in the queue and the
        // pattern.
        let at = (3..RIGHT - 1).find(is_op);
        let at = at.ok_or_else(|| {
            Fault::line("the column T (R or W) before sector and bytes is missing")
        })?;
        let offset = Field::new(right[at - 1], 0, "SECTOR").bytes_of(cx.sector())?;
        let len = Field::new(right[at - 2], 0, "BYTES").number()?;
        let time = time(line, cx)?;
        let op = rwbs::op(right[at], len).or_else(|| rwbs::op(right[at], 1));
        let Some(op) = op else {
            cx.drop_row(rwbs::NO_OP);
            return Ok(None);
        };
        request(time, op, offset, len, cx.volumes.named(right[at + 1])).map(Some)
    }

    /// For rows whose process is one word, which can be read from the left.
    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        let time = row.time(cx.time_unit(TimeUnit::Seconds), |mark| mark == b'.')?;
        row.gap()?;
        let (_process, ()) = (row.word(Separator::Blank)?, row.gap()?);
        let (_pid, ()) = (row.word(Separator::Blank)?, row.gap()?);
        let disk = row.word(Separator::Blank)?;
        row.gap()?;
        let letters = row.word(Separator::Blank)?;
        row.gap()?;
        let offset = row.bytes_of(cx.sector())?;
        row.gap()?;
        let len = row.number()?;
        row.gap()?;
        // Then comes the latency, optionally preceded by the time in the queue.
        row.word(Separator::Blank)?;
        if !row.is_at_end() {
            row.gap()?;
            if !row.is_at_end() {
                row.word(Separator::Blank)?;
                if !row.is_at_end() {
                    return None;
                }
            }
        }
        let op = rwbs::op(letters, len)?;
        if !rwbs::is_word(letters) {
            return None;
        }
        row::push(out, time, op, offset, len, || cx.volumes.named(disk))
    }
}

/// The time at the start of a line.
fn time(line: &[u8], cx: &Context) -> Parsed<u64> {
    let mut words = words(line);
    let first = words.next().unwrap_or_default();
    let field = Field::new(first, 1, "TIME(s)");
    if first.contains(&b':') {
        return dates::of_day_ns(first).ok_or_else(|| field.fault("not a time of day"));
    }
    // A date, and a time of day in the next word.
    if let (Some(day), Some(time)) =
        (dates::unix_ns(first), words.next().and_then(dates::of_day_ns))
    {
        return Ok(day + time);
    }
    field.time(cx.time_unit(TimeUnit::Seconds))
}
