//! Numbers as people read them.

/// The sign for a missing figure.
pub const NONE: &str = "–";

/// `1,234,567`.
pub fn grouped(value: u64) -> String {
    group(&value.to_string())
}

/// `1,234.50`: `digits` digits after the point.
pub fn fixed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", group(whole)),
        None => group(&text),
    }
}

/// Four digits or so, whatever the size: `0.1234`, `12.34`, `1,234`.
pub fn short(value: f64) -> String {
    fixed(value, digits_for(value))
}

/// Digits after the point that leave four digits or so.
pub fn digits_for(value: f64) -> usize {
    match value.abs() {
        v if v >= 1000.0 || v == 0.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    }
}

/// `15 %`, with a decimal where it says something.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let whole = (percent - percent.round()).abs() < 0.05;
    format!("{} %", fixed(percent, usize::from(!whole)))
}

/// `+37 %`, `+4.2 %`: a share more or less, with a decimal where it says something.
pub fn excess(share: f64) -> String {
    let percent = share * 100.0;
    let text = fixed(percent, usize::from(percent.abs() < 9.95));
    let sign = if text.starts_with('-') { "" } else { "+" };
    format!("{sign}{text} %")
}

/// `37 %`, `4.2 %`: a relative difference, with a decimal if it matters.
pub fn share(share: f64) -> String {
    let text = excess(share);
    text.strip_prefix('+').map_or_else(|| text.clone(), str::to_owned)
}

/// `1 block`, `2 blocks`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Its name.
    pub name: &'static str,
    /// Microseconds in it.
    us: f64,
}

const UNITS: [Unit; 7] = [
    Unit { name: "ns", us: 1e-3 },
    Unit { name: "µs", us: 1.0 },
    Unit { name: "ms", us: 1e3 },
    Unit { name: "s", us: 1e6 },
    Unit { name: "min", us: 60e6 },
    Unit { name: "h", us: 3600e6 },
    Unit { name: "d", us: 86400e6 },
];

impl Unit {
    /// The largest unit in which this time is at least 1; the microsecond for 0.
    pub fn of_us(us: f64) -> Self {
        let fits = |unit: &&Unit| us >= unit.us;
        match UNITS.iter().rev().find(fits) {
            Some(unit) => *unit,
            None if us > 0.0 => UNITS[0],
            None => UNITS[1],
        }
    }

    /// A time in this unit.
    pub fn convert(self, us: f64) -> f64 {
        us / self.us
    }
}

/// A time in the unit that suits it: `24.61 s`.
pub fn time_us(us: f64) -> String {
    let unit = Unit::of_us(us);
    let value = unit.convert(us);
    let text = short(value);
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {}", unit.name)
}

/// Microseconds of a time as options have it: `20ms`, `84min`.
pub fn us_of(text: &str) -> Option<f64> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic())?);
    let unit = UNITS.iter().find(|known| known.name == if unit == "us" { "µs" } else { unit })?;
    number.trim().parse::<f64>().ok().map(|number| number * unit.us)
}

fn group(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut text = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!((grouped(999).as_str(), grouped(1_234_567).as_str()), ("999", "1,234,567"));
        assert_eq!((fixed(-1234.5, 2).as_str(), fixed(12.0, 0).as_str()), ("-1,234.50", "12"));
        assert_eq!((short(0.1234), short(1234.5)), ("0.123".into(), "1,234".into()));
        assert_eq!((excess(0.3712), excess(0.042)), ("+37 %".into(), "+4.2 %".into()));
        assert_eq!((excess(-0.01), excess(12.5)), ("-1.0 %".into(), "+1,250 %".into()));
        assert_eq!((share(0.3712), share(0.042)), ("37 %".into(), "4.2 %".into()));
        assert_eq!((percent(0.15), percent(0.4321)), ("15 %".into(), "43.2 %".into()));
        assert_eq!(
            (counted(1, "block"), counted(2, "block")),
            ("1 block".into(), "2 blocks".into())
        );
    }

    #[test]
    fn times_take_the_unit_that_suits_them() {
        for (us, text) in [
            (0.0, "0 µs"),
            (0.5, "500 ns"),
            (408.2, "408.2 µs"),
            (3000.0, "3 ms"),
            (24.61e6, "24.61 s"),
            (84.0 * 60e6, "1.4 h"),
            (7.0 * 86400e6, "7 d"),
        ] {
            assert_eq!(time_us(us), text);
        }
    }
}
