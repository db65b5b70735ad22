//! The fast parser of text rows: numbers, times and words directly from the bytes, in one pass,
//! eight bytes at a time.
//!
//! It handles typical rows and returns `None` in any doubt: a sign, a quote, an unknown word, a
//! number that may not fit. The format's slow parser ([`LineFormat::line`]) then reads the row
//! again, with full leniency and error messages. So the fast parser never returns an error, and
//! never a different result.
//!
//! [`LineFormat::line`]: super::lines::LineFormat::line

use memchr::{memchr, memchr2};

use super::{
    fields::{Field, fraction_ns, trimmed},
    layout::Separator,
    units::TimeUnit,
};
use crate::{Op, Request};

/// Each byte 1.
const ONES: u64 = u64::from_ne_bytes([1; 8]);

/// The highest bit of each byte.
const TOPS: u64 = 0x80 * ONES;

/// Powers of ten up to the length of parsed numbers: 19 digits always fit 64 bits.
const TENS: [u64; 20] = {
    let mut tens = [1; 20];
    let mut power = 1;
    while power < tens.len() {
        tens[power] = 10 * tens[power - 1];
        power += 1;
    }
    tens
};

/// Whether the fast parser has read a row; `None` leaves it to the slow parser.
pub(crate) type Quick = Option<()>;

/// A position in a block of whole lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    rest: &'a [u8],
}

impl<'a> Row<'a> {
    /// The first row of whole lines.
    #[inline(always)]
    pub(crate) fn new(lines: &'a [u8]) -> Row<'a> {
        Row { rest: lines }
    }

    /// The unread bytes: the rest of the row, and the lines after it.
    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The bytes up to a later position.
    #[inline(always)]
    pub(crate) fn until(&self, end: Row<'_>) -> &'a [u8] {
        &self.rest[..self.rest.len() - end.rest.len()]
    }

    /// Skips bytes, which must exist.
    #[inline(always)]
    pub(crate) fn pass(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// Skips exactly these bytes.
    #[inline(always)]
    pub(crate) fn expect(&mut self, bytes: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(bytes)?;
        Some(())
    }

    /// The next eight bytes, the first one lowest. `None` at the end of a block, which is left to
    /// the slow parser.
    #[inline(always)]
    fn eight(&self) -> Option<u64> {
        self.rest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// Skips blanks, if any.
    #[inline(always)]
    pub(crate) fn blanks(&mut self) {
        match self.rest {
            [b' ', b' ', ..] => self.rest = after_blanks(self.rest),
            [b' ', rest @ ..] => self.rest = rest,
            _ => {}
        }
    }

    /// Skips a run of at least one blank or tab.
    #[inline(always)]
    pub(crate) fn gap(&mut self) -> Option<()> {
        self.next(Separator::Blank)
    }

    /// Skips a separator with the blanks around it.
    #[inline(always)]
    pub(crate) fn next(&mut self, separator: Separator) -> Option<()> {
        match separator {
            Separator::Byte(byte) => {
                // There are few blanks around it, unless blanks are the separator.
                let [first, rest @ ..] = self.rest else { return None };
                if *first != byte {
                    self.blanks();
                    self.expect(&[byte])?;
                } else {
                    self.rest = rest;
                }
                if byte != b' ' {
                    self.blanks();
                }
            }
            Separator::Blank => {
                let [b' ' | b'\t', rest @ ..] = self.rest else { return None };
                self.rest = rest;
                self.blanks();
                while let [b'\t', rest @ ..] = self.rest {
                    self.rest = rest;
                    self.blanks();
                }
            }
        }
        Some(())
    }

    /// Whether the line ends here.
    #[inline(always)]
    pub(crate) fn is_at_end(&self) -> bool {
        matches!(self.rest, [b'\n', ..] | [b'\r', b'\n', ..])
    }

    /// Checks that a column, and possibly the line, ends here.
    #[inline(always)]
    pub(crate) fn ends(&self, separator: Separator) -> Option<()> {
        let more = match (separator, *self.rest.first()?) {
            (Separator::Byte(byte), found) => found == byte,
            (Separator::Blank, found) => matches!(found, b' ' | b'\t'),
        };
        (more || self.is_at_end()).then_some(())
    }

    /// The lines after this one.
    #[inline(always)]
    pub(crate) fn after_line(&self) -> &'a [u8] {
        match self.rest {
            [b'\n', after @ ..] => after,
            rest => memchr(b'\n', rest).map_or(&[], |end| &rest[end + 1..]),
        }
    }

    /// The rest of the line, without its end, which is not consumed.
    #[inline(always)]
    pub(crate) fn line(&mut self) -> Option<&'a [u8]> {
        let (line, rest) = self.rest.split_at(memchr(b'\n', self.rest)?);
        self.rest = rest;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// The bytes of a column. It may be empty between single bytes. Surrounding blanks and quotes
    /// are kept.
    #[inline(always)]
    pub(crate) fn word(&mut self, separator: Separator) -> Option<&'a [u8]> {
        let (one, other) = match separator {
            Separator::Byte(byte) => (byte, byte),
            Separator::Blank => (b' ', b'\t'),
        };
        let bytes = self.eight()?;
        let ends = of_three(bytes, one, other, b'\n');
        let length = match ends {
            0 => 8 + length_of_more(&self.rest[8..], one, other)?,
            ends => ends.trailing_zeros() as usize / 8,
        };
        let (mut word, rest) = self.rest.split_at(length);
        self.rest = rest;
        if rest.first() == Some(&b'\n') {
            word = word.strip_suffix(b"\r").unwrap_or(word);
        }
        // Between blanks there are no empty columns.
        (separator != Separator::Blank || !word.is_empty()).then_some(word)
    }

    /// The bytes of a column, like [`Row::word`]. A quoted one may contain separators, and keeps
    /// its quotes.
    #[inline(always)]
    pub(crate) fn column(&mut self, separator: Separator) -> Option<&'a [u8]> {
        if self.rest.first() == Some(&b'"') { self.quoted(separator) } else { self.word(separator) }
    }

    #[inline(never)]
    fn quoted(&mut self, separator: Separator) -> Option<&'a [u8]> {
        let length = 2 + memchr2(b'"', b'\n', self.rest.get(1..)?)?;
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        // A doubled quote, or a quote within a word, is rare.
        self.ends(separator)?;
        (word.len() > 1 && word.ends_with(b"\"")).then_some(word)
    }

    /// Skips an unused column and the separator after it.
    #[inline(always)]
    pub(crate) fn pass_column(&mut self, separator: u8) -> Option<()> {
        loop {
            let ends = of_three(self.eight()?, separator, separator, b'\n');
            if ends != 0 {
                self.pass(ends.trailing_zeros() as usize / 8);
                return self.expect(&[separator]);
            }
            self.pass(8);
        }
    }

    /// Parses a whole decimal number.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Option<u64> {
        self.digits().map(|(value, _)| value)
    }

    /// Parses one to 19 decimal digits; returns their value and number.
    #[inline(always)]
    fn digits(&mut self) -> Option<(u64, usize)> {
        let (first, count) = decimal(self.eight()?);
        self.pass(count);
        if count < 8 {
            return if count > 0 { Some((first, count)) } else { None };
        }
        let (value, count) = more_digits(self.rest, first);
        if count > 11 {
            return None;
        }
        self.pass(count);
        Some((value, 8 + count))
    }

    /// Parses a whole number of units; returns bytes.
    #[inline(always)]
    pub(crate) fn bytes_of(&mut self, unit: u64) -> Option<u64> {
        self.number()?.checked_mul(unit)
    }

    /// Parses a hexadecimal number of up to 16 digits, with or without `0x`.
    #[inline(always)]
    pub(crate) fn hex(&mut self) -> Option<u64> {
        if let [b'0', b'x' | b'X', rest @ ..] = self.rest {
            self.rest = rest;
        }
        let (first, count) = hexadecimal(self.eight()?);
        self.pass(count);
        if count < 8 || !self.rest.first()?.is_ascii_hexdigit() {
            return (count > 0).then_some(first);
        }
        let (second, count) = hexadecimal(self.eight()?);
        self.pass(count);
        // A seventeenth digit is detected by the check of the following byte.
        Some(if count < 8 { first << (4 * count) | second } else { first << 32 | second })
    }

    /// Parses a time in `unit`, with or without a decimal mark and a fraction; returns nanoseconds.
    #[inline(always)]
    pub(crate) fn time(&mut self, unit: TimeUnit, is_mark: impl Fn(u8) -> bool) -> Option<u64> {
        let whole = self.number()?.checked_mul(unit.nanoseconds()?)?;
        if !self.rest.first().is_some_and(|&next| is_mark(next)) {
            return Some(whole);
        }
        self.pass(1);
        whole.checked_add(self.fraction(unit)?)
    }

    /// Parses the digits after a decimal mark; returns nanoseconds.
    #[inline(always)]
    fn fraction(&mut self, unit: TimeUnit) -> Option<u64> {
        let start = *self;
        let (value, count) = self.digits()?;
        let exact = unit.decimals();
        if count <= exact {
            return Some(value * TENS[exact - count]);
        }
        fraction_ns(start.until(*self), unit)
    }

    /// Parses `22:24:30.113180`, with at least one decimal; returns nanoseconds since midnight.
    #[inline(always)]
    pub(crate) fn time_of_day(&mut self) -> Option<u64> {
        const COLONS: u64 = 0x0000_ff00_00ff_0000;
        let digits = self.eight()? ^ u64::from_le_bytes(*b"00:00:00");
        let others = (digits.wrapping_add(0x06 * ONES) | digits) & (0xf0 * ONES);
        if others | digits & COLONS != 0 {
            return None;
        }
        let [h, hours, _, m, minutes, _, s, seconds] = digits.to_le_bytes().map(u64::from);
        let (hours, minutes, seconds) = (10 * h + hours, 10 * m + minutes, 10 * s + seconds);
        if hours > 23 || minutes > 59 || seconds > 59 {
            return None;
        }
        self.pass(8);
        self.expect(b".")?;
        let (value, count) = self.digits()?;
        let fraction = value * TENS[9_usize.checked_sub(count)?];
        Some((hours * 3600 + minutes * 60 + seconds) * 1_000_000_000 + fraction)
    }

    /// Parses a spelled-out operation.
    #[inline(always)]
    pub(crate) fn op(&mut self, separator: Separator) -> Option<Op> {
        const CASE: u64 = 0x20 * ONES;
        let bytes = self.eight()?;
        let ends = |byte: u8| match separator {
            Separator::Byte(separator) => byte == separator,
            Separator::Blank => matches!(byte, b' ' | b'\t'),
        };
        // Without a branch between read and write, which is unpredictable.
        let [first, second, ..] = bytes.to_le_bytes();
        if ends(second) && matches!(first, b'R' | b'r' | b'W' | b'w') {
            self.pass(1);
            return Some(if first | 0x20 == b'w' { Op::Write } else { Op::Read });
        }
        self.read_or_write(CASE).or_else(|| {
            let bytes = trimmed(self.word(separator)?);
            let op = Field { bytes, number: 0, name: "" }.op().ok()?;
            // A write with a leading flush may have no data.
            (op == Op::Flush || !bytes.starts_with(b"F")).then_some(op)
        })
    }

    /// Parses `read` or `write` in lower case. The caller checks what follows.
    #[inline(always)]
    pub(crate) fn plain_read_or_write(&mut self) -> Option<Op> {
        self.read_or_write(0)
    }

    /// [`plain_read_or_write`](Self::plain_read_or_write) with the bits of `case` set before.
    #[inline(always)]
    fn read_or_write(&mut self, case: u64) -> Option<Op> {
        const READ: u64 = u64::from_le_bytes(*b"read\0\0\0\0");
        const WRITE: u64 = u64::from_le_bytes(*b"write\0\0\0");
        let bytes = self.eight()? | case;
        let reads = bytes & (u64::MAX >> 32) == READ;
        let writes = bytes & (u64::MAX >> 24) == WRITE;
        if !(reads | writes) {
            return None;
        }
        self.pass(4 + usize::from(writes));
        Some(if writes { Op::Write } else { Op::Read })
    }
}

/// Adds a request with a checked range. `volume` is called last, because it registers the name.
#[inline(always)]
pub(crate) fn push(
    out: &mut Vec<Request>,
    time_ns: u64,
    op: Op,
    offset: u64,
    len: u64,
    volume: impl FnOnce() -> u32,
) -> Quick {
    let flushes = op == Op::Flush;
    let (offset, len) = if flushes { (0, 0) } else { (offset, len) };
    offset.checked_add(len)?;
    let volume = volume();
    out.push(Request { time_ns, op, offset, len, volume, hint: 0 });
    Some(())
}

/// The number that begins with eight digits of this value and continues here, and how many digits
/// follow. With more than 11, which may not fit, the number is invalid.
#[inline(never)]
fn more_digits(rest: &[u8], first: u64) -> (u64, usize) {
    let mut row = Row { rest };
    let Some((second, count)) = row.eight().map(decimal) else { return (0, usize::MAX) };
    if count < 8 {
        return (first * TENS[count] + second, count);
    }
    row.pass(8);
    let Some((third, count)) = row.eight().map(decimal) else { return (0, usize::MAX) };
    let value = first * TENS[8] + second;
    (value.wrapping_mul(TENS[count]).wrapping_add(third), 8 + count)
}

/// The bytes after leading blanks.
#[inline(always)]
fn after_blanks(mut rest: &[u8]) -> &[u8] {
    while let Some(bytes) = rest.first_chunk() {
        let others = u64::from_le_bytes(*bytes) ^ (u64::from(b' ') * ONES);
        let blanks = others.trailing_zeros() as usize / 8;
        rest = &rest[blanks..];
        if blanks < 8 {
            return rest;
        }
    }
    &rest[rest.iter().take_while(|&&byte| byte == b' ').count()..]
}

/// The number of remaining bytes of a word.
#[inline(never)]
fn length_of_more(rest: &[u8], one: u8, other: u8) -> Option<usize> {
    let mut row = Row { rest };
    loop {
        let ends = of_three(row.eight()?, one, other, b'\n');
        if ends != 0 {
            let length = rest.len() - row.rest.len();
            return Some(length + ends.trailing_zeros() as usize / 8);
        }
        row.pass(8);
    }
}

/// Marks the first byte that equals one of three; later marks may be wrong.
#[inline]
const fn of_three(bytes: u64, one: u8, two: u8, three: u8) -> u64 {
    finds(bytes, one) | finds(bytes, two) | finds(bytes, three)
}

/// Marks the first byte that equals `byte`; later marks may be wrong.
#[inline]
pub(crate) const fn finds(bytes: u64, byte: u8) -> u64 {
    let others = bytes ^ (byte as u64 * ONES);
    others.wrapping_sub(ONES) & !others & TOPS
}

/// Parses the decimal digits at the start of eight bytes; returns their value and number.
#[inline(always)]
fn decimal(bytes: u64) -> (u64, usize) {
    let digits = bytes ^ (0x30 * ONES);
    // Other bytes give values above 9. A carry out of such a byte affects only later ones.
    let others = (digits.wrapping_add(0x06 * ONES) | digits) & (0xf0 * ONES);
    let count = others.trailing_zeros() / 8;
    // Moves the digits to the end, with zeros before them.
    let digits = digits.unbounded_shl(64 - 8 * count);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    (high.wrapping_add(low) >> 32, count as usize)
}

/// Parses the hexadecimal digits at the start of eight bytes; returns their value and number.
#[inline(always)]
fn hexadecimal(bytes: u64) -> (u64, usize) {
    // No sum below carries into the next byte.
    let seven = bytes & !TOPS;
    let small = seven | (0x20 * ONES);
    let decimals = (seven + 0x50 * ONES) & !(seven + 0x46 * ONES);
    let letters = (small + 0x1f * ONES) & !(small + 0x19 * ONES);
    let others = !((decimals | letters) & !bytes) & TOPS;
    let count = others.trailing_zeros() / 8;
    let digits = bytes.unbounded_shl(64 - 8 * count).swap_bytes();
    let values = (digits & (0x0f * ONES)) + 9 * (digits >> 6 & ONES);
    let pairs = (values >> 4 | values) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs >> 8 | pairs) & 0x0000_ffff_0000_ffff;
    ((fours >> 16 | fours) & 0xffff_ffff, count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of these bytes.
    fn row(text: &str) -> Row<'_> {
        Row::new(text.as_bytes())
    }

    #[test]
    fn every_byte_ends_a_number_but_digits() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut bytes = *b"12345678";
                bytes[place] = byte;
                let text = u64::from_le_bytes(bytes);
                let count = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
                let value = bytes[..count].iter().fold(0, |v, b| 10 * v + u64::from(b - b'0'));
                assert_eq!(decimal(text), (value, count), "{bytes:?}");
                let count = bytes.iter().take_while(|b| b.is_ascii_hexdigit()).count();
                let digits = std::str::from_utf8(&bytes[..count]).expect("ASCII");
                let value = u64::from_str_radix(digits, 16).unwrap_or(0);
                assert_eq!(hexadecimal(text), (value, count), "{bytes:?}");
            }
        }
    }

    #[test]
    fn numbers_of_19_digits_are_read_and_longer_ones_left() {
        assert_eq!(row("9999999999999999999,padding").number(), Some(9_999_999_999_999_999_999));
        assert_eq!(row("00000000000000000000,padding").number(), None);
        assert_eq!(row("-1,padding").number(), None);
        assert_eq!(row("0x0123456789abCDEF,padding").hex(), Some(0x0123_4567_89ab_cdef));
        assert_eq!(row("0x,padding").hex(), None);
    }

    #[test]
    fn times_are_exact_or_left() {
        let time = |text: &str, unit| row(text).time(unit, |mark| mark == b'.');
        assert_eq!(time("0.551706,padding", TimeUnit::Seconds), Some(551_706_000));
        assert_eq!(time("26.2140005,padding", TimeUnit::Milliseconds), Some(26_214_001));
        assert_eq!(time("7.,padding", TimeUnit::Seconds), None);
        assert_eq!(time("1499,padding", TimeUnit::Picoseconds), None);
        assert_eq!(time("99999999999,padding", TimeUnit::Seconds), None);
    }
}
