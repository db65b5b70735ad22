//! bcc's biosnoop: `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`.
//!
//! Times are seconds, of completion; sectors 512 bytes. Process names may hold blanks, so the
//! columns are found from the right, where `T` (R or W) stands fourth or, with QUE, fifth.

use crate::{
    Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::{Fault, Parsed},
        fields::{Field, request},
        layout::Separator,
        lines::LineFormat,
        row::{self, Quick, Row},
        sample::Hit,
        units::TimeUnit,
    },
};

pub(super) const ENTRY: Entry = Entry {
    name: "biosnoop",
    about: "bcc biosnoop: seconds (completion), process, disk, R|W, 512 B sector, bytes",
    source: "github.com/iovisor/bcc, tools/biosnoop",
    special: Special::NONE,
    detect: |sample| {
        let header = sample.first_line().trim_ascii().starts_with(b"TIME(s)");
        let hit = Hit { score: 90, from: "the columns of biosnoop" };
        (header && sample.rows(Biosnoop).fit()).then_some(hit)
    },
    open: |setup| setup.lines(|_| Biosnoop),
};

struct Biosnoop;

impl LineFormat for Biosnoop {
    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        let blank = |b: &u8| matches!(b, b' ' | b'\t');
        let words = || line.split(blank).filter(|word| !word.is_empty());
        // A header printed again, as the tool does for new readers of a pipe.
        if words().next() == Some(b"TIME(s)") {
            return Ok(None);
        }
        let mut right: [&[u8]; 6] = [b""; 6];
        for (cell, word) in right.iter_mut().zip(words().rev()) {
            *cell = word;
        }
        let one_letter = |word: &[u8]| word.len() == 1 && word[0].is_ascii_alphabetic();
        let at = match right {
            [_, _, _, op, ..] if one_letter(op) => 3,
            [_, _, _, _, op, _] if one_letter(op) => 4,
            _ => return Err(Fault::line("the column T (R or W) is missing")),
        };
        let time = Field::new(words().next().unwrap_or_default(), 1, "TIME(s)");
        let op = Field::new(right[at], 0, "T").op()?;
        let offset = Field::new(right[at - 1], 0, "SECTOR").bytes_of(cx.sector())?;
        let len = Field::new(right[at - 2], 0, "BYTES").number()?;
        let time = time.time(cx.time_unit(TimeUnit::Seconds))?;
        request(time, op, offset, len, cx.volumes.named(right[at + 1])).map(Some)
    }

    /// Of rows whose process is one word, which are the same from either side.
    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        let time = row.time(cx.time_unit(TimeUnit::Seconds), |mark| mark == b'.')?;
        row.gap()?;
        let (_process, ()) = (row.word(Separator::Blank)?, row.gap()?);
        let (_pid, ()) = (row.word(Separator::Blank)?, row.gap()?);
        let disk = row.word(Separator::Blank)?;
        row.gap()?;
        if !matches!(row.rest(), [_, b' ' | b'\t', ..]) {
            return None;
        }
        let op = row.op(Separator::Blank)?;
        row.gap()?;
        let offset = row.bytes_of(cx.sector())?;
        row.gap()?;
        let len = row.number()?;
        row.gap()?;
        // Behind them is the latency, and before that perhaps the time in the queue.
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
        row::push(out, time, op, offset, len, || cx.volumes.named(disk))
    }
}
