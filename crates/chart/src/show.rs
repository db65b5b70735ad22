//! Numbers as people read them.

/// The sign for a missing value.
pub const NONE: &str = "–";

/// Four digits or so: `0.1234`, `12.34`, `1,234`; whole numbers as they are.
#[must_use]
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        _ if value.fract() == 0.0 => 0,
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    grouped(&format!("{value:.digits$}"))
}

/// A deviation: two digits or so.
#[must_use]
pub fn deviation(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 10.0 => 0,
        v if v >= 1.0 => 1,
        v if v >= 0.1 => 2,
        _ => 3,
    };
    grouped(&format!("{value:.digits$}"))
}

/// A number as it was printed.
#[must_use]
pub fn exactly(value: f64) -> String {
    grouped(&value.to_string())
}

/// Several: `1, 2, 3`; the ends of a range: `1 – 3`.
#[must_use]
pub fn numbers(values: &[f64], with: &str, show: impl Fn(f64) -> String) -> String {
    values.iter().map(|value| show(*value)).collect::<Vec<_>>().join(with)
}

/// Text without ambiguity: characters that control a terminal, a page or the direction of writing are
/// spelt out.
#[must_use]
pub fn plain(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    text.chars()
        .map(|c| if steers(c) { c.escape_unicode().to_string() } else { c.to_string() })
        .collect()
}

/// As above, shortened to this many letters.
#[must_use]
pub fn short(text: &str, most: usize) -> String {
    let text = plain(text);
    if text.chars().count() <= most {
        return text;
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept + "…"
}

fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut shown = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    if !fraction.is_empty() {
        shown = shown + "." + fraction;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_or_so() {
        let shown = [7098.25, 171_468.0, 0.123_45, -12.345, 3.0, 0.0].map(number);
        assert_eq!(shown, ["7,098", "171,468", "0.123", "-12.35", "3", "0"]);
        assert_eq!([69.16, 1567.0].map(exactly), ["69.16", "1,567"]);
    }

    #[test]
    fn control_characters_are_spelt_out() {
        assert_eq!(plain("a\u{1b}[31m\u{202e}ß<b>"), "a\\u{1b}[31m\\u{202e}ß<b>");
        assert_eq!((short("abcdef", 4), short("abcd", 4)), ("abc…".into(), "abcd".into()));
    }
}
