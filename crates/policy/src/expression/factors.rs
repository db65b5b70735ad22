//! An expression as a product whose factors depend on different names, and how a factor runs over a
//! range of its name. A policy whose score is such a product can keep an index of blocks.

use alloc::vec::Vec;

use super::{Expression, Node, One, Two, times};

/// Factors above and below a fraction line.
#[derive(Clone, Debug, Default)]
pub struct Fraction {
    above: Vec<Node>,
    below: Vec<Node>,
}

/// The values of an expression where a name runs over a range: between the least and the most, and
/// whether they rise or fall as the name grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// No value is below it.
    pub least: f64,
    /// No value is above it.
    pub most: f64,
    /// Whether values may rise.
    pub rises: bool,
    /// Whether values may fall.
    pub falls: bool,
}

impl Expression {
    /// The expression as a product of fractions, each of which has only names of its group, a bit
    /// for each. Factors without names are in the first. `None` if it is no such product.
    #[must_use]
    pub fn product<const GROUPS: usize>(
        &self,
        groups: [u32; GROUPS],
    ) -> Option<[Fraction; GROUPS]> {
        let mut all = [const { Fraction { above: Vec::new(), below: Vec::new() } }; GROUPS];
        split(&self.0, false, &mut |factor, is_below| {
            let names = factor.names();
            let group = groups.iter().position(|group| names & !group == 0);
            let Some(fraction) = group.and_then(|group| all.get_mut(group)) else { return false };
            let side = if is_below { &mut fraction.below } else { &mut fraction.above };
            side.push(factor.clone());
            true
        })
        .then_some(all)
    }
}

/// Passes every factor to `take`, until that refuses one.
fn split(node: &Node, is_below: bool, take: &mut impl FnMut(&Node, bool) -> bool) -> bool {
    match node {
        Node::Two(of @ (Two::Multiply | Two::Divide), both) => {
            split(&both[0], is_below, take)
                && split(&both[1], is_below != (*of == Two::Divide), take)
        }
        factor => take(factor, is_below),
    }
}

impl Fraction {
    /// Whether it has no factors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.above.is_empty() && self.below.is_empty()
    }

    /// Numerator and denominator.
    #[must_use]
    pub fn terms(&self, names: &[f64]) -> (f64, f64) {
        let product = |factors: &[Node]| {
            // Without a first factor of 1, which would be one more rounding.
            factors.iter().map(|node| node.value(names)).reduce(times).unwrap_or(1.0)
        };
        (product(&self.above), product(&self.below))
    }

    /// The range of numerator by denominator; `None` if nothing is known.
    #[must_use]
    pub fn range(&self, most: f64) -> Option<Range> {
        self.product(&self.above, most)?.by(self.product(&self.below, most)?)
    }

    /// The range of denominator by numerator.
    #[must_use]
    pub fn inverse_range(&self, most: f64) -> Option<Range> {
        self.product(&self.below, most)?.by(self.product(&self.above, most)?)
    }

    fn product(&self, factors: &[Node], most: f64) -> Option<Range> {
        let one = Some(Range::of(1.0));
        factors.iter().fold(one, |all, factor| all?.times(range(factor, most)?))
    }
}

/// The range of an expression of one name, from 0 to `most`.
fn range(node: &Node, most: f64) -> Option<Range> {
    match node {
        Node::Number(number) => number.is_finite().then(|| Range::of(*number)),
        Node::Name(_) => Some(Range { least: 0.0, most, rises: true, falls: false }),
        Node::One(of, a) => {
            let a = range(a, most)?;
            let is_defined = match of {
                One::Negate => return Some(a.negative()),
                One::Abs => return (a.least >= 0.0).then_some(a),
                One::Sqrt => a.least >= 0.0,
                One::Log2 => a.least > 0.0,
                One::Exp | One::Floor => true,
            };
            is_defined.then(|| Range { least: of.of(a.least), most: of.of(a.most), ..a })
        }
        Node::Two(of, both) => {
            let (a, b) = (range(&both[0], most)?, range(&both[1], most)?);
            match of {
                Two::Add => Some(a.plus(b)),
                Two::Subtract => Some(a.plus(b.negative())),
                Two::Multiply => a.times(b),
                Two::Divide => a.by(b),
                Two::Min | Two::Max => {
                    Some(a.with(b, of.of(a.least, b.least), of.of(a.most, b.most)))
                }
                Two::Power if b.is_constant() && b.least >= 0.0 && a.least >= 0.0 => Some(Range {
                    least: of.of(a.least, b.least),
                    most: of.of(a.most, b.least),
                    ..a
                }),
                Two::Power | Two::Less | Two::AtMost => None,
            }
        }
        Node::If(_) => None,
    }
}

impl Range {
    const fn of(number: f64) -> Self {
        Self { least: number, most: number, rises: false, falls: false }
    }

    fn is_constant(self) -> bool {
        !self.rises && !self.falls
    }

    fn with(self, other: Self, least: f64, most: f64) -> Self {
        let (rises, falls) = (self.rises || other.rises, self.falls || other.falls);
        Self { least, most, rises, falls }
    }

    fn negative(self) -> Self {
        let Self { least, most, rises, falls } = self;
        Self { least: -most, most: -least, rises: falls, falls: rises }
    }

    fn plus(self, other: Self) -> Self {
        self.with(other, self.least + other.least, self.most + other.most)
    }

    fn times(self, other: Self) -> Option<Self> {
        let known = self.least >= 0.0 && other.least >= 0.0;
        known
            .then(|| self.with(other, times(self.least, other.least), times(self.most, other.most)))
    }

    fn by(self, other: Self) -> Option<Self> {
        let known = self.least >= 0.0 && other.least > 0.0;
        let Self { least, most, rises, falls } = other;
        let inverse = Self { least: 1.0 / most, most: 1.0 / least, rises: falls, falls: rises };
        if known { self.times(inverse) } else { None }
    }
}
