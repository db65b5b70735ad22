//! Cost-hotness: the highest `(1 − u) / (u · h)`, where h is the hotness of the block (SFS, Min et
//! al., FAST 2012).
//!
//! The hotness of a page is `w / (now − t)`: its writes over the time since the last of them. A
//! block's hotness uses the means of both over its valid pages. So the policy minimises `u · w̄ /
//! (1 − u) / (now − t̄)`, a weight over an age. The placement `sfs` reports `w̄` whenever it
//! changes; with placements that count no writes it is 1. Our reading: `t̄` is the time at which
//! the youngest data were written. The index then stores a block's terms and finds the lowest cost
//! exactly.

use alloc::boxed::Box;

use thermocline_flash::BlockId;

use super::{Factor, Victim, VictimEntry};
use crate::{BlockView, PolicyInfo, Search, age::AgeSource, choice, params};

choice! {
    /// The event from which a block's age counts.
    pub enum Since {
        /// The host wrote the youngest data in the block; copies keep their age.
        Youngest = "youngest",
        /// The block was opened.
        Created = "created",
    }
}

params! {
    /// Parameters of [`CostHotness`].
    pub struct CostHotnessParams {
        /// What a block's age counts from.
        age: Since = Since::Youngest,
    }
}

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "cost-hotness",
        aliases: &[],
        source: "SFS, FAST 2012",
        summary: "greatest (1−u)/(u·hotness); for the placement sfs, which knows how hot blocks are",
        params: CostHotnessParams::info,
    },
    build: |args, _| {
        let p = CostHotnessParams::read(args)?;
        Ok(Box::new(CostHotness::new(p.age)) as Box<dyn Victim>)
    },
};

/// Picks the block with the lowest cost, the lowest number among equals.
#[derive(Clone, Debug)]
pub struct CostHotness {
    /// The event from which ages count.
    pub age: Since,
    search: Search,
}

impl CostHotness {
    /// The policy with ages from `age`.
    #[must_use]
    pub fn new(age: Since) -> Self {
        Self { age, search: Search::default() }
    }
}

impl Victim for CostHotness {
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        self.search.cheapest(blocks, now, &|age| age as f64)
    }

    fn cost(&self, blocks: &BlockView, block: BlockId, now: u64) -> Option<f64> {
        blocks.cost(block, now, &|age| age as f64)
    }

    fn ratio(&self, valid: u32, pages: u32) -> (f64, f64) {
        (f64::from(valid), f64::from(pages - valid))
    }

    fn factor(&self, _erases: u32) -> Factor {
        Factor::Placement
    }

    fn age_source(&self) -> Option<AgeSource> {
        Some(match self.age {
            Since::Youngest => AgeSource::Youngest,
            Since::Created => AgeSource::Created,
        })
    }
}
