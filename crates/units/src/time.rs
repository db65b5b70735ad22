//! Times as people write them: `84min`, `250s`, `20ms`.

use crate::UnitError;

/// Units, in nanoseconds.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
];

/// Nanoseconds of a time such as `84min`, `250s`, `2.5us`; a number alone is none, but for 0.
///
/// # Errors
/// [`UnitError`], saying how to write it.
pub fn parse_time(text: &str) -> Result<u64, UnitError> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start();
    let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let scale =
        scale.or_else(|| (unit.is_empty() && number.trim_matches('0').is_empty()).then_some(1.0));
    let ns = number.parse::<f64>().ok().zip(scale).map(|(number, scale)| number * scale + 0.5);
    ns.filter(|ns| *ns < 1.8e19).map(|ns| ns as u64).ok_or_else(|| UnitError {
        what: format!("`{text}` is not a time"),
        remedy: "write it as 84min, 250s, 20ms or 100us".into(),
    })
}
