//! Numbers in the locale of a Windows user: `1.048.576`, `1,079943800`.

use crate::read::{fault::Parsed, fields::Field, row::Row, units::TimeUnit};

/// Whether a byte may group digits by threes: a dot, a comma, an apostrophe, blanks of several
/// widths.
fn is_grouping(byte: u8) -> bool {
    // 0xc2 0xa0 and 0xe2 0x80 0xaf are the no-break spaces of UTF-8.
    matches!(byte, b'.' | b',' | b'\'' | b' ' | 0xc2 | 0xa0 | 0xe2 | 0x80 | 0xaf)
}

/// Longer fields are not parsed as numbers.
const LONGEST: usize = 64;

/// Parses a whole number whose digits may be grouped.
#[inline]
pub(super) fn whole(field: Field<'_>) -> Parsed<u64> {
    grouped(field.bytes).map_or_else(|| whole_slowly(field), Ok)
}

/// Parses a time with a decimal comma or point in the fast parser.
#[inline]
pub(super) fn quick_time(row: &mut Row<'_>, unit: TimeUnit) -> Option<u64> {
    row.time(unit, |mark| matches!(mark, b'.' | b','))
}

/// Parses digits, grouped by one-byte marks or not. `None` for anything else, and for numbers that
/// are too great.
#[inline]
pub(super) fn grouped(bytes: &[u8]) -> Option<u64> {
    let (mut value, used) = atoi_simd::parse_prefix_pos::<u64, false>(bytes).ok()?;
    let mut rest = &bytes[used..];
    while let [
        b'.' | b',' | b'\'' | b' ',
        a @ b'0'..=b'9',
        b @ b'0'..=b'9',
        c @ b'0'..=b'9',
        more @ ..,
    ] = rest
    {
        let three = [a, b, c].iter().fold(0, |sum, &&digit| 10 * sum + u64::from(digit - b'0'));
        value = value.checked_mul(1000)?.checked_add(three)?;
        rest = more;
    }
    rest.is_empty().then_some(value)
}

/// Parses rare numbers: other marks, many leading zeros, and invalid fields.
#[cold]
fn whole_slowly(field: Field<'_>) -> Parsed<u64> {
    if field.bytes.iter().all(u8::is_ascii_digit) {
        return field.number();
    }
    let mut digits = [0; LONGEST];
    let mut count = 0;
    let mut since_group = None;
    for &byte in field.bytes.iter().take(LONGEST) {
        if byte.is_ascii_digit() {
            digits[count] = byte;
            count += 1;
            since_group = since_group.map(|n| n + 1);
        } else if is_grouping(byte) && count > 0 {
            // If there are not three digits between marks, it is a fraction and not a group.
            if byte.is_ascii() && since_group.is_some_and(|n| n != 3) {
                return Err(field.fault("not a whole number"));
            }
            since_group = Some(0);
        } else {
            return Err(field.fault("not a whole number"));
        }
    }
    if since_group.is_some_and(|n| n != 3) {
        return Err(field.fault("not a whole number"));
    }
    Field { bytes: &digits[..count], ..field }
        .number()
        .map_err(|_| field.fault("not a whole number"))
}

/// Parses a time with a decimal comma or point. The last mark is the decimal one; earlier marks
/// group.
#[inline]
pub(super) fn time(field: Field<'_>, unit: TimeUnit) -> Parsed<u64> {
    let plain = field.plain_time(unit, |mark| matches!(mark, b'.' | b','));
    plain.map_or_else(|| time_slowly(field, unit), Ok)
}

/// Parses a time with grouped digits, or an invalid one.
#[cold]
fn time_slowly(field: Field<'_>, unit: TimeUnit) -> Parsed<u64> {
    let mark = field.bytes.iter().rposition(|b| matches!(b, b'.' | b','));
    let mut plain = [0; LONGEST];
    let mut count = 0;
    for (at, &byte) in field.bytes.iter().enumerate().take(LONGEST) {
        let is_mark = Some(at) == mark;
        if is_mark || !is_grouping(byte) {
            plain[count] = if is_mark { b'.' } else { byte };
            count += 1;
        }
    }
    Field { bytes: &plain[..count], ..field }.time(unit).map_err(|_| field.fault("not a time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str) -> Field<'_> {
        Field::new(text.as_bytes(), 1, "Size")
    }

    #[test]
    fn digits_may_be_grouped() {
        for text in ["1048576", "1.048.576", "1,048,576", "1'048'576", "1\u{a0}048\u{a0}576"] {
            assert_eq!(whole(field(text)).ok(), Some(1_048_576), "{text}");
        }
        for text in ["1.5", "16.38", "1.04.576", ".5", "x", "16.384x"] {
            assert!(whole(field(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn the_last_mark_of_a_time_is_the_decimal_one() {
        for text in ["1,079943800", "1.079943800"] {
            assert_eq!(time(field(text), TimeUnit::Seconds).ok(), Some(1_079_943_800), "{text}");
        }
        let grouped = time(field("1.360,300"), TimeUnit::Seconds).ok();
        assert_eq!(grouped, Some(1_360_300_000_000));
        assert_eq!(time(field("17"), TimeUnit::Seconds).ok(), Some(17_000_000_000));
    }
}
