//! The default text of blkparse: `maj,min cpu seq seconds pid action RWBS sector + n [process]`.
//!
//! One action of each request is used, the others are skipped. The volume is `maj,min`. blkparse's
//! final summary is detected and skipped.

use crate::{
    Request,
    read::{
        action::Action,
        context::Context,
        entry::{Entry, Special},
        fault::{Fault, Parsed},
        fields::{Field, request},
        input::Input,
        layout::Separator,
        lines::LineFormat,
        row::{self, Quick, Row},
        rwbs,
        sample::{Hit, Sample},
        units::TimeUnit,
    },
};

pub(super) const ENTRY: Entry = Entry {
    name: "blkparse",
    about: "blkparse text: major,minor, seconds, action, RWBS, 512 B sectors; one action counts",
    source: "blktrace(8), doc/blkparse.1",
    special: Special::NONE,
    detect: |sample| {
        let before_summary = || sample.lines.iter().take_while(|line| !is_summary(line));
        let events = before_summary().filter(|line| event(line).is_some()).count();
        let other = before_summary().filter(|line| !line.is_empty()).count() - events;
        (events > 0 && other * 4 <= events)
            .then_some(Hit { score: 95, from: "lines of major,minor, CPU, sequence, time, action" })
    },
    open: |setup| {
        let named = setup.action;
        setup.lines(|input| {
            let action = named.unwrap_or_else(|| preferred(input));
            Blkparse { action: action.letter(), ended: false }
        })
    },
};

/// The action to use, chosen by the first lines.
fn preferred(input: &Input) -> Action {
    let sample = Sample::new(input.window());
    Action::preferred(|action| sample.lines.iter().any(|line| event(line) == Some(action.letter())))
}

/// The action of a line, if it is an event.
fn event(line: &[u8]) -> Option<u8> {
    let mut words = Words { rest: line };
    let device = words.next();
    let plausible = is_device(device) && words.next().iter().all(u8::is_ascii_digit);
    match words.nth(3) {
        [letter] | [letter, b'T'] if plausible && letter.is_ascii_alphabetic() => Some(*letter),
        _ => None,
    }
}

/// True for the lines at the start of blkparse's summary: `CPU0 (8,16):`, `Total (8,16):`.
fn is_summary(line: &[u8]) -> bool {
    line.starts_with(b"CPU") || line.starts_with(b"Total ")
}

/// `8,16`.
fn is_device(word: &[u8]) -> bool {
    match word.iter().position(|&b| b == b',') {
        Some(comma) => {
            let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
            digits(&word[..comma]) && digits(&word[comma + 1..])
        }
        None => false,
    }
}

/// Words separated by blanks.
struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// The next word; empty at the end of the line.
    #[inline]
    fn next(&mut self) -> &'a [u8] {
        let blank = |b: &u8| matches!(b, b' ' | b'\t');
        let start = self.rest.iter().position(|b| !blank(b)).unwrap_or(self.rest.len());
        let rest = &self.rest[start..];
        let end = rest.iter().position(blank).unwrap_or(rest.len());
        self.rest = &rest[end..];
        &rest[..end]
    }

    /// The word after `n` others.
    fn nth(&mut self, n: usize) -> &'a [u8] {
        for _ in 0..n {
            self.next();
        }
        self.next()
    }
}

struct Blkparse {
    action: u8,
    /// Whether the summary has begun.
    ended: bool,
}

impl LineFormat for Blkparse {
    const SKIPS_HEADER: bool = false;

    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        if self.ended && event(line).is_none() {
            return Ok(None);
        }
        // Events after a summary belong to another output that was appended.
        self.ended = false;
        let mut words = Words { rest: line };
        let device = Field::new(words.next(), 1, "device");
        if !is_device(device.bytes) {
            return self.outside(line, &device).map(|()| None);
        }
        let (_cpu, _sequence) = (words.next(), words.next());
        let time = Field::new(words.next(), 4, "time");
        let _pid = words.next();
        let action = Field::new(words.next(), 6, "action");
        match action.bytes {
            [letter] if *letter == self.action => {}
            // The action for unplugging by timer has two letters, UT.
            [a] | [a, b'T'] if a.is_ascii_alphabetic() => return Ok(None),
            _ => return Err(action.fault("no action of blkparse")),
        }
        let letters = words.next();
        let sector = Field::new(words.next(), 8, "sector");
        let plus = words.next();
        if plus != b"+" {
            // A flush has no sector; a packet command has bytes instead.
            let empty = sector.bytes.is_empty() || sector.bytes.starts_with(b"[");
            return match rwbs::op(letters, 0) {
                Some(op) if empty => {
                    let time = time.time(cx.time_unit(TimeUnit::Seconds))?;
                    request(time, op, 0, 0, cx.volumes.named(device.bytes)).map(Some)
                }
                _ if empty || plus.starts_with(b"(") || sector.bytes.starts_with(b"(") => {
                    cx.drop_row("SCSI commands passed through, without a sector");
                    Ok(None)
                }
                _ => Err(Field::new(plus, 9, "+").fault("not the + between sector and count")),
            };
        }
        let sectors = Field::new(words.next(), 10, "sectors");
        let Some(op) = rwbs::op(letters, sectors.number()?) else {
            cx.drop_row(rwbs::NO_OP);
            return Ok(None);
        };
        let time = time.time(cx.time_unit(TimeUnit::Seconds))?;
        let offset = sector.bytes_of(cx.sector())?;
        let len = sectors.bytes_of(cx.sector())?;
        request(time, op, offset, len, cx.volumes.named(device.bytes)).map(Some)
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        if self.ended {
            return None;
        }
        let start = *row;
        row.number()?;
        row.expect(b",")?;
        row.number()?;
        let device = start.until(*row);
        row.gap()?;
        let (_cpu, ()) = (row.word(Separator::Blank)?, row.gap()?);
        let (_sequence, ()) = (row.word(Separator::Blank)?, row.gap()?);
        let time = row.time(cx.time_unit(TimeUnit::Seconds), |mark| mark == b'.')?;
        row.gap()?;
        let (_pid, ()) = (row.word(Separator::Blank)?, row.gap()?);
        match row.rest() {
            [action, b' ', ..] if *action == self.action => row.pass(1),
            [action, b' ', ..] if action.is_ascii_alphabetic() => return Some(()),
            _ => return None,
        }
        row.gap()?;
        let letters = row.word(Separator::Blank)?;
        row.gap()?;
        let offset = row.bytes_of(cx.sector())?;
        row.gap()?;
        row.expect(b"+")?;
        row.gap()?;
        let sectors = row.number()?;
        row.ends(Separator::Blank)?;
        let op = rwbs::op(letters, sectors)?;
        let len = sectors.checked_mul(cx.sector())?;
        row::push(out, time, op, offset, len, || cx.volumes.named(device))
    }
}

impl Blkparse {
    /// Handles a line without an event: a message of blkparse, its summary, or an error.
    fn outside(&mut self, line: &[u8], device: &Field<'_>) -> Parsed<()> {
        let line = line.trim_ascii();
        if is_summary(line) {
            self.ended = true;
            return Ok(());
        }
        if line.starts_with(b"Input file ") {
            return Ok(());
        }
        Err(if device.bytes.is_empty() {
            Fault::line("the line is no event")
        } else {
            device.fault("not major,minor")
        })
    }
}
