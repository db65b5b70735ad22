//! Tolerances of measured values relative to published ones.

use crate::error::Wrong;

/// A relative and an absolute tolerance. If both are given, meeting either is sufficient.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    text: String,
    relative: f64,
    absolute: f64,
}

impl Tolerance {
    /// Parses `3%` (of the published value), `±0.5`, `3% or ±0.5`, `exact`.
    pub(crate) fn parse(text: &str) -> Result<Self, Wrong> {
        let mut parsed = Self { text: text.into(), relative: 0.0, absolute: 0.0 };
        let number =
            |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        for part in text.split(" or ").map(str::trim) {
            let (into, value) = match (part.strip_suffix('%'), part.strip_prefix('±')) {
                _ if part == "exact" => continue,
                (Some(share), None) => (&mut parsed.relative, number(share).map(|n| n / 100.0)),
                (None, Some(absolute)) => (&mut parsed.absolute, number(absolute)),
                _ => (&mut parsed.absolute, None),
            };
            *into = value.ok_or_else(|| {
                Wrong::new(
                    format!("`{text}` is no tolerance"),
                    "write `3%` (of the published value), `±0.5`, `3% or ±0.5`, or `exact`",
                )
            })?;
        }
        Ok(parsed)
    }

    /// The tolerated deviation from this value.
    pub fn around(&self, published: f64) -> f64 {
        self.absolute.max(published.abs() * self.relative)
    }

    /// Whether a measured value is within the tolerance.
    pub fn holds(&self, published: f64, measured: f64) -> bool {
        // Numbers that are equal in decimal may differ in the last binary digit.
        let rounding = published.abs() * 1e-9;
        (measured - published).abs() <= self.around(published) + rounding
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether only the exact value is within the tolerance.
    pub fn is_exact(&self) -> bool {
        self.relative == 0.0 && self.absolute == 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Tolerance {
        Tolerance::parse(text).expect(text)
    }

    #[test]
    fn shares_are_of_the_published_value_and_the_rest_is_absolute() {
        assert!(of("3%").holds(100.0, 103.0) && !of("3%").holds(100.0, 103.1));
        assert!(of("3%").holds(-100.0, -97.0) && !of("3%").holds(-100.0, -96.9));
        assert!(of("±0.5").holds(1.0, 0.5) && !of("±0.5").holds(1.0, 0.4));
        assert!(of("10% or ±2").holds(1.0, 3.0) && of("10% or ±2").holds(100.0, 110.0));
        assert!(!of("10% or ±2").holds(100.0, 110.1));
        assert!(of("exact").holds(0.1 + 0.2, 0.3) && !of("exact").holds(1567.0, 1567.01));
    }

    #[test]
    fn invalid_tolerances_are_refused() {
        for text in ["", "3", "three%", "±", "±3%", "-3%", "3 %%", "NaN%", "inf%"] {
            assert!(Tolerance::parse(text).is_err(), "{text}");
        }
    }
}
