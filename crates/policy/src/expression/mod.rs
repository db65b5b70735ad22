//! Expressions of numbers and names, as users write policies: `valid / (invalid * age)`.
//!
//! An expression computes and does nothing else. It reads a fixed set of names, ends after at most
//! [`MOST_NODES`] operations, and allocates nothing when it is evaluated.
//!
//! | form | value |
//! |---|---|
//! | `12`, `0.5`, `1e9` | a number |
//! | `84min`, `20ms` | a time in nanoseconds |
//! | `a + b`, `a - b`, `a * b`, `a / b`, `-a` | as usual, left to right |
//! | `a ^ b` | power, right to left, before `*` |
//! | `a < b`, `a <= b`, `a > b`, `a >= b` | 1 if it holds, else 0 |
//! | `min(a, b)`, `max(a, b)` | the lesser, the greater |
//! | `sqrt(a)`, `log2(a)`, `exp(a)`, `abs(a)`, `floor(a)` | |
//! | `if(c, a, b)` | `b` if `c` is 0 or no number, else `a` |
//!
//! Numbers are IEEE 754 doubles, and logarithms and powers are those of one library, so the value
//! is the same on every machine. Every operation has a value:
//!
//! * 0 times anything and 0 divided by anything is 0; another number divided by 0 is infinite, with
//!   that number's sign. Zeros have no sign;
//! * what overflows is infinite;
//! * `sqrt` and `log2` of less than 0, infinity minus infinity and infinity by infinity are no
//!   number. Comparisons with what is no number are 0. A policy says what it does then.

mod factors;
mod parse;

use alloc::{boxed::Box, string::String};
use core::fmt;

use crate::params::ParamValue;

pub use factors::{Fraction, Range};

/// Operations of an expression.
pub const MOST_NODES: usize = 256;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    /// By its place among the names.
    Name(u8),
    One(One, Box<Node>),
    Two(Two, Box<[Node; 2]>),
    If(Box<[Node; 3]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum One {
    Negate,
    Sqrt,
    Log2,
    Exp,
    Abs,
    Floor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Two {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Min,
    Max,
    Less,
    AtMost,
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpected {
    /// The first character that does not fit, counted from 1.
    pub column: usize,
    /// What was expected there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, expected, found } = self;
        write!(f, "{expected} at column {column} of the expression, in place of {found}")
    }
}

impl Expression {
    /// Reads an expression of these names.
    ///
    /// # Errors
    /// The first place that does not fit, and what was expected there.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, Unexpected> {
        parse::expression(text, names).map(Self)
    }

    /// Its value where the names have these values.
    #[must_use]
    pub fn value(&self, names: &[f64]) -> f64 {
        self.0.value(names)
    }

    /// Whether it has a name.
    #[must_use]
    pub fn has(&self, name: usize) -> bool {
        self.0.names() & 1 << name != 0
    }

    /// Gives a name one value for good, and computes what follows from it.
    pub fn bind(&mut self, name: usize, value: f64) {
        self.0.bind(name, value);
    }
}

impl Node {
    fn value(&self, names: &[f64]) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Name(name) => names[usize::from(*name)],
            Self::One(of, a) => of.of(a.value(names)),
            Self::Two(of, both) => of.of(both[0].value(names), both[1].value(names)),
            Self::If(parts) => {
                let condition = parts[0].value(names);
                let is_so = condition != 0.0 && !condition.is_nan();
                parts[if is_so { 1 } else { 2 }].value(names)
            }
        }
    }

    /// The operands.
    fn parts(&self) -> &[Self] {
        match self {
            Self::Number(_) | Self::Name(_) => &[],
            Self::One(_, a) => core::slice::from_ref(&**a),
            Self::Two(_, both) => &both[..],
            Self::If(parts) => &parts[..],
        }
    }

    /// A bit for each name in it.
    fn names(&self) -> u32 {
        match self {
            Self::Name(name) => 1 << name,
            _ => self.parts().iter().fold(0, |all, part| all | part.names()),
        }
    }

    fn bind(&mut self, name: usize, value: f64) {
        match self {
            Self::Number(_) => {}
            Self::Name(own) if usize::from(*own) == name => *self = Self::Number(value),
            Self::Name(_) => {}
            Self::One(_, a) => a.bind(name, value),
            Self::Two(_, both) => both.iter_mut().for_each(|part| part.bind(name, value)),
            Self::If(parts) => parts.iter_mut().for_each(|part| part.bind(name, value)),
        }
        if self.names() == 0 {
            *self = Self::Number(self.value(&[]));
        }
    }
}

impl One {
    fn of(self, a: f64) -> f64 {
        match self {
            Self::Negate => -a,
            Self::Sqrt => libm::sqrt(a),
            Self::Log2 => libm::log2(a),
            Self::Exp => libm::exp(a),
            Self::Abs => libm::fabs(a),
            Self::Floor => libm::floor(a),
        }
    }
}

impl Two {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => times(a, b),
            Self::Divide if a == 0.0 && !b.is_nan() => 0.0,
            // Adding 0.0 clears the sign of a zero.
            Self::Divide => a / (b + 0.0),
            Self::Power => libm::pow(a + 0.0, b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Less => f64::from(u8::from(a < b)),
            Self::AtMost => f64::from(u8::from(a <= b)),
        }
    }
}

/// A product, of which 0 is a factor of nothing but 0.
fn times(a: f64, b: f64) -> f64 {
    let zero = a == 0.0 && b.is_infinite() || b == 0.0 && a.is_infinite();
    if zero { 0.0 } else { a * b }
}

/// An expression as a parameter of a policy. The policy, which knows the names, reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source(pub String);

impl ParamValue for Source {
    const EXPECTED: &'static str = "an expression";
    fn parse(text: &str) -> Option<Self> {
        Some(Self(text.trim().into()))
    }
    fn show(&self) -> String {
        self.0.clone()
    }
}

/// The parameter that an argument without a key is for: the expression of a policy that is one.
#[must_use]
pub fn parameter_without_key(policy: &str) -> Option<&'static str> {
    [crate::victim::SCORE, crate::placement::STREAM].contains(&policy).then_some("of")
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const NAMES: [&str; 3] = ["a", "b", "age"];

    fn value(text: &str) -> f64 {
        let expression = Expression::parse(text, &NAMES).unwrap_or_else(|e| panic!("{text}: {e}"));
        let mut bound = expression.clone();
        bound.bind(1, 3.0);
        let (value, by_bound) = (expression.value(&[2.0, 3.0, 0.0]), bound.value(&[2.0, 9.0, 0.0]));
        assert!(value == by_bound || value.is_nan() && by_bound.is_nan(), "{text}");
        value
    }

    #[test]
    fn operators_bind_as_usual() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("8 - 3 - 2", 3.0),
            ("8 / 4 / 2", 1.0),
            ("-2 ^ 2", -4.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("2 ^ -1", 0.5),
            ("a*b--b", 9.0),
            ("min(a, b) + max(a, b)", 5.0),
            ("if(a < b, 10, 20) + if(a >= b, 1, 2)", 12.0),
            ("if(a <= 2, 1, 0) + if(b > 2, 1, 0)", 2.0),
            ("sqrt(16) + log2(8) + exp(0) + abs(-1) + floor(1.9)", 10.0),
            ("1.5e3 + 20ms / 1us + 84min / 1h", 21501.4),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn every_operation_has_a_value() {
        for (text, expected) in [
            ("1 / age", f64::INFINITY),
            ("-1 / age", f64::NEG_INFINITY),
            ("1 / -age", f64::INFINITY),
            ("age / age", 0.0),
            ("age * (1 / age)", 0.0),
            ("exp(1000)", f64::INFINITY),
            ("a / (1 / age)", 0.0),
            ("if(sqrt(-1), 1, 2)", 2.0),
            ("sqrt(-1) < 1", 0.0),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        for text in ["sqrt(-1)", "log2(-1)", "1 / age - 1 / age", "(1 / age) / (1 / age)"] {
            assert!(value(text).is_nan(), "{text}");
        }
    }

    #[test]
    fn an_error_names_the_column_and_what_was_expected() {
        let wrong = |text: &str| Expression::parse(text, &NAMES).expect_err(text).to_string();
        let operand = "a number, a name or `(`";
        for (text, column, expected, found) in [
            ("a / * b", 5, operand, "`*`"),
            ("", 1, operand, "its end"),
            ("a +", 4, operand, "its end"),
            ("(a + b", 7, "an operator or `)`", "its end"),
            ("a b", 3, "an operator", "`b`"),
            ("min(a)", 6, "an operator or `,`", "`)`"),
            ("sqrt a", 6, "`(`", "`a`"),
            ("if(a, b, 1, 2)", 11, "an operator or `)`", "`,`"),
            ("ä + a", 1, operand, "`ä`"),
            ("a + 3parsecs", 5, "a number, or a time such as 84min, 250s, 20ms", "`3parsecs`"),
            ("1.2.3", 1, "a number, or a time such as 84min, 250s, 20ms", "`1.2.3`"),
            ("a = b", 3, "an operator", "`=`"),
        ] {
            let expected = alloc::format!(
                "{expected} at column {column} of the expression, in place of {found}"
            );
            assert_eq!(wrong(text), expected, "{text}");
        }
        let unknown = wrong("a + agee");
        assert!(
            unknown.starts_with("one of a, b, age, ") && unknown.contains("column 5"),
            "{unknown}"
        );
        let deep = "(".repeat(200) + "a" + &")".repeat(200);
        assert!(wrong(&deep).contains("fewer brackets"), "{}", wrong(&deep));
        assert!(wrong(&("a".to_string() + &"+a".repeat(300))).contains("at most 256"));
        assert!(wrong(&"-".repeat(300)).contains("fewer brackets"));
    }
}
