//! Block events of ftrace, trace-cmd and perf, as text.
//!
//! `… seconds: block_rq_issue: maj,min RWBS bytes (cmd) sector + n [process]`, and the same for
//! `block_rq_complete` and `block_bio_queue`. One of the three is used. The volume is `maj,min`.

use memchr::memmem::{self, Finder};

use crate::{
    Request,
    read::{
        action::Action,
        context::Context,
        entry::{Entry, Refused, Special},
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
    name: "ftrace",
    about: "ftrace, trace-cmd, perf text: block_rq_issue events, seconds, 512 B sectors",
    source: "Linux include/trace/events/block.h",
    special: Special::NONE,
    detect: |sample| {
        let events = |action| sample.lines.iter().any(|line| find(line, action).is_some());
        [Action::Issue, Action::Queue, Action::Complete]
            .into_iter()
            .any(events)
            .then_some(Hit { score: 90, from: "block_rq_… events" })
    },
    open: |setup| {
        let named = setup.action;
        setup.lines(|input| {
            let action = named.unwrap_or_else(|| preferred(input));
            Ftrace { action, name: Finder::new(event(action)) }
        })
    },
};

/// Events of drivers. Depending on kernel and driver, their blocks are sectors or the device's
/// blocks.
pub(super) const OF_DRIVERS: Refused = Refused {
    detect: |sample| {
        const EVENTS: [&[u8]; 5] = [
            b"ufshcd_command: ",
            b"nvme_setup_cmd: ",
            b"mmc_blk_rw_start: ",
            b"mmc_request_start: ",
            b"scsi_dispatch_cmd_start: ",
        ];
        let has = |line: &&[u8]| EVENTS.iter().any(|name| memmem::find(line, name).is_some());
        sample.lines.iter().any(has)
    },
    what: "these are a driver's events, which do not say how large their blocks are",
    remedy: "record those of the block layer, as `trace-cmd record -e block:block_rq_issue` does",
};

/// The action to use, chosen by the first lines.
fn preferred(input: &Input) -> Action {
    let sample = Sample::new(input.window());
    Action::preferred(|action| sample.lines.iter().any(|line| find(line, action).is_some()))
}

/// The name of the event for an action.
fn event(action: Action) -> &'static [u8] {
    match action {
        Action::Queue => b"block_bio_queue: ",
        Action::Issue => b"block_rq_issue: ",
        Action::Complete => b"block_rq_complete: ",
    }
}

/// The parts of a line before and after the name of an event.
fn find(line: &[u8], action: Action) -> Option<(&[u8], &[u8])> {
    let name = event(action);
    let at = memmem::find(line, name)?;
    Some((&line[..at], &line[at + name.len()..]))
}

/// The part before an event, up to the end of its time.
fn before_event(before: &[u8]) -> &[u8] {
    // perf writes the subsystem before the event: "block:block_rq_issue:".
    let before = before.strip_suffix(b"block:").unwrap_or(before).trim_ascii_end();
    before.strip_suffix(b":").unwrap_or(before)
}

struct Ftrace {
    action: Action,
    /// Searches for the name of the event.
    name: Finder<'static>,
}

impl LineFormat for Ftrace {
    // The first event of a trace without comments must not be skipped.
    const SKIPS_HEADER: bool = false;

    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        let Some((before, after)) = find(line, self.action) else { return Ok(None) };
        let before = before_event(before);
        let start = before.iter().rposition(|&b| matches!(b, b' ' | b'\t')).map_or(0, |at| at + 1);
        let time = Field::new(&before[start..], 0, "time").time(cx.time_unit(TimeUnit::Seconds))?;
        let missing = |name: &str| Fault::line(format!("the {name} is missing"));
        let mut words = after.split(|&b| b == b' ').filter(|word| !word.is_empty());
        let device = words.next().ok_or_else(|| missing("device"))?;
        let letters = words.next().ok_or_else(|| missing("operation (RWBS)"))?;
        // Bytes and a command in parentheses may follow; " + " separates sector and count.
        let plus =
            memmem::find(after, b" + ").ok_or_else(|| missing("+ between sector and count"))?;
        let sector_at = after[..plus].iter().rposition(|&b| b == b' ').map_or(0, |at| at + 1);
        let sector = Field::new(&after[sector_at..plus], 0, "sector");
        let rest = &after[plus + 3..];
        let end = rest.iter().position(|&b| b == b' ').unwrap_or(rest.len());
        let sectors = Field::new(&rest[..end], 0, "sectors");
        let Some(op) = rwbs::op(letters, sectors.number()?) else {
            cx.drop_row(rwbs::NO_OP);
            return Ok(None);
        };
        let len = sectors.bytes_of(cx.sector())?;
        // A flush has no sector, and some kernels print -1 for it.
        let offset = if op == crate::Op::Flush { 0 } else { sector.bytes_of(cx.sector())? };
        request(time, op, offset, len, cx.volumes.named(device)).map(Some)
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, out: &mut Vec<Request>) -> Quick {
        const BLANK: Separator = Separator::Byte(b' ');
        let mut after = *row;
        let line = after.line()?;
        let Some(at) = self.name.find(line) else { return Some(()) };
        let before = before_event(&line[..at]);
        let start = before.iter().rposition(|&b| matches!(b, b' ' | b'\t')).map_or(0, |at| at + 1);
        let mut clock = *row;
        clock.pass(start);
        let time = clock.time(cx.time_unit(TimeUnit::Seconds), |mark| mark == b'.')?;
        if row.until(clock).len() != before.len() {
            return None;
        }
        row.pass(at + self.name.needle().len());
        let device = row.word(BLANK)?;
        row.expect(b" ")?;
        let letters = row.word(BLANK)?;
        row.expect(b" ")?;
        if device.is_empty() || letters.is_empty() {
            return None;
        }
        // Bytes and an empty command in parentheses may precede the sector.
        if row.rest().first() != Some(&b'(') {
            let number = *row;
            row.number()?;
            row.expect(b" ")?;
            if row.rest().first() != Some(&b'(') {
                *row = number;
            }
        }
        if row.rest().first() == Some(&b'(') {
            row.expect(b"() ")?;
        }
        let sector = row.number()?;
        row.expect(b" + ")?;
        let sectors = row.number()?;
        row.ends(BLANK)?;
        let op = rwbs::op(letters, sectors)?;
        let (offset, len) = (sector.checked_mul(cx.sector())?, sectors.checked_mul(cx.sector())?);
        row::push(out, time, op, offset, len, || cx.volumes.named(device))
    }
}
