//! Units of times.

use std::{fmt, str::FromStr};

use crate::TraceError;

/// The unit of a time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// 10⁻¹² s; rounded to whole nanoseconds.
    Picoseconds,
    /// 10⁻⁹ s.
    Nanoseconds,
    /// 100 ns, the tick of a Windows FILETIME.
    Ticks,
    /// 10⁻⁶ s.
    Microseconds,
    /// 10⁻³ s.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    /// All units with their names.
    const NAMES: [(&'static str, TimeUnit); 6] = [
        ("ps", TimeUnit::Picoseconds),
        ("ns", TimeUnit::Nanoseconds),
        ("100ns", TimeUnit::Ticks),
        ("us", TimeUnit::Microseconds),
        ("ms", TimeUnit::Milliseconds),
        ("s", TimeUnit::Seconds),
    ];

    /// Picoseconds in one unit, which is a whole number for every unit.
    #[inline]
    pub(crate) fn picoseconds(self) -> u64 {
        match self {
            TimeUnit::Picoseconds => 1,
            TimeUnit::Nanoseconds => 1_000,
            TimeUnit::Ticks => 100_000,
            TimeUnit::Microseconds => 1_000_000,
            TimeUnit::Milliseconds => 1_000_000_000,
            TimeUnit::Seconds => 1_000_000_000_000,
        }
    }

    /// Nanoseconds in one unit, if that is a whole number.
    #[inline]
    pub(crate) fn nanoseconds(self) -> Option<u64> {
        match self {
            TimeUnit::Picoseconds => None,
            unit => Some(unit.picoseconds() / 1000),
        }
    }

    /// Number of decimals of one unit down to whole nanoseconds.
    #[inline]
    pub(crate) fn decimals(self) -> usize {
        match self {
            TimeUnit::Picoseconds | TimeUnit::Nanoseconds => 0,
            TimeUnit::Ticks => 2,
            TimeUnit::Microseconds => 3,
            TimeUnit::Milliseconds => 6,
            TimeUnit::Seconds => 9,
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMES.iter().find(|(_, unit)| unit == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

impl FromStr for TimeUnit {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let text = if text == "µs" { "us" } else { text };
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, unit)| *unit).ok_or_else(|| {
            TraceError::Usage {
                what: format!("{text:?} is no unit of time"),
                remedy: "say ps, ns, 100ns (FILETIME), us, ms or s".into(),
            }
        })
    }
}
