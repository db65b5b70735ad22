//! Sizes, shares and lists in human notation.

mod list;
pub mod naming;
mod size;

pub use list::split_list;
pub use size::{format_size, parse_size, show_size};

/// A text that is not a valid quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct UnitError {
    /// What is wrong.
    pub what: String,
    /// The accepted notation.
    pub remedy: String,
}

/// Over-provisioning (physical / logical pages - 1) if neither the user nor the device specifies it.
pub const USUAL_OVER_PROVISIONING: f64 = 0.15;

/// Parses a share: `15%` or `0.15`.
///
/// # Errors
/// [`UnitError`], with the accepted notation.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let text = text.trim();
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|p| p / 100.0),
        None => text.parse::<f64>(),
    };
    value.ok().filter(|v| v.is_finite() && *v >= 0.0).ok_or_else(|| UnitError {
        what: format!("`{text}` is not a share"),
        remedy: "write it as 15% or 0.15".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_units_are_parsed() {
        assert_eq!(parse_size("128KiB"), Ok(131_072));
        assert!(parse_size("4kB").is_err());
        assert_eq!((parse_size("64MB"), parse_size("1.5 GB")), (Ok(64_000_000), Ok(1_500_000_000)));
        assert_eq!((parse_size("2TB"), parse_size("2T")), (Ok(2_000_000_000_000), Ok(2 << 40)));
        assert_eq!((parse_size("64mB").is_err(), parse_size("19000PB").is_err()), (true, true));
        assert_eq!(
            (parse_size("372.6GiB"), parse_size("1.3KiB").is_err()),
            (Ok(400_076_203_622), true)
        );
        assert_eq!((parse_share("15%"), parse_share("0.15")), (Ok(0.15), Ok(0.15)));
        assert!(parse_share("-1").is_err() && parse_share("fifteen").is_err());
        assert_eq!(show_size(24 << 20), "24 MiB");
        assert_eq!(format_size(24 << 20), "24MiB");
    }
}
