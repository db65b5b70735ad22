//! Sizes, shares and times as people write them.

use thermocline_policy::{Ticks, params::ParamValue};

use crate::SimError;

/// Bytes of `4k`, `4K`, `4KiB`, `192MiB`; `4kB` is refused with a hint.
///
/// # Errors
/// [`SimError::Usage`], saying how to write it.
pub fn size(text: &str) -> Result<u64, SimError> {
    thermocline_trace::generate::parse_size(text).map_err(|e| SimError::Usage(e.to_string()))
}

/// A share: `15%` or `0.15`.
///
/// # Errors
/// [`SimError::Usage`], saying how to write it.
pub fn share(text: &str) -> Result<f64, SimError> {
    let text = text.trim();
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|p| p / 100.0),
        None => text.parse::<f64>(),
    };
    value
        .ok()
        .filter(|v| v.is_finite() && *v >= 0.0)
        .ok_or_else(|| SimError::Usage(format!("`{text}` is not a share; write it as 15% or 0.15")))
}

/// Nanoseconds of `84min`, `20ms`, `24.61s`.
///
/// # Errors
/// [`SimError::Usage`], saying how to write it.
pub fn time(text: &str) -> Result<u64, SimError> {
    Ticks::parse(text.trim()).map(|t| t.0).ok_or_else(|| {
        SimError::Usage(format!("`{text}` is not a time; write it as 84min, 250s, 20ms or 100us"))
    })
}

/// Bytes as people read them: `485.0 MiB`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_people_write() {
        assert_eq!(size("128KiB").ok(), Some(131_072));
        assert!(size("4kB").is_err());
        assert_eq!((share("15%").ok(), share("0.15").ok()), (Some(0.15), Some(0.15)));
        assert!(share("-1").is_err() && share("fifteen").is_err());
        assert_eq!(time("24.61s").ok(), Some(24_610_000_000));
        assert!(time("24").is_err());
        assert_eq!(show_size(24 << 20), "24 MiB");
    }
}
