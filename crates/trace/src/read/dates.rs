//! Dates and times of day in the notation of ISO 8601 and RFC 3339: `2026-03-01T12:30:05.25Z`.

/// Nanoseconds from 1970 to a date: `YYYY-MM-DD`, then `T` or a blank and `HH:MM[:SS[.fraction]]`,
/// then `Z`, `+HH:MM`, `-HHMM` or nothing, which means UTC. `None` for anything else, and before
/// 1970.
pub(crate) fn unix_ns(text: &[u8]) -> Option<u64> {
    let mut rest = text;
    let (year, month, day) =
        (digits(&mut rest, 4)?, after(&mut rest, b"-/")?, after(&mut rest, b"-/")?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (mut seconds, mut ns) = (days(year, month, day) * 86_400, 0);
    if !rest.is_empty() {
        let (hour, minute) = (after(&mut rest, b"T t")?, after(&mut rest, b":")?);
        let second = if rest.first() == Some(&b':') { after(&mut rest, b":")? } else { 0 };
        if hour > 24 || minute > 59 || second > 60 {
            return None;
        }
        seconds += hour * 3600 + minute * 60 + second;
        ns = fraction(&mut rest)?;
        seconds -= zone(rest)?;
    }
    u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?.checked_add(ns)
}

/// Nanoseconds from midnight to a time of day: `HH:MM:SS[.fraction]`.
pub(crate) fn of_day_ns(text: &[u8]) -> Option<u64> {
    let mut rest = text;
    let (hour, minute, second) =
        (digits(&mut rest, 2)?, after(&mut rest, b":")?, after(&mut rest, b":")?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let ns = fraction(&mut rest)?;
    let seconds = u64::try_from(hour * 3600 + minute * 60 + second).ok()?;
    rest.is_empty().then_some(seconds * 1_000_000_000 + ns)
}

/// Days from 1970 to a day of the Gregorian calendar. Here a year begins in March, so that the leap
/// day is its last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

/// The number given by this many digits.
fn digits(text: &mut &[u8], count: usize) -> Option<i64> {
    let (number, rest) = text.split_at_checked(count)?;
    *text = rest;
    number
        .iter()
        .all(u8::is_ascii_digit)
        .then(|| number.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
}

/// Two digits after one of these separators.
fn after(text: &mut &[u8], separators: &[u8]) -> Option<i64> {
    let (first, rest) = text.split_first()?;
    *text = rest;
    if separators.contains(first) { digits(text, 2) } else { None }
}

/// Nanoseconds of a fraction of a second, if there is one.
fn fraction(text: &mut &[u8]) -> Option<u64> {
    let [b'.' | b',', rest @ ..] = *text else { return Some(0) };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    *text = &rest[count..];
    let kept = &rest[..count.min(9)];
    let value = kept.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
    (count > 0).then(|| value * 10_u64.pow(9 - kept.len() as u32))
}

/// Offset of a time zone from UTC, in seconds.
fn zone(text: &[u8]) -> Option<i64> {
    let (sign, mut rest) = match text {
        [] | b"Z" | b"z" | b" UTC" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let hours = digits(&mut rest, 2)?;
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    let minutes = if rest.is_empty() { 0 } else { digits(&mut { rest }, 2)? };
    (rest.len() <= 2).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_read_to_the_nanosecond() {
        assert_eq!(of_day_ns(b"17:58:57.814"), Some(64_737_814_000_000));
        assert_eq!(of_day_ns(b"00:00:01"), Some(1_000_000_000));
        for text in [&b"24:00:00"[..], b"7:58:57", b"17:58", b"17:58:57x", b"17:58:57."] {
            assert_eq!(of_day_ns(text), None);
        }
    }

    #[test]
    fn dates_are_read_to_the_nanosecond() {
        let day = 1_772_323_200_000_000_000;
        for (text, ns) in [
            ("1970-01-01", 0),
            ("2026-03-01", day),
            ("2026-03-01 00:00", day),
            ("2024-02-29T23:59:59Z", 1_709_251_199_000_000_000),
            ("2026-03-01T01:02:03.25", day + 3_723_250_000_000),
            ("2026/03/01 01:02:03.123456789012Z", day + 3_723_123_456_789),
            ("2026-03-01T02:00:00+02:00", day),
            ("2026-02-28T19:30:00-0430", day),
        ] {
            assert_eq!(unix_ns(text.as_bytes()), Some(ns), "{text}");
        }
        for text in [
            "",
            "1969-12-31",
            "2026",
            "2026-13-01",
            "2026-03-01T",
            "2026-03-01T1",
            "20260301",
            "2026-03-01T25:00",
            "2026-03-01T00:00:00.",
            "2026-03-01T00:00 noon",
            "128166385295514663",
        ] {
            assert_eq!(unix_ns(text.as_bytes()), None, "{text}");
        }
    }
}
