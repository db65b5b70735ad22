//! Sizes in human notation: `40MiB`, `4k`, `512`, `64MB`.

use crate::UnitError;

const UNITS: [(&str, u32); 5] = [("", 0), ("K", 10), ("M", 20), ("G", 30), ("T", 40)];

/// The decimal units used to sell storage.
const DECIMAL: [(&str, u64); 4] = [
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
];

/// Smallest result, in bytes, that may be rounded to whole bytes, as for `372.6GiB`.
const LEAST_ROUNDED: f64 = 1048576.0;

/// Parses a size such as `512`, `4k`, `4KiB`, `1.5GiB` or `64MB`. Returns bytes.
///
/// `k`, `M`, `G`, `T` are powers of 1024 with or without `iB`. `MB`, `GB`, `TB`, `PB` are powers
/// of 1000. `kB` is refused because page and request sizes often mean 1024 by it.
///
/// # Errors
/// [`UnitError`], with the accepted notation.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let suffix = suffix.trim_start();
    let decimal = DECIMAL.iter().find(|(name, _)| *name == suffix).map(|(_, unit)| *unit);
    let unit = decimal.or_else(|| shift_of(suffix).map(|bits| 1 << bits));
    let unit = unit.ok_or_else(|| refuse(text, number, suffix))?;
    let bytes = if number.contains('.') {
        number
            .parse::<f64>()
            .ok()
            .map(|n| n * unit as f64)
            .filter(|b| (b.fract() == 0.0 || *b >= LEAST_ROUNDED) && *b < 9.0e18)
            .map(|b| b.round() as u64)
    } else {
        number.parse::<u64>().ok().and_then(|n| n.checked_mul(unit))
    };
    bytes.ok_or_else(|| refuse(text, number, suffix))
}

fn shift_of(suffix: &str) -> Option<u32> {
    let letter = suffix.strip_suffix("iB").unwrap_or(suffix);
    if suffix == "B" {
        return Some(0);
    }
    if letter.is_empty() && !suffix.is_empty() {
        return None;
    }
    UNITS.iter().find(|(name, _)| letter.eq_ignore_ascii_case(name)).map(|&(_, bits)| bits)
}

fn refuse(text: &str, number: &str, suffix: &str) -> UnitError {
    let decimal = suffix.len() == 2 && suffix.ends_with('B') && shift_of(&suffix[..1]).is_some();
    let remedy = if decimal {
        let letter = suffix[..1].to_uppercase();
        format!("write `{number}{letter}iB` for the power of 1024, or the bytes in full")
    } else {
        "write whole bytes with an optional k, M, G or T (powers of 1024) or MB, GB, TB (of 1000), such as \
         `4KiB`"
            .into()
    };
    UnitError { what: format!("`{text}` is not a size"), remedy }
}

/// Formats a size in the largest unit that is exact. [`parse_size`] reads it back.
#[must_use]
pub fn format_size(bytes: u64) -> String {
    let exact = |bits: u32| bytes >= 1 << bits && bytes.trailing_zeros() >= bits;
    match UNITS.iter().rev().find(|&&(_, bits)| bits > 0 && exact(bits)) {
        Some((letter, bits)) => format!("{}{letter}iB", bytes >> bits),
        None => bytes.to_string(),
    }
}

/// Formats a size for display: `485.0 MiB`.
#[must_use]
pub fn show_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract() == 0.0 {
        format!("{value} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}
