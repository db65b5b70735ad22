//! The syntax of patterns: `hot-cold:90/10`, `phases:uniform@40MiB,…`.

use thermocline_units::{format_size, parse_size};

use super::{desktop::Desktop, fio::Fio, zones::Zones};
use crate::TraceError;
use std::{fmt, str::FromStr};

/// The address distribution of a steady workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Ascending addresses, repeated from the start.
    Sequential,
    /// All addresses with equal probability.
    Uniform,
    /// Every address once, in a new random order for each pass.
    Shuffled,
    /// `requests` percent of the requests go to a random `addresses` percent of the span.
    HotCold {
        /// Share of the requests that go to the hot set, in percent.
        requests: f64,
        /// Share of the span that is hot, in percent.
        addresses: f64,
    },
    /// The k-th most popular address is drawn with a probability proportional to k^-exponent.
    Zipf {
        /// The exponent; 0 is uniform.
        exponent: f64,
        /// Whether popularity decreases with the address, instead of being scattered.
        in_order: bool,
    },
    /// A distribution of fio.
    Fio(Fio),
    /// Hot, warm and cold regions of a desktop machine.
    Desktop(Desktop),
    /// Zones written completely, one after another.
    Zones(Zones),
}

/// A pattern with a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// The pattern.
    pub pattern: Pattern,
    /// Bytes written before the next phase begins.
    pub bytes: u64,
}

/// The specification of a [`Generator`](super::Generator).
#[derive(Clone, Debug, PartialEq)]
pub enum PatternSpec {
    /// One pattern.
    Steady(Pattern),
    /// Several patterns, one after another; equal hot shares have the same hot set.
    Phases(Vec<Phase>),
}

impl PatternSpec {
    /// The syntax of patterns, with one example each.
    pub const FORMS: &str = "sequential, uniform, shuffled, hot-cold:90/10, zipf:0.99, pareto:0.2, normal:20, desktop, zones:4/8GiB, phases:hot-cold:90/10@40MiB,uniform@40MiB";

    /// Whether a pattern has this name, which is the part before its argument.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        matches!(
            name,
            "sequential"
                | "uniform"
                | "random"
                | "shuffled"
                | "hot-cold"
                | "zipf"
                | "pareto"
                | "normal"
                | "desktop"
                | "zones"
                | "phases"
        )
    }

    /// The pattern for a device whose blocks have an `of`-th of their pages: sizes are divided by
    /// `of`.
    #[must_use]
    pub fn scaled(&self, of: u64) -> Self {
        let scaled = |pattern: Pattern| match pattern {
            Pattern::Zones(zones) => Pattern::Zones(zones.scaled(of)),
            other => other,
        };
        match self {
            Self::Steady(pattern) => Self::Steady(scaled(*pattern)),
            Self::Phases(phases) => Self::Phases(
                phases
                    .iter()
                    .map(|phase| Phase { pattern: scaled(phase.pattern), bytes: phase.bytes / of })
                    .collect(),
            ),
        }
    }

    /// Whether it trims zones before it writes them.
    #[must_use]
    pub fn trims(&self) -> bool {
        let trims = |pattern: &Pattern| matches!(pattern, Pattern::Zones(zones) if zones.trimmed);
        match self {
            Self::Steady(pattern) => trims(pattern),
            Self::Phases(phases) => phases.iter().any(|phase| trims(&phase.pattern)),
        }
    }
}

impl FromStr for PatternSpec {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let text = text.trim();
        match text.strip_prefix("phases:") {
            None if text == "phases" => Err(refuse_phases(text)),
            None => text.parse().map(PatternSpec::Steady),
            Some(phases) => {
                phases.split(',').map(str::parse).collect::<Result<_, _>>().map(Self::Phases)
            }
        }
    }
}

fn refuse_argument(name: &str, extra: &str) -> TraceError {
    TraceError::usage(
        format!("workload `{name}` takes no argument, but `{extra}` was given"),
        format!("write `{name}` alone"),
    )
}

impl FromStr for Phase {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let (pattern, bytes) = text.rsplit_once('@').ok_or_else(|| refuse_phases(text))?;
        let phase = Phase { pattern: pattern.parse()?, bytes: parse_size(bytes)? };
        if phase.bytes == 0 {
            return Err(refuse_phases(text));
        }
        Ok(phase)
    }
}

impl FromStr for Pattern {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let text = text.trim();
        let (name, argument) = match text.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        match (name, argument) {
            ("sequential", None) => Ok(Pattern::Sequential),
            ("uniform" | "random", None) => Ok(Pattern::Uniform),
            ("shuffled", None) => Ok(Pattern::Shuffled),
            ("sequential" | "uniform" | "random" | "shuffled", Some(extra)) => {
                Err(refuse_argument(name, extra))
            }
            ("hot-cold", argument) => hot_cold(text, argument.unwrap_or("")),
            ("zipf", argument) => zipf(text, argument.unwrap_or("")),
            ("pareto", argument) => fio(text, argument, 0.0..1.0, Fio::Pareto),
            ("normal", argument) => fio(text, argument, 0.0..100.0, Fio::Normal),
            ("desktop", None) => Ok(Pattern::Desktop(Desktop::default())),
            ("desktop", Some(parameters)) => parameters.parse().map(Pattern::Desktop),
            ("zones", argument) => argument.unwrap_or("").parse().map(Pattern::Zones),
            ("phases", _) => Err(TraceError::usage(
                "phases cannot contain phases",
                "list the inner ones in their place",
            )),
            _ => Err(TraceError::usage(
                format!("unknown workload `{text}`"),
                format!("expected {}", PatternSpec::FORMS),
            )),
        }
    }
}

fn hot_cold(text: &str, argument: &str) -> Result<Pattern, TraceError> {
    let percent = |part: &str| part.trim().trim_end_matches('%').parse::<f64>().ok();
    argument
        .split_once('/')
        .and_then(|(requests, addresses)| Some((percent(requests)?, percent(addresses)?)))
        .filter(|(requests, addresses)| {
            (0.0..=100.0).contains(requests) && *addresses > 0.0 && *addresses < 100.0
        })
        .map(|(requests, addresses)| Pattern::HotCold { requests, addresses })
        .ok_or_else(|| {
            TraceError::usage(
                format!("`{text}` is not a hot-and-cold workload"),
                "expected hot-cold:X/Y, X percent of the requests (0 to 100) to Y percent of the \
                 pages (between 0 and 100), such as hot-cold:90/10",
            )
        })
}

fn zipf(text: &str, argument: &str) -> Result<Pattern, TraceError> {
    let (exponent, how) = match argument.split_once('/') {
        None => (argument, None),
        Some((exponent, how)) => (exponent, Some(how.trim())),
    };
    let exponent = exponent.trim().parse().ok().filter(|exponent| (0.0..=16.0).contains(exponent));
    match (exponent, how) {
        (Some(exponent), None) => Ok(Pattern::Zipf { exponent, in_order: false }),
        (Some(exponent), Some("in-order")) => Ok(Pattern::Zipf { exponent, in_order: true }),
        (Some(exponent), Some("fio")) if exponent != 1.0 => Ok(Pattern::Fio(Fio::Zipf(exponent))),
        _ => Err(TraceError::usage(
            format!("`{text}` is not a Zipf workload"),
            "expected zipf:EXPONENT with an exponent from 0 (uniform) to 16, such as zipf:0.99; zipf:0.99/in-order \
             begins with the most popular page; zipf:0.99/fio is drawn as by fio, with any exponent but 1",
        )),
    }
}

fn fio(
    text: &str,
    argument: Option<&str>,
    within: std::ops::Range<f64>,
    of: fn(f64) -> Fio,
) -> Result<Pattern, TraceError> {
    let number = argument.and_then(|number| number.trim().parse().ok());
    // A power of 0 or 1 is not a distribution. A normal distribution without a deviation is.
    let number =
        number.filter(|number| within.contains(number) && (*number > 0.0 || within.end > 1.0));
    number.map(|number| Pattern::Fio(of(number))).ok_or_else(|| {
        TraceError::usage(
            format!("`{text}` is not a workload of fio's"),
            "expected pareto:POWER with a power between 0 and 1, such as pareto:0.2, or normal:PERCENT with a \
             deviation from 0 to 100 percent, such as normal:20",
        )
    })
}

fn refuse_phases(text: &str) -> TraceError {
    TraceError::usage(
        format!("`{text}` is not a phase"),
        "expected WORKLOAD@BYTES for each phase, such as phases:hot-cold:90/10@40MiB,uniform@40MiB",
    )
}

impl fmt::Display for PatternSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternSpec::Steady(pattern) => pattern.fmt(f),
            PatternSpec::Phases(phases) => {
                for (i, phase) in phases.iter().enumerate() {
                    f.write_str(if i == 0 { "phases:" } else { "," })?;
                    phase.fmt(f)?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.pattern, format_size(self.bytes))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Sequential => f.write_str("sequential"),
            Pattern::Uniform => f.write_str("uniform"),
            Pattern::Shuffled => f.write_str("shuffled"),
            Pattern::HotCold { requests, addresses } => {
                write!(f, "hot-cold:{requests}/{addresses}")
            }
            Pattern::Zipf { exponent, in_order } => {
                let order = if *in_order { "/in-order" } else { "" };
                write!(f, "zipf:{exponent}{order}")
            }
            Pattern::Fio(fio) => fio.fmt(f),
            Pattern::Desktop(desktop) => write!(f, "desktop:{desktop}"),
            Pattern::Zones(zones) => write!(f, "zones:{zones}"),
        }
    }
}
