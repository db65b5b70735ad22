//! The log-structured file system's cost-benefit: the highest `age · (1 − u) / (1 + u)` (Rosenblum
//! and Ousterhout 1992).
//!
//! Reading a whole segment costs 1 and writing its live data u, hence 1 + u. Ages count from the
//! youngest data in the block.

use alloc::boxed::Box;

use thermocline_flash::BlockId;

use super::{Victim, VictimEntry};
use crate::{
    BlockView, PolicyInfo, Search, Ticks,
    age::{AgeSource, Exponent, Shape, Transform},
    params,
};

params! {
    /// Parameters of [`Lfs`].
    pub struct LfsParams {
        /// What a block's age counts from.
        age: AgeSource = AgeSource::Youngest,
        /// The shape of the age transformation.
        transform: Shape = Shape::Identity,
        /// Time scale of the transformation; auto: 1700 mean gaps between page writes, or the
        /// device's.
        tau: Option<Ticks> = None,
        /// Exponent of transform=power.
        exponent: Exponent = Exponent(0.5),
    }
}

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "lfs",
        aliases: &["lfs-cost-benefit"],
        source: "Rosenblum and Ousterhout 1992; CAT paper §3.1",
        summary: "greatest age·(1−u)/(1+u), age of the youngest data; the disk's cost-benefit",
        params: LfsParams::info,
    },
    build: |args, context| {
        let p = LfsParams::read(args)?;
        let transform = Transform::new(p.transform, p.tau, context.time_scale, p.exponent.0);
        Ok(Box::new(Lfs::new(p.age, transform)))
    },
};

/// Picks the segment that LFS would clean, the lowest number among equals.
#[derive(Clone, Debug)]
pub struct Lfs {
    /// The event from which ages count.
    pub age: AgeSource,
    /// The age transformation.
    pub transform: Transform,
    search: Search,
}

impl Lfs {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(age: AgeSource, transform: Transform) -> Self {
        Self { age, transform, search: Search::default() }
    }
}

impl Victim for Lfs {
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        self.search.cheapest(blocks, now, &self.transform)
    }

    fn cost(&self, blocks: &BlockView, block: BlockId, now: u64) -> Option<f64> {
        blocks.cost(block, now, &self.transform)
    }

    fn ratio(&self, valid: u32, pages: u32) -> (f64, f64) {
        (f64::from(pages + valid), f64::from(pages - valid))
    }

    fn age_source(&self) -> Option<AgeSource> {
        Some(self.age)
    }
}
