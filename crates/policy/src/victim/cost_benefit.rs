//! Cost-benefit: the highest `age · (1 − u) / 2u` (Kawaguchi, Nishioka, Motoda 1995; CAT paper,
//! §3.1).
//!
//! The text counts ages from the last invalidation and does not transform them. The published
//! numbers fit ages from creation with CAT's transformation. Both are parameters; the defaults
//! reproduce the tables.

use alloc::boxed::Box;

use thermocline_flash::BlockId;

use super::{Victim, VictimEntry};
use crate::{
    BlockView, PolicyInfo, Search, Ticks,
    age::{AgeSource, Exponent, Shape, Transform},
    params,
};

params! {
    /// Parameters of [`CostBenefit`].
    pub struct CostBenefitParams {
        /// What a block's age counts from.
        age: AgeSource = AgeSource::Created,
        /// The shape of the age transformation.
        transform: Shape = Shape::Log,
        /// Time scale of the transformation; auto: 1700 mean gaps between page writes, or the
        /// device's.
        tau: Option<Ticks> = None,
        /// Exponent of transform=power.
        exponent: Exponent = Exponent(0.35),
    }
}

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "cost-benefit",
        aliases: &["cb"],
        source: "Kawaguchi, Nishioka, Motoda 1995; CAT paper §3.1",
        summary: "greatest age·(1−u)/2u; lets young blocks gather garbage, for traffic with locality",
        params: CostBenefitParams::info,
    },
    build: |args, context| {
        let p = CostBenefitParams::read(args)?;
        let transform = Transform::new(p.transform, p.tau, context.time_scale, p.exponent.0);
        Ok(Box::new(CostBenefit::new(p.age, transform)))
    },
};

/// Picks the block with the highest benefit per cost, the lowest number among equals.
#[derive(Clone, Debug)]
pub struct CostBenefit {
    /// The event from which ages count.
    pub age: AgeSource,
    /// The age transformation.
    pub transform: Transform,
    search: Search,
}

impl CostBenefit {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(age: AgeSource, transform: Transform) -> Self {
        Self { age, transform, search: Search::default() }
    }
}

impl Victim for CostBenefit {
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        self.search.cheapest(blocks, now, &self.transform)
    }

    fn cost(&self, blocks: &BlockView, block: BlockId, now: u64) -> Option<f64> {
        blocks.cost(block, now, &self.transform)
    }

    /// 2u / (1 − u), up to a constant: the reciprocal of benefit per cost.
    fn ratio(&self, valid: u32, pages: u32) -> (f64, f64) {
        (f64::from(valid), f64::from(pages - valid))
    }

    fn age_source(&self) -> Option<AgeSource> {
        Some(self.age)
    }
}
