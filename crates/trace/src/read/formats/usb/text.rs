//! Text of Linux's usbmon, `/sys/kernel/debug/usb/usbmon/1u` and the older `1t`, with one event a
//! line: `URB-tag µs S|C|E address status length = data`.
//!
//! Requests are the SCSI commands to disks and sticks. Times count from the first line. The volume
//! is `bus.device`, with `.unit` for all but the first logical unit (`1t` has no bus). At most 32
//! bytes of a transfer are recorded, which is enough for commands but not for contents.

use super::{disks::Disks, start::Start, transfer::Transfer};
use crate::{
    Request,
    read::{
        context::Context,
        entry::{Entry, Special},
        fault::{Fault, Parsed},
        fields::{Field, HEX, NO_HEX, eight_digits},
        input::Input,
        layout::Separator,
        lines::LineFormat,
        row::{Quick, Row, finds},
        sample::Hit,
    },
};

/// Microseconds after which the clock wraps: 4096 seconds or, in kernels before 2.6.21, the range
/// of its 32 bits.
const TURN: u64 = 4_096_000_000;
const LONG_TURN: u64 = 1 << 32;

/// Maximum disorder between events of several processors, in microseconds. A clock that steps back
/// further has wrapped.
const DISORDER: u64 = 10_000_000;

/// Maximum number of bytes taken from a line; usbmon prints 32.
const MOST: usize = 64;

pub(in crate::read::formats) const USBMON: Entry = Entry {
    name: "usbmon",
    about: "usbmon text, 1u or 1t: SCSI commands to USB disks and sticks, microseconds",
    source: "Linux Documentation/usb/usbmon.rst; USB Bulk-Only Transport 1.0; UAS; SBC-4",
    special: Special::NONE,
    detect: |sample| {
        let lines = || sample.lines.iter().filter(|line| !line.is_empty());
        let events = lines().filter(|line| event(line).is_some()).count();
        (events > 0 && lines().count() - events <= events / 4)
            .then_some(Hit { score: 95, from: "lines of URB tag, time, S or C, and address" })
    },
    open: |setup| {
        let start = Start::of(setup.inputs.iter().filter_map(first_time));
        let contents = setup.contents;
        setup.lines(|_| Usbmon {
            disks: Disks::new(contents),
            known: Known::default(),
            clock: Clock::default(),
            start: start.clone(),
        })
    },
};

/// The time of the first event, in nanoseconds.
fn first_time(input: &Input) -> Option<u64> {
    let line = input.window().split(|&b| b == b'\n').find_map(event)?;
    line.time.number().ok()?.checked_mul(1000)
}

/// The fields that every event has.
struct Event<'a> {
    time: Field<'a>,
    /// Submission, completion, or an error in submission.
    kind: u8,
    address: Address,
    rest: &'a [u8],
}

/// A cache of address words, because most lines have one of few.
struct Known([(u128, Address); KNOWN]);

/// Number of cached words; a power of two.
const KNOWN: usize = 64;

impl Default for Known {
    fn default() -> Known {
        // No word is 0.
        Known([(0, Address { bulk: false, inward: false, bus: None, device: 0 }); KNOWN])
    }
}

impl Known {
    /// The next word of a row as a number, with its length; `None` if it is longer than any cached
    /// word.
    #[inline(always)]
    fn word(bytes: &[u8]) -> Option<(u128, usize)> {
        let bytes = u128::from_le_bytes(*bytes.first_chunk()?);
        let blanks = |half: u64| finds(half, b' ');
        let [first, second] = [bytes as u64, (bytes >> 64) as u64].map(blanks);
        let bits = if first != 0 { first.trailing_zeros() } else { 64 + second.trailing_zeros() };
        let length = bits as usize / 8;
        (1..16).contains(&length).then(|| (bytes & ((1 << (8 * length)) - 1), length))
    }

    /// The cache slot of a word.
    #[inline(always)]
    fn place(word: u128) -> usize {
        let both = (word as u64).rotate_left(20) ^ (word >> 64) as u64;
        (both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % KNOWN
    }

    /// Reads the next address of a row, if it is cached.
    #[inline(always)]
    fn address(&self, row: &mut Row<'_>) -> Option<Address> {
        let (word, length) = Known::word(row.rest())?;
        let (known, address) = self.0[Known::place(word)];
        row.pass(length);
        (known == word).then_some(address)
    }

    /// Caches the address of a line.
    fn learn(&mut self, line: &[u8], address: Address) {
        let (_, rest) = word(line);
        let (_, rest) = word(rest);
        let (_, rest) = word(rest);
        let (word, _) = word(rest);
        let mut bytes = [0; 16];
        if word.len() < bytes.len() {
            bytes[..word.len()].copy_from_slice(word);
            let word = u128::from_le_bytes(bytes);
            self.0[Known::place(word)] = (word, address);
        }
    }
}

/// The address of an event: the word `Bo:1:005:2`, or `Bo:005:02` in `1t`.
#[derive(Clone, Copy)]
struct Address {
    bulk: bool,
    inward: bool,
    bus: Option<u16>,
    device: u16,
}

/// Parses the fields that all lines share.
#[inline]
fn event(line: &[u8]) -> Option<Event<'_>> {
    let (tag, rest) = match line.iter().position(|b| matches!(b, b' ' | b'\t')) {
        Some(end) if end > 0 => line.split_at(end),
        _ => word(line),
    };
    let (time, rest) = word(rest);
    let (kind, rest) = word(rest);
    let (address, rest) = word(rest);
    let &[kind @ (b'S' | b'C' | b'E')] = kind else { return None };
    let is_number = !time.is_empty() && time.iter().all(u8::is_ascii_digit);
    let address = Address::of(address)?;
    (!tag.is_empty() && is_number).then(|| Event {
        time: Field::new(time, 2, "time"),
        kind,
        address,
        rest,
    })
}

impl Address {
    #[inline]
    fn of(word: &[u8]) -> Option<Address> {
        let (kind, numbers) = word.split_at_checked(2)?;
        let &[kind @ (b'C' | b'Z' | b'I' | b'B'), way @ (b'i' | b'o')] = kind else { return None };
        let mut parts = numbers.split(|&b| b == b':');
        if !parts.next()?.is_empty() {
            return None;
        }
        let mut number = || match parts.next() {
            Some(digits) => small(digits).map(Some),
            None => Some(None),
        };
        let (first, second, third, fourth) = (number()?, number()?, number()?, number()?);
        let (bus, device) = match (first, second, third, fourth) {
            (bus, Some(device), Some(_), None) => (bus, device),
            (Some(device), Some(_), None, None) => (None, device),
            _ => return None,
        };
        Some(Address { bulk: kind == b'B', inward: way == b'i', bus, device })
    }
}

/// A short decimal number, with or without leading zeros.
#[inline]
fn small(digits: &[u8]) -> Option<u16> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u16, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| u16::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// The first word, and what follows it.
#[inline]
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let blank = |b: &u8| matches!(b, b' ' | b'\t');
    let line = match line {
        [b' ', rest @ ..] if rest.first().is_some_and(|b| !blank(b)) => rest,
        _ => &line[line.iter().position(|b| !blank(b)).unwrap_or(line.len())..],
    };
    let end = line.iter().position(blank).unwrap_or(line.len());
    line.split_at(end)
}

/// A clock that wraps about every hour.
#[derive(Clone, Copy, Default)]
struct Clock {
    /// Microseconds of all wraps so far, and of the last one.
    turned: u64,
    turn: u64,
    last: u64,
}

impl Clock {
    /// Microseconds since the clock started; `None` after 584 years.
    #[inline]
    fn at(&mut self, us: u64) -> Option<u64> {
        if self.last > us.saturating_add(DISORDER) {
            // Times beyond the short period belong to the long one.
            self.turn = if self.last >= TURN { LONG_TURN } else { TURN };
            self.turned = self.turned.checked_add(self.turn)?;
        } else if self.last < DISORDER && us >= TURN - DISORDER && self.turned > 0 {
            return (self.turned - self.turn).checked_add(us);
        }
        self.last = us;
        self.turned.checked_add(us)
    }
}

struct Usbmon {
    disks: Disks,
    known: Known,
    clock: Clock,
    start: Start,
}

impl LineFormat for Usbmon {
    const SKIPS_HEADER: bool = false;

    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>> {
        let event = event(line).ok_or_else(|| not_an_event(line))?;
        self.known.learn(line, event.address);
        // Errors have no time in older kernels.
        if event.kind == b'E' {
            return Ok(None);
        }
        let us = event.time.number()?;
        let time = self.clock.at(us).and_then(|us| us.checked_mul(1000));
        let time = time.ok_or_else(|| event.time.fault("past 584 years"))?;
        let time_ns = time.saturating_sub(self.start.or(time));
        let Address { bulk, inward, bus, device } = event.address;
        if !bulk || inward != (event.kind == b'C') {
            return Ok(None);
        }
        let (_status, rest) = word(event.rest);
        let (length, rest) = word(rest);
        let length = Field::new(length, 6, "length").number()?;
        if length == 0 {
            return Ok(None);
        }
        let (flag, words) = word(rest);
        let mut bytes = [0; MOST];
        let captured = if flag == b"=" { hex(words, &mut bytes)? } else { 0 };
        let captured = captured.min(usize::try_from(length).unwrap_or(MOST));
        let data = &bytes[..captured];
        self.disks.transfer(&Transfer { time_ns, bus, device, inward, length, data }, cx);
        Ok(None)
    }

    #[inline]
    fn quick(&mut self, row: &mut Row<'_>, cx: &mut Context, _: &mut Vec<Request>) -> Quick {
        const BLANK: Separator = Separator::Blank;
        row.word(BLANK)?;
        row.expect(b" ")?;
        let us = row.number()?;
        let [b' ', kind @ (b'S' | b'C'), b' '] = *row.rest().first_chunk()? else { return None };
        row.pass(3);
        let Address { bulk, inward, bus, device } = self.known.address(row)?;
        let mut clock = self.clock;
        let time = clock.at(us)?.checked_mul(1000)?;
        let moves = bulk && inward == (kind == b'C');
        let (mut length, mut bytes, mut captured) = (0, [0; MOST], 0);
        if moves {
            row.expect(b" ")?;
            row.word(BLANK)?;
            row.expect(b" ")?;
            length = row.number()?;
            match *row.rest().first_chunk()? {
                [b' ', b'='] => {
                    row.pass(2);
                    captured = quick_hex(row, &mut bytes)?;
                }
                [b' ', b'<' | b'>'] => {}
                _ => row.is_at_end().then_some(())?,
            }
        }
        self.clock = clock;
        let time_ns = time.saturating_sub(self.start.or(time));
        if length > 0 {
            let captured = captured.min(usize::try_from(length).unwrap_or(MOST));
            let data = &bytes[..captured];
            self.disks.transfer(&Transfer { time_ns, bus, device, inward, length, data }, cx);
        }
        Some(())
    }

    #[inline]
    fn held(&mut self) -> Option<Request> {
        let (request, bytes) = self.disks.next()?;
        if let Some(bytes) = bytes {
            self.disks.recycle(bytes);
        }
        Some(request)
    }

    fn end(&mut self, cx: &mut Context) {
        self.disks.finish(cx);
    }
}

/// Parses the data words of a line; returns the number of bytes.
#[inline]
fn hex(mut words: &[u8], bytes: &mut [u8; MOST]) -> Parsed<usize> {
    let mut found = 0;
    loop {
        let (next, rest) = word(words);
        words = rest;
        if next.is_empty() {
            return Ok(found);
        }
        let fault = || Field::new(next, 0, "data").fault("not bytes in hexadecimal");
        if next.len() % 2 == 1 {
            return Err(fault());
        }
        for pair in next.chunks_exact(2) {
            let [high, low] = [pair[0], pair[1]].map(|digit| HEX[usize::from(digit)]);
            if high == NO_HEX || low == NO_HEX {
                return Err(fault());
            }
            let Some(byte) = bytes.get_mut(found) else { return Ok(found) };
            *byte = high << 4 | low;
            found += 1;
        }
    }
}

/// Reads words separated by single blanks up to the end of the line. All but the last have four
/// bytes.
#[inline]
fn quick_hex(row: &mut Row<'_>, bytes: &mut [u8; MOST]) -> Option<usize> {
    let mut found = 0;
    for four in bytes.as_chunks_mut::<4>().0 {
        if row.is_at_end() {
            return Some(found);
        }
        row.expect(b" ")?;
        match eight_digits(*row.rest().first_chunk()?) {
            Some(value) => {
                *four = (value as u32).to_be_bytes();
                row.pass(8);
                found += 4;
            }
            None => {
                if matches!(row.rest(), [_, b'x' | b'X', ..]) {
                    return None;
                }
                let start = *row;
                let value = row.hex()?;
                let digits = start.until(*row).len();
                if digits % 2 == 1 || digits > 8 || !row.is_at_end() {
                    return None;
                }
                *four = ((value as u32) << (32 - 4 * digits)).to_be_bytes();
                found += digits / 2;
            }
        }
    }
    None
}

/// The error for the first invalid field of those that all lines share.
#[cold]
fn not_an_event(line: &[u8]) -> Box<Fault> {
    let (_tag, rest) = word(line);
    let (time, rest) = word(rest);
    let (kind, rest) = word(rest);
    let (address, _) = word(rest);
    if time.is_empty() || !time.iter().all(u8::is_ascii_digit) {
        Field::new(time, 2, "time").fault("not a whole number of microseconds")
    } else if !matches!(kind, b"S" | b"C" | b"E") {
        Field::new(kind, 3, "event").fault("neither S, C nor E")
    } else {
        Field::new(address, 4, "address").fault("not type, bus, device and endpoint")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_wraps_continues() {
        let mut clock = Clock::default();
        let times =
            [4_095_000_000, 4_095_999_999, 3, 4_095_999_998, 5, 3_000_000_000, 2_000_000_000];
        let seen: Vec<_> = times.into_iter().map(|us| clock.at(us).expect("in range")).collect();
        assert_eq!(
            seen,
            [
                4_095_000_000,
                4_095_999_999,
                4_096_000_003,
                4_095_999_998,
                4_096_000_005,
                7_096_000_000,
                10_192_000_000
            ]
        );
        let mut old = Clock::default();
        assert_eq!(old.at(4_294_967_295), Some(4_294_967_295));
        assert_eq!(old.at(1), Some(4_294_967_297));
    }
}
