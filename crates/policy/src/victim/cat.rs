//! Cost Age Times: the lowest `u / (1 − u) · 1 / T(age) · erases` (CAT paper, §3.2).
//!
//! A block just cleaned gets time to gather garbage, and the blocks erased least are chosen more
//! often, so that wear is even.

use alloc::boxed::Box;

use thermocline_flash::BlockId;

use super::{Factor, Victim, VictimEntry};
use crate::{
    BlockView, PolicyInfo, Search, Ticks,
    age::{AgeSource, Exponent, Shape, Transform},
    params,
};

params! {
    /// Parameters of [`Cat`].
    pub struct CatParams {
        /// What a block's age counts from.
        age: AgeSource = AgeSource::Created,
        /// The shape of the age transformation.
        transform: Shape = Shape::Log,
        /// Time scale of the transformation; auto: 1700 mean gaps between page writes, or the
        /// device's.
        tau: Option<Ticks> = None,
        /// Exponent of transform=power.
        exponent: Exponent = Exponent(0.35),
        /// Added to the erase count; the paper's text says 0, 1 avoids products of 0.
        offset: u32 = 1,
    }
}

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "cat",
        aliases: &[],
        source: "CAT paper §3.2",
        summary: "least u/(1−u)·erases/T(age); cost-benefit that also wears the chip evenly",
        params: CatParams::info,
    },
    build: |args, context| {
        let p = CatParams::read(args)?;
        let transform = Transform::new(p.transform, p.tau, context.time_scale, p.exponent.0);
        Ok(Box::new(Cat::new(p.age, transform, p.offset)))
    },
};

/// Picks the block with the lowest product of cost, age factor and erases, the lowest number among
/// equals.
#[derive(Clone, Debug)]
pub struct Cat {
    /// The event from which ages count.
    pub age: AgeSource,
    /// The age transformation.
    pub transform: Transform,
    /// Added to the erase count.
    pub offset: u32,
    search: Search,
}

impl Cat {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(age: AgeSource, transform: Transform, offset: u32) -> Self {
        Self { age, transform, offset, search: Search::default() }
    }
}

impl Victim for Cat {
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        self.search.cheapest(blocks, now, &self.transform)
    }

    fn cost(&self, blocks: &BlockView, block: BlockId, now: u64) -> Option<f64> {
        blocks.cost(block, now, &self.transform)
    }

    fn ratio(&self, valid: u32, pages: u32) -> (f64, f64) {
        (f64::from(valid), f64::from(pages - valid))
    }

    fn factor(&self, erases: u32) -> Factor {
        Factor::Wear(f64::from(erases) + f64::from(self.offset))
    }

    fn age_source(&self) -> Option<AgeSource> {
        Some(self.age)
    }
}
