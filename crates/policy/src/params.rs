//! Parameters of policies, declared and documented in one place.
//!
//! [`params!`](crate::params!) turns a struct with doc comments and defaults into the parser of
//! `name(key=value, …)` arguments and into the help of the command line.

use alloc::{format, string::String, vec::Vec};
use core::{fmt, ops::RangeInclusive};

/// Arguments as the user wrote them: `key=value` pairs in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args(pub Vec<(String, String)>);

/// The catalogue entry of a parameter.
#[derive(Clone, Debug)]
pub struct ParamInfo {
    /// The key.
    pub name: &'static str,
    /// Its meaning.
    pub doc: String,
    /// Its default.
    pub default: String,
    /// The form of its values.
    pub expected: &'static str,
    /// Rewrites a value in canonical form, so that equal values have equal texts: `84min` for
    /// `5040s`.
    pub canonical: fn(&str) -> Option<String>,
}

/// An invalid argument of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamError {
    /// The policy has no such parameter.
    Unknown {
        /// The key as the user wrote it.
        key: String,
        /// The parameters that exist.
        known: Vec<&'static str>,
    },
    /// The value does not parse or is out of range.
    Value {
        /// The parameter.
        key: String,
        /// The value as the user wrote it.
        value: String,
        /// What was expected.
        expected: String,
    },
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { key, known } if known.is_empty() => {
                write!(f, "there is no parameter `{key}`; this policy takes none")
            }
            Self::Unknown { key, known } => {
                write!(f, "there is no parameter `{key}`; there are {}", known.join(", "))
            }
            Self::Value { key, value, expected } => {
                write!(f, "`{key}={value}`: expected {expected}")
            }
        }
    }
}

impl core::error::Error for ParamError {}

/// Maximum number of streams of a placement. Each keeps a block open in every bank.
pub const MAX_STREAMS: u32 = 32;

/// Checks that the value of a parameter lies within `range`.
///
/// # Errors
/// [`ParamError::Value`], naming the parameter and the range, if it does not.
pub fn within(
    key: &'static str,
    value: u32,
    range: RangeInclusive<u32>,
) -> Result<u32, ParamError> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (range.start(), range.end());
    let expected = match *most {
        u32::MAX => format!("at least {least}"),
        most => format!("{least} to {most}"),
    };
    Err(ParamError::Value { key: key.into(), value: format!("{value}"), expected })
}

/// A type that a parameter may have.
pub trait ParamValue: Sized {
    /// The form of its values, for help and errors.
    const EXPECTED: &'static str;
    /// Parses a value in the user's notation.
    fn parse(text: &str) -> Option<Self>;
    /// Formats a value in the user's notation.
    fn show(&self) -> String;
}

/// A duration in the run's time unit: nanoseconds, or writes where a run counts those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticks(pub u64);

impl ParamValue for Ticks {
    const EXPECTED: &'static str = "a time such as 84min, 250s, 20ms";
    fn parse(text: &str) -> Option<Self> {
        let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let number: f64 = number.trim().parse().ok()?;
        let scale = match unit {
            "" if number == 0.0 => 1.0,
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            "h" => 3600e9,
            "d" => 86400e9,
            _ => return None,
        };
        let ns = number * scale;
        (0.0..1.8e19).contains(&ns).then_some(Self((ns + 0.5) as u64))
    }
    fn show(&self) -> String {
        const UNITS: [(u64, &str); 6] = [
            (86_400_000_000_000, "d"),
            (3_600_000_000_000, "h"),
            (60_000_000_000, "min"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
        ];
        for (size, unit) in UNITS {
            if self.0 >= size && self.0.is_multiple_of(size) {
                return format!("{}{unit}", self.0 / size);
            }
        }
        format!("{}ns", self.0)
    }
}

impl<T: ParamValue> ParamValue for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    fn parse(text: &str) -> Option<Self> {
        if text == "auto" || text == "none" { Some(None) } else { T::parse(text).map(Some) }
    }
    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "auto".into(), T::show)
    }
}

impl ParamValue for u32 {
    const EXPECTED: &'static str = "a whole number";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        format!("{self}")
    }
}

impl ParamValue for f64 {
    const EXPECTED: &'static str = "a number";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|x: &f64| x.is_finite())
    }
    fn show(&self) -> String {
        format!("{self}")
    }
}

impl ParamValue for bool {
    const EXPECTED: &'static str = "yes or no";
    fn parse(text: &str) -> Option<Self> {
        match text {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        }
    }
    fn show(&self) -> String {
        String::from(if *self { "yes" } else { "no" })
    }
}

/// Declares an enum of named values as a parameter type.
#[macro_export]
macro_rules! choice {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $(#[$doc])*
        $vis enum $name { $($(#[$vdoc])* $variant),* }

        impl $crate::params::ParamValue for $name {
            const EXPECTED: &'static str = $crate::params!(@join $($text),*);
            fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
            fn show(&self) -> alloc::string::String {
                match self { $(Self::$variant => $text.into()),* }
            }
        }
    };
}

/// Declares the parameters of a policy: fields with a doc comment, a type and a default.
#[macro_export]
macro_rules! params {
    (@join $first:literal $(, $rest:literal)*) => { concat!($first $(, " | ", $rest)*) };
    ($(#[$doc:meta])* $vis:vis struct $name:ident {
        $($(#[doc = $fdoc:literal])* $field:ident : $ty:ty = $default:expr),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name { $($(#[doc = $fdoc])* pub $field: $ty),* }

        impl Default for $name {
            fn default() -> Self { Self { $($field: $default),* } }
        }

        impl $name {
            /// Name, meaning, default and form of each parameter.
            #[must_use]
            pub fn info() -> alloc::vec::Vec<$crate::ParamInfo> {
                #[allow(unused_variables)]
                let defaults = Self::default();
                alloc::vec![$($crate::ParamInfo {
                    name: stringify!($field),
                    doc: concat!($($fdoc),*).trim().into(),
                    default: <$ty as $crate::params::ParamValue>::show(&defaults.$field),
                    expected: <$ty as $crate::params::ParamValue>::EXPECTED,
                    canonical: |text| {
                        let value = <$ty as $crate::params::ParamValue>::parse(text)?;
                        Some($crate::params::ParamValue::show(&value))
                    },
                }),*]
            }

            /// Parses arguments, with defaults for the rest.
            ///
            /// # Errors
            /// [`ParamError`](crate::ParamError), naming the parameter.
            pub fn read(args: &$crate::Args) -> Result<Self, $crate::ParamError> {
                #[allow(unused_mut)]
                let mut params = Self::default();
                #[allow(clippy::never_loop, unused_variables)]
                for (key, value) in &args.0 {
                    match key.as_str() {
                        $(stringify!($field) => {
                            params.$field = <$ty as $crate::params::ParamValue>::parse(value)
                                .ok_or_else(|| $crate::ParamError::Value {
                                    key: key.clone(),
                                    value: value.clone(),
                                    expected: <$ty as $crate::params::ParamValue>::EXPECTED.into(),
                                })?;
                        })*
                        _ => return Err($crate::ParamError::Unknown {
                            key: key.clone(),
                            known: alloc::vec![$(stringify!($field)),*],
                        }),
                    }
                }
                Ok(params)
            }
        }
    };
}

params! {
    /// The parameters of a policy that has none.
    pub struct NoParams {}
}

#[cfg(test)]
mod tests {
    use super::*;

    params! {
        struct Sample {
            /// How many.
            count: u32 = 3,
            /// How long.
            span: Option<Ticks> = None,
        }
    }

    fn args(pairs: &[(&str, &str)]) -> Args {
        Args(pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect())
    }

    #[test]
    fn arguments_override_defaults_and_errors_name_the_key() {
        assert_eq!(Sample::read(&args(&[])), Ok(Sample::default()));
        let read = Sample::read(&args(&[("span", "84min"), ("count", "7")])).expect("valid");
        assert_eq!(read, Sample { count: 7, span: Some(Ticks(84 * 60_000_000_000)) });
        let unknown = Sample::read(&args(&[("cuont", "7")])).expect_err("no such key");
        assert_eq!(format!("{unknown}"), "there is no parameter `cuont`; there are count, span");
        let value = Sample::read(&args(&[("count", "x")])).expect_err("no number");
        assert_eq!(format!("{value}"), "`count=x`: expected a whole number");
    }

    #[test]
    fn help_follows_from_the_declaration() {
        let info = Sample::info();
        assert_eq!(
            (info[0].name, info[0].doc.as_str(), info[0].default.as_str()),
            ("count", "How many.", "3")
        );
        assert_eq!(info[1].default, "auto");
    }

    #[test]
    fn times_are_written_as_people_write_them() {
        for (text, ns) in
            [("20ms", 20_000_000), ("1.5s", 1_500_000_000), ("3h", 10_800_000_000_000)]
        {
            assert_eq!(Ticks::parse(text), Some(Ticks(ns)), "{text}");
        }
        assert_eq!(Ticks(84 * 60_000_000_000).show(), "84min");
        for text in ["20", "x", "-1s", "1e30d", "3 parsecs"] {
            assert_eq!(Ticks::parse(text), None, "{text}");
        }
    }
}
