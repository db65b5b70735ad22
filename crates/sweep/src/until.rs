//! The value of an axis at which a condition begins to hold, by bisection.
//!
//! A search knows the values it may choose from, in order, and assumes that the condition changes at
//! most once between the first and the last of them.

use thermocline_policy::{Ticks, params::ParamValue};
use thermocline_sim::{
    metric::{self, Format, Metric},
    result::StoredResult,
};
use thermocline_units::{parse_share, parse_size};

/// A figure of a result and its bound: `write_amplification<=1.5`.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The figure.
    pub metric: &'static Metric,
    /// `<=`, `<`, `>=` or `>`.
    pub relation: &'static str,
    /// The bound.
    pub bound: f64,
}

const RELATIONS: [&str; 4] = ["<=", ">=", "<", ">"];

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// What is wrong with it, and how to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: String| {
            format!(
                "{what}; write a key of a result and its bound, as in 'write_amplification<=1.5'"
            )
        };
        let relation = RELATIONS.into_iter().find(|relation| text.contains(relation));
        let relation = relation.ok_or_else(|| wrong(format!("`{text}` is no condition")))?;
        let (key, bound) = text.split_once(relation).unwrap_or_default();
        let (key, bound) = (key.trim(), bound.trim());
        let metric = metric::find(key)
            .ok_or_else(|| wrong(format!("`{key}` is no key of a result (docs/results.md)")))?;
        let bound = in_unit_of(metric, bound)
            .ok_or_else(|| wrong(format!("`{bound}` is no value of {}", metric.key)))?;
        Ok(Self { metric, relation, bound })
    }

    /// The figure in a result.
    #[must_use]
    pub fn of(&self, result: &StoredResult) -> Option<f64> {
        result.number(&self.metric.key)
    }

    /// Whether a figure is within the bound.
    #[must_use]
    pub fn holds(&self, figure: f64) -> bool {
        match self.relation {
            "<=" => figure <= self.bound,
            ">=" => figure >= self.bound,
            "<" => figure < self.bound,
            _ => figure > self.bound,
        }
    }
}

/// A bound as the result has the figure: a number, or a time, a size or a share as they are written elsewhere.
fn in_unit_of(metric: &Metric, bound: &str) -> Option<f64> {
    let ns = || Ticks::parse(bound).map(|ticks| ticks.0 as f64);
    bound.parse().ok().filter(|bound: &f64| bound.is_finite()).or_else(|| {
        match metric.look.format {
            Format::Micros => ns().map(|ns| ns / 1e3),
            Format::Seconds => ns().map(|ns| ns / 1e9),
            Format::Years => ns().map(|ns| ns / 1e9 / 86_400.0 / 365.25),
            Format::Bytes | Format::DecimalBytes => {
                parse_size(bound).ok().map(|bytes| bytes as f64)
            }
            Format::Count => None,
            Format::Percent | Format::Excess | Format::Plain | Format::Fixed(_) | Format::Short => {
                parse_share(bound).ok()
            }
        }
    })
}

/// The result of a search, by the numbers of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It holds at every value that was tried.
    Everywhere,
    /// It holds at none.
    Nowhere,
    /// It holds from this value on.
    From(usize),
    /// It holds up to this value.
    UpTo(usize),
}

/// A search among this many values.
#[derive(Clone, Debug)]
pub struct Bisection {
    low: usize,
    high: usize,
    /// Whether the condition holds at the first value and at the last.
    ends: [Option<bool>; 2],
}

impl Bisection {
    /// Nothing is known yet.
    ///
    /// # Panics
    /// If there are no values.
    #[must_use]
    pub fn new(values: usize) -> Self {
        assert!(values > 0, "a search among no values");
        Self { low: 0, high: values - 1, ends: [None; 2] }
    }

    /// The values to try next; none when the search is over.
    #[must_use]
    pub fn asks(&self) -> Vec<usize> {
        match self.ends {
            [None, _] | [_, None] if self.low == self.high => vec![self.low],
            [None, _] | [_, None] => vec![self.low, self.high],
            [low, high] if low != high && self.high - self.low > 1 => {
                vec![self.low.midpoint(self.high)]
            }
            _ => Vec::new(),
        }
    }

    /// Whether the condition holds at a value that was asked for.
    pub fn tell(&mut self, value: usize, holds: bool) {
        if value == self.low || self.ends[0] == Some(holds) {
            (self.low, self.ends[0]) = (value, Some(holds));
        }
        if value == self.high || (self.ends[1] == Some(holds) && self.ends[0] != Some(holds)) {
            (self.high, self.ends[1]) = (value, Some(holds));
        }
    }

    /// The result, once no question is left.
    #[must_use]
    pub fn found(&self) -> Found {
        match self.ends {
            [Some(true), Some(true)] => Found::Everywhere,
            [_, Some(true)] => Found::From(self.high),
            [Some(true), _] => Found::UpTo(self.low),
            _ => Found::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(values: usize, holds: impl Fn(usize) -> bool) -> (Found, usize) {
        let (mut search, mut tried) = (Bisection::new(values), 0);
        loop {
            let asks = search.asks();
            if asks.is_empty() {
                return (search.found(), tried);
            }
            for value in asks {
                tried += 1;
                search.tell(value, holds(value));
            }
        }
    }

    #[test]
    fn the_value_is_found_in_few_steps() {
        for values in [1, 2, 3, 10, 581] {
            for edge in 0..=values {
                let (found, tried) = search(values, |value| value >= edge);
                let expected = match edge {
                    0 => Found::Everywhere,
                    n if n == values => Found::Nowhere,
                    n => Found::From(n),
                };
                assert_eq!(found, expected, "{edge} of {values}");
                assert!(tried <= 12, "{tried}");
                let (found, _) = search(values, |value| value < edge);
                let expected = match edge {
                    0 => Found::Nowhere,
                    n if n == values => Found::Everywhere,
                    n => Found::UpTo(n - 1),
                };
                assert_eq!(found, expected, "{edge} of {values}");
            }
        }
    }

    #[test]
    fn conditions_are_read() {
        let condition = Condition::parse("write_amplification <= 1.5").expect("a condition");
        assert_eq!(condition.metric.key, "write_amplification");
        assert!(condition.holds(1.5) && !condition.holds(1.51));
        for (text, bound) in [
            ("write.p99<=100ms", 1e5),
            ("write.p99<=2.5", 2.5),
            ("tbw_bytes>=2TB", 2e12),
            ("memory.total_bytes<64KiB", 65_536.0),
            ("config.utilization<=85%", 0.85),
        ] {
            let read = Condition::parse(text).map(|condition| condition.bound);
            assert_eq!(read, Ok(bound), "{text}");
        }
        for text in [
            "write_amplification",
            "wa<=1",
            "write_amplification<=x",
            "",
            "write.p99<=1k",
            "erases<=nan",
        ] {
            let error = Condition::parse(text).expect_err(text);
            assert!(error.contains("'write_amplification<=1.5'"), "{error}");
        }
    }
}
