//! A score that the user writes as an [expression](crate::expression): the block with the lowest is
//! collected, the lowest number among equals.
//!
//! A score that is a product of a factor of valid pages, a factor of the erase count and a factor
//! of the age is found in the index, without a scan of all blocks: `valid`,
//! `valid / (invalid * age)`, `valid / invalid * (erases + 1) / log2(2 + age / tau)`. The factor of
//! valid pages must not fall as they grow, and that of the age must not rise as it grows. Any other
//! score is computed for every block at every collection.
//!
//! What is no number counts as infinite: the block is collected last.

use alloc::{boxed::Box, vec::Vec};

use thermocline_flash::BlockId;

use super::{Factor, Victim, VictimEntry};
use crate::{
    BlockView, Context, ParamError, PolicyInfo, Search,
    age::AgeSource,
    expression::{Expression, Fraction, Range, Source},
    params,
};

params! {
    /// Parameters of [`Score`].
    pub struct ScoreParams {
        /// The expression; `of=` may be left out.
        of: Source = Source("valid".into()),
        /// What a block's age counts from.
        age: AgeSource = AgeSource::Created,
    }
}

/// The policy's name.
pub const SCORE: &str = "score";

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: SCORE,
        aliases: &[],
        source: "docs/policies.md",
        summary: "the lowest score, which you write: score(valid / (invalid * age))",
        params: ScoreParams::info,
    },
    build: |args, context| {
        let p = ScoreParams::read(args)?;
        let made = Score::new(&p.of.0, p.age, context).map_err(|expected| ParamError::Value {
            key: "of".into(),
            value: p.of.0.clone(),
            expected,
        });
        made.map(|score| Box::new(score) as Box<dyn Victim>)
    },
};

/// What an expression may name.
pub const NAMES: [&str; 8] = ["valid", "invalid", "u", "pages", "erases", "age", "stream", "tau"];

const PAGES: usize = 3;
const ERASES: usize = 4;
const AGE: usize = 5;
const TAU: usize = 7;
/// Names whose values follow from the number of valid pages.
const OF_VALID: u32 = 0b111;
/// Numbers with which the index computes are at most this, and denominators at least its inverse.
const MOST: f64 = 1e200;
const LEAST: f64 = 1e-200;

/// Picks the block with the lowest value of an expression, the lowest number among equals.
#[derive(Clone, Debug)]
pub struct Score {
    expression: Expression,
    age: Option<AgeSource>,
    pages: u32,
    /// The factors that the index knows; `None` where every block is looked at.
    factors: Option<Factors>,
    search: Search,
}

/// The factors of a score.
#[derive(Clone, Debug)]
struct Factors {
    /// Numerator and denominator by number of valid pages.
    ratios: Vec<(f64, f64)>,
    wear: Option<Fraction>,
    age: Option<Fraction>,
}

impl Score {
    /// The policy with this expression.
    ///
    /// # Errors
    /// The first place of the expression that does not fit, and what was expected there.
    pub fn new(
        text: &str,
        age: AgeSource,
        context: &Context,
    ) -> Result<Self, alloc::string::String> {
        let pages = context.pages_per_block;
        let mut expression =
            Expression::parse(text, &NAMES).map_err(|wrong| alloc::format!("{wrong}"))?;
        expression.bind(PAGES, f64::from(pages));
        expression.bind(TAU, context.time_scale);
        let factors = Factors::of(&expression, pages);
        let age = expression.has(AGE).then_some(age);
        Ok(Self { expression, age, pages, factors, search: Search::default() })
    }

    /// The score of a block, never less than no number.
    fn score(&self, blocks: &BlockView, block: BlockId, now: u64) -> f64 {
        let b = blocks.block(block);
        let mut names = of_valid(b.valid, self.pages);
        names[ERASES] = f64::from(b.erases);
        if self.age.is_some() {
            names[AGE] = now.saturating_sub(blocks.stamp(block)) as f64;
        }
        names[6] = f64::from(b.stream);
        let score = self.expression.value(&names);
        if score.is_nan() { f64::INFINITY } else { score }
    }
}

/// The values of the names, as far as they follow from valid pages.
fn of_valid(valid: u32, pages: u32) -> [f64; NAMES.len()] {
    let (valid, all) = (f64::from(valid), f64::from(pages));
    [valid, all - valid, valid / all, all, 0.0, 0.0, 0.0, 0.0]
}

impl Factors {
    /// The factors of an expression, if it is a product that the index can order.
    fn of(expression: &Expression, pages: u32) -> Option<Self> {
        let [valid, wear, age] = expression.product([OF_VALID, 1 << ERASES, 1 << AGE])?;
        let ratios: Vec<_> = (0..pages).map(|v| valid.terms(&of_valid(v, pages))).collect();
        let mut before = 0.0;
        for &(num, den) in &ratios {
            let sound = (0.0..MOST).contains(&num) && (LEAST..MOST).contains(&den);
            if !sound || num / den < before {
                return None;
            }
            before = num / den;
        }
        let is_small = |range: Range| range.least >= 0.0 && range.most <= MOST;
        if !is_small(wear.range(f64::from(u32::MAX))?) {
            return None;
        }
        let factor_of_age = age.inverse_range(u64::MAX as f64)?;
        if !is_small(factor_of_age) || factor_of_age.falls {
            return None;
        }
        let some = |fraction: Fraction| (!fraction.is_empty()).then_some(fraction);
        Some(Self { ratios, wear: some(wear), age: some(age) })
    }

    fn age(&self, age: u64) -> f64 {
        let mut names = [0.0; NAMES.len()];
        names[AGE] = age as f64;
        self.age.as_ref().map_or(1.0, |factor| match factor.terms(&names) {
            (1.0, below) => below,
            (above, below) => below / above,
        })
    }
}

impl Victim for Score {
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        if let Some(factors) = &self.factors {
            return match factors.age {
                None => blocks.lightest(),
                Some(_) => self.search.cheapest(blocks, now, &|age| factors.age(age)),
            };
        }
        let mut best: Option<(f64, BlockId)> = None;
        for block in (0..blocks.len()).map(|n| blocks.nth(n)) {
            if blocks.is_candidate(block) {
                let score = self.score(blocks, block, now);
                if best.is_none_or(|(least, _)| score < least) {
                    best = Some((score, block));
                }
            }
        }
        best.map(|(_, block)| block)
    }

    fn cost(&self, blocks: &BlockView, block: BlockId, now: u64) -> Option<f64> {
        match &self.factors {
            Some(factors) => blocks.cost(block, now, &|age| factors.age(age)),
            None => blocks.is_candidate(block).then(|| self.score(blocks, block, now)),
        }
    }

    /// Where every block is looked at, the index only tracks whether there are candidates.
    fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
        let ratios = self.factors.as_ref().map_or(&[][..], |factors| &factors.ratios);
        ratios.get(valid as usize).copied().unwrap_or((1.0, 1.0))
    }

    fn factor(&self, erases: u32) -> Factor {
        let wear = self.factors.as_ref().and_then(|factors| factors.wear.as_ref());
        let Some(wear) = wear else { return Factor::None };
        let mut names = [0.0; NAMES.len()];
        names[ERASES] = f64::from(erases);
        Factor::Wear(match wear.terms(&names) {
            (above, 1.0) => above,
            (above, below) => above / below,
        })
    }

    fn takes_least_valid(&self) -> bool {
        self.factors.as_ref().is_some_and(|Factors { ratios, wear, age }| {
            let rises = ratios.windows(2).all(|two| two[0].0 / two[0].1 < two[1].0 / two[1].1);
            rises && wear.is_none() && age.is_none()
        })
    }

    fn age_source(&self) -> Option<AgeSource> {
        self.age
    }
}
