//! Parses one field of a text line as a number, a time or an operation. Errors name the field.

use super::{
    dates,
    fault::{Fault, MEND, Parsed, shown},
    rwbs,
    units::TimeUnit,
};
use crate::{Op, Request};

/// The error for a word that is not an operation.
const NOTHING: &str = "no operation (R, W, …)";

/// Marks a byte that is not a hexadecimal digit.
pub(crate) const NO_HEX: u8 = 0xff;

/// The values of hexadecimal digits.
pub(crate) const HEX: [u8; 256] = {
    let mut values = [NO_HEX; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// A field: its bytes and its name for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    /// Its bytes, without surrounding blanks and quotes.
    pub(crate) bytes: &'a [u8],
    /// Its column, counted from 1; 0 if columns are not numbered.
    pub(crate) number: usize,
    /// Its name.
    pub(crate) name: &'a str,
}

impl<'a> Field<'a> {
    /// The field `name` in column `number` (from 1).
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], number: usize, name: &'a str) -> Field<'a> {
        Field { bytes: trimmed(bytes), number, name }
    }

    /// An error in this field. `trouble` completes "field 5 (Offset) is "12a4", …".
    #[cold]
    pub(crate) fn fault(&self, trouble: &str) -> Box<Fault> {
        let label = label(self.number, self.name);
        if self.bytes.is_empty() {
            return Fault::line(format!("{label} is empty"));
        }
        Fault::with_remedy(format!("{label} is {}, {trouble}", shown(self.bytes)), MEND)
    }

    /// Parses a whole number.
    #[inline]
    pub(crate) fn number(&self) -> Parsed<u64> {
        match atoi_simd::parse_pos::<u64, false>(self.bytes) {
            Ok(value) => Ok(value),
            Err(_) => self.number_slowly(),
        }
    }

    /// Parses what the fast parser refuses: `0x` numbers, many leading zeros, and invalid fields.
    #[cold]
    fn number_slowly(&self) -> Parsed<u64> {
        if let [b'0', b'x' | b'X', _, ..] = self.bytes {
            return self.hex();
        }
        if let [b'-', digits @ ..] = self.bytes
            && all_digits(digits)
        {
            return Err(self.fault("a negative number"));
        }
        if !all_digits(self.bytes) {
            return match decimal(self.bytes) {
                Some(Some(value)) => Ok(value),
                Some(None) => Err(self.fault("more than 64 bits hold")),
                None => Err(self.fault("not a whole number")),
            };
        }
        let zeros = self.bytes.iter().take_while(|&&b| b == b'0').count();
        let digits = &self.bytes[zeros..];
        if digits.is_empty() {
            return Ok(0);
        }
        atoi_simd::parse_pos::<u64, false>(digits).map_err(|_| self.fault("more than 64 bits hold"))
    }

    /// Parses a placement hint; an empty field is none.
    pub(crate) fn hint(&self) -> Parsed<u16> {
        if self.bytes.is_empty() {
            return Ok(0);
        }
        let hint = u16::try_from(self.number()?);
        hint.map_err(|_| self.fault("not a hint: a number from 0, which is none, to 65535"))
    }

    /// Parses a hexadecimal number, with or without `0x`.
    pub(crate) fn hex(&self) -> Parsed<u64> {
        let digits = match self.bytes {
            [b'0', b'x' | b'X', digits @ ..] => digits,
            digits => digits,
        };
        // Addresses often have leading zeros, up to all digits of 64 bits.
        if let (Some((high, rest)), 16) = (digits.split_first_chunk(), digits.len())
            && let Some(low) = rest.first_chunk()
            && let (Some(high), Some(low)) = (eight_digits(*high), eight_digits(*low))
        {
            return Ok(high << 32 | low);
        }
        let mut value = 0_u64;
        let (mut wrong, mut lost) = (digits.is_empty(), false);
        for &byte in digits {
            let digit = HEX[usize::from(byte)];
            wrong |= digit == NO_HEX;
            lost |= value >> 60 != 0;
            value = value << 4 | u64::from(digit & 0xf);
        }
        match (wrong, lost) {
            (true, _) => Err(self.fault("not a hexadecimal number")),
            (_, true) => Err(self.fault("more than 64 bits hold")),
            _ => Ok(value),
        }
    }

    /// Parses a whole number of units; returns bytes.
    #[inline]
    pub(crate) fn bytes_of(&self, unit: u64) -> Parsed<u64> {
        let value = self.number()?;
        value.checked_mul(unit).ok_or_else(|| self.too_far(unit))
    }

    /// Parses a hexadecimal number of units, with or without `0x`; returns bytes.
    pub(crate) fn bytes_of_hex(&self, unit: u64) -> Parsed<u64> {
        self.hex()?.checked_mul(unit).ok_or_else(|| self.too_far(unit))
    }

    #[cold]
    fn too_far(&self, unit: u64) -> Box<Fault> {
        self.fault(&format!("past the end of any device in units of {unit} bytes"))
    }

    /// Parses a time in `unit`, whole or with a decimal point; returns nanoseconds, rounded.
    #[inline]
    pub(crate) fn time(&self, unit: TimeUnit) -> Parsed<u64> {
        let plain = self.plain_time(unit, |mark| mark == b'.');
        plain.map_or_else(|| self.time_slowly(unit), Ok)
    }

    /// Parses a time that consists of digits and at most one decimal mark.
    #[inline]
    pub(crate) fn plain_time(&self, unit: TimeUnit, is_mark: impl Fn(u8) -> bool) -> Option<u64> {
        match atoi_simd::parse_prefix_pos::<u64, false>(self.bytes) {
            Ok((value, used)) if used == self.bytes.len() => whole_ns(value, unit),
            Ok((value, used)) if is_mark(self.bytes[used]) => {
                fraction_ns(&self.bytes[used + 1..], unit)
                    .and_then(|fraction| whole_ns(value, unit)?.checked_add(fraction))
            }
            _ => None,
        }
    }

    /// Parses rare times: dates, times of day, `.5`, `1.2e3`, and invalid fields.
    #[cold]
    fn time_slowly(&self, unit: TimeUnit) -> Parsed<u64> {
        if let Some(ns) = dates::unix_ns(self.bytes).or_else(|| dates::of_day_ns(self.bytes)) {
            return Ok(ns);
        }
        let value: f64 = fast_float2::parse(self.bytes).map_err(|_| self.fault("not a time"))?;
        // The parser of floats also accepts words such as `nan` and `infinity`.
        if !self.bytes.iter().any(u8::is_ascii_digit) {
            return Err(self.fault("not a time"));
        }
        if value < 0.0 {
            return Err(self.fault("a negative time"));
        }
        let ns = value * unit.picoseconds() as f64 / 1e3;
        // 2^64 as f64.
        if ns < 18_446_744_073_709_551_616.0 {
            Ok(ns.round() as u64)
        } else {
            Err(self.fault(&format!("more than 584 years in units of {unit}")))
        }
    }

    /// Parses a spelled-out operation in any case: `R`, `Write`, `Discard`, `flush`, …
    #[inline]
    pub(crate) fn op(&self) -> Parsed<Op> {
        match self.bytes {
            b"R" | b"r" | b"Read" | b"read" => return Ok(Op::Read),
            b"W" | b"w" | b"Write" | b"write" => return Ok(Op::Write),
            _ => {}
        }
        self.traced_op()?.ok_or_else(|| self.fault(NOTHING))
    }

    /// [`op`](Self::op), or `None` for a word of Linux block tracing that moves no data.
    pub(crate) fn traced_op(&self) -> Parsed<Option<Op>> {
        // Tools write `WRITE_FUA`, `Write (10)`, `READ-AHEAD`: the first word is the operation.
        let ends = |byte: &u8| matches!(byte, b'_' | b'-' | b' ' | b'(');
        let first = self.bytes.split(ends).next().filter(|first| first.len() > 2);
        let word = first.unwrap_or(self.bytes);
        let among =
            |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
        let op = if among(&["r", "read", "rd"]) {
            Op::Read
        } else if among(&["w", "write", "wr"]) {
            Op::Write
        } else if among(&["d", "t", "trim", "discard", "unmap", "deallocate"]) {
            Op::Trim
        } else if among(&["f", "flush", "sync", "fsync", "datasync", "fdatasync"]) {
            Op::Flush
        } else if rwbs::is_word(self.bytes) {
            return Ok(rwbs::op_of(self.bytes));
        } else {
            return Err(self.fault(NOTHING));
        };
        Ok(Some(op))
    }
}

/// Parses eight hexadecimal digits at once: the lower half of each byte, plus 9 for letters.
#[inline]
pub(crate) const fn eight_digits(digits: [u8; 8]) -> Option<u64> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let raw = u64::from_be_bytes(digits);
    let small = raw | ((raw >> 1) & (0x20 * ONES));
    let letters = (small >> 6) & ONES;
    let values = (small & (0x0f * ONES)) + 9 * letters;
    // Encoding the values again must give the input. Only letters are above 9, and none is above
    // 15.
    let again = values + 0x30 * ONES + 0x27 * letters;
    let above_9 = ((values + 6 * ONES) >> 4) & ONES;
    if again != small || above_9 != letters || values & (0x10 * ONES) != 0 {
        return None;
    }
    let pairs = (values >> 4 | values) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs >> 8 | pairs) & 0x0000_ffff_0000_ffff;
    Some((fours >> 16 | fours) & 0xffff_ffff)
}

/// Whether all bytes are hexadecimal digits.
#[inline]
pub(crate) fn is_hex(bytes: &[u8]) -> bool {
    // Without branches, so that compilers vectorise it.
    bytes.iter().fold(true, |all, byte| all & byte.is_ascii_hexdigit())
}

/// A request with a checked range. A flush has none.
#[inline]
pub(crate) fn request(time_ns: u64, op: Op, offset: u64, len: u64, volume: u32) -> Parsed<Request> {
    if op == Op::Flush {
        return Ok(Request { time_ns, op, offset: 0, len: 0, volume, hint: 0 });
    }
    if offset.checked_add(len).is_none() {
        return Err(Fault::line(format!("{len} bytes at offset {offset} reach past 2^64 bytes")));
    }
    Ok(Request { time_ns, op, offset, len, volume, hint: 0 })
}

/// The name of a column in messages.
pub(crate) fn label(number: usize, name: &str) -> String {
    if number == 0 { format!("field {name}") } else { format!("field {number} ({name})") }
}

/// `value` units in nanoseconds.
#[inline]
fn whole_ns(value: u64, unit: TimeUnit) -> Option<u64> {
    match unit.picoseconds() {
        1 => Some(value / 1000 + u64::from(value % 1000 >= 500)),
        picoseconds => value.checked_mul(picoseconds / 1000),
    }
}

/// The digits after a decimal point, in nanoseconds; `None` if they are not digits.
#[inline]
pub(crate) fn fraction_ns(digits: &[u8], unit: TimeUnit) -> Option<u64> {
    const TENS: [u64; 10] =
        [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    if digits.is_empty() {
        return Some(0);
    }
    // Nine digits of a second are nanoseconds. More digits change only the rounding of smaller
    // units, where they are at most picoseconds.
    let kept = &digits[..digits.len().min(9)];
    if !all_digits(digits) {
        return None;
    }
    let value = atoi_simd::parse_pos::<u64, false>(kept).ok()?;
    let scale = TENS[kept.len()];
    let per_unit = unit.picoseconds();
    if per_unit == 1_000_000_000_000 && kept.len() == 9 {
        return Some(value);
    }
    // value < 10^9 and per_unit ≤ 10^12: only seconds need 128 bits.
    if per_unit == 1_000_000_000_000 {
        return Some(value * (1_000_000_000 / scale));
    }
    Some((value * per_unit / scale + 500) / 1000)
}

/// Parses a whole number with a decimal point or an exponent exactly: `4096e3`, `4.096e+6`,
/// `4096.0`. The inner `None` means that it exceeds 64 bits; the outer `None` that it is not whole,
/// or may be grouped by thousands (`1.000`).
pub(crate) fn decimal(bytes: &[u8]) -> Option<Option<u64>> {
    let at = bytes.iter().position(|b| matches!(b, b'e' | b'E'));
    let (mantissa, exponent) = bytes.split_at(at.unwrap_or(bytes.len()));
    let at = mantissa.iter().position(|&b| b == b'.');
    let (whole, fraction) = mantissa.split_at(at.unwrap_or(mantissa.len()));
    let fraction = fraction.strip_prefix(b".").unwrap_or(fraction);
    let grouped = exponent.is_empty() && fraction.len() == 3 && whole.len() <= 3 && whole != b"0";
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    if whole.is_empty() || !digits(whole) || !digits(fraction) || grouped {
        return None;
    }
    let mut power = match exponent {
        [] => 0,
        [_, rest @ ..] => std::str::from_utf8(rest).ok()?.parse::<i32>().ok()?,
    };
    power = power.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let (mut value, mut is_lost) = (0_u64, false);
    let mut zeros = 0_u32;
    // Zeros are applied when a digit follows them; trailing ones count towards the power.
    for digit in whole.iter().chain(fraction) {
        zeros += 1;
        if *digit != b'0' {
            let scale = if value == 0 { Some(1) } else { 10_u64.checked_pow(zeros) };
            let next = scale.and_then(|scale| value.checked_mul(scale));
            let next = next.and_then(|next| next.checked_add(u64::from(digit - b'0')));
            is_lost |= next.is_none();
            (value, zeros) = (next.unwrap_or(value), 0);
        }
    }
    if value == 0 {
        return Some(Some(0));
    }
    let power = u32::try_from(i64::from(power) + i64::from(zeros)).ok()?;
    let scaled = 10_u64.checked_pow(power).and_then(|scale| value.checked_mul(scale));
    Some(scaled.filter(|_| !is_lost))
}

/// True for one or more decimal digits.
fn all_digits(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit)
}

/// Removes surrounding blanks, and one pair of double quotes.
#[inline]
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let plain = |b: &u8| *b > b' ' && *b != b'"';
    match bytes {
        [only] if plain(only) => bytes,
        [first, .., last] if plain(first) && plain(last) => bytes,
        _ => trimmed_slowly(bytes),
    }
}

fn trimmed_slowly(bytes: &[u8]) -> &[u8] {
    match bytes.trim_ascii() {
        [b'"', inner @ .., b'"'] => inner.trim_ascii(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str, unit: TimeUnit) -> Option<u64> {
        Field::new(text.as_bytes(), 1, "t").time(unit).ok()
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        assert_eq!(
            time("1456095145.133076001", TimeUnit::Seconds),
            Some(1_456_095_145_133_076_001)
        );
        assert_eq!(time("0.551706", TimeUnit::Seconds), Some(551_706_000));
        assert_eq!(time("5265.313", TimeUnit::Milliseconds), Some(5_265_313_000));
        assert_eq!(time("26.2140005", TimeUnit::Milliseconds), Some(26_214_001));
        assert_eq!(time("128166385295514663", TimeUnit::Ticks), Some(12_816_638_529_551_466_300));
        assert_eq!(time("1499", TimeUnit::Picoseconds), Some(1));
        assert_eq!(time(".5", TimeUnit::Microseconds), Some(500));
        assert_eq!(time("1e3", TimeUnit::Nanoseconds), Some(1000));
        assert_eq!(time("7.", TimeUnit::Nanoseconds), Some(7));
    }

    #[test]
    fn impossible_times_are_refused() {
        for text in ["", "-1", "1.2.3", "1.x", "nan", "inf", "99999999999999999999"] {
            assert_eq!(time(text, TimeUnit::Seconds), None, "{text}");
        }
    }

    #[test]
    fn numbers_say_what_is_wrong_with_them() {
        let fault = |text: &str| {
            Field::new(text.as_bytes(), 5, "Offset").number().map_err(|f| f.what().to_owned())
        };
        assert_eq!(fault("12a4"), Err(r#"field 5 (Offset) is "12a4", not a whole number"#.into()));
        assert_eq!(fault("-4"), Err(r#"field 5 (Offset) is "-4", a negative number"#.into()));
        assert_eq!(fault(""), Err("field 5 (Offset) is empty".into()));
        assert!(fault("18446744073709551616").is_err());
        assert_eq!(fault("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(fault("00000000000000000000000000000017"), Ok(17));
    }

    #[test]
    fn numbers_in_scientific_notation_are_exact_or_refused() {
        let number = |text: &str| Field::new(text.as_bytes(), 1, "Offset").number().ok();
        for (text, value) in [
            ("4096e3", 4_096_000),
            ("4096E3", 4_096_000),
            ("4.096e+06", 4_096_000),
            ("4096.0", 4096),
            ("4096.000000", 4096),
            ("4096.000", 4096),
            ("40960000e-4", 4096),
            ("0e0", 0),
            ("0.0", 0),
            ("0.000", 0),
            ("10e-1", 1),
            ("7.", 7),
            ("1.8446744073709551615e19", u64::MAX),
            ("00000000000000000000000001e0", 1),
            ("1000000000000000000000000e-24", 1),
        ] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in [
            "1.8446744073709551616e19",
            "1e20",
            "1.5",
            "15e-1",
            "1e",
            "e3",
            ".e3",
            "1e3.5",
            "1.2.3",
            "1e+",
            "1.000",
            "1.234",
            "4096e3x",
            "1e99999999999",
            "--1e3",
            "1e--3",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
        let fault = |text: &str| Field::new(text.as_bytes(), 5, "T").time(TimeUnit::Seconds);
        for text in ["nan", "NaN", "inf", "Infinity", "-inf"] {
            let fault = fault(text).expect_err("refused");
            assert!(fault.what().ends_with(", not a time"), "{}", fault.what());
        }
        let long = fault("1e400").expect_err("refused");
        assert!(long.what().ends_with("more than 584 years in units of s"), "{}", long.what());
    }

    #[test]
    fn sixteen_hexadecimal_digits_are_read_as_others_are() {
        let hex = |text: &[u8]| Field::new(text, 1, "x").hex().ok();
        assert_eq!(hex(b"0123456789abCDEF"), Some(0x0123_4567_89ab_cdef));
        assert_eq!(hex(b"0xFFFFFFFFFFFFFFFF"), Some(u64::MAX));
        for byte in 0..=u8::MAX {
            for place in 0..16 {
                let mut digits = *b"0000000000000000";
                digits[place] = byte;
                let value = char::from(byte).to_digit(16).map(|v| u64::from(v) << (60 - 4 * place));
                // Surrounding blanks and quotes are removed.
                let at_end = matches!(place, 0 | 15) && (byte <= b' ' || byte == b'"');
                // `0x` is a prefix.
                let is_prefix = place == 1 && matches!(byte, b'x' | b'X');
                assert!(at_end || is_prefix || hex(&digits) == value, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn sectors_past_any_device_are_refused() {
        assert!(Field::new(b"36028797018963968", 1, "LBA").bytes_of(512).is_err());
        assert!(request(0, Op::Read, u64::MAX, 1, 0).is_err());
    }
}
