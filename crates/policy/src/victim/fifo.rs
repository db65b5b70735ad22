//! First in, first out: the block opened longest ago. A yardstick with a closed form
//! (Desnoyers 2012), and what a plain circular log does.

use alloc::boxed::Box;

use thermocline_flash::BlockId;

use super::{Victim, VictimEntry};
use crate::{BlockView, PolicyInfo, Search, age::AgeSource, params::NoParams};

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "fifo",
        aliases: &["lru"],
        source: "Desnoyers 2012; Wu and Zwaenepoel 1994",
        summary: "the block opened longest ago; perfectly even wear, a yardstick",
        params: NoParams::info,
    },
    build: |args, _| NoParams::read(args).map(|_| Box::new(Fifo::default()) as Box<dyn Victim>),
};

/// Picks the oldest block with garbage, the lowest number among equals.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    search: Search,
}

impl Victim for Fifo {
    fn choose(&mut self, blocks: &BlockView, now: u64) -> Option<BlockId> {
        self.search.cheapest(blocks, now, &|age| age as f64)
    }

    fn cost(&self, blocks: &BlockView, block: BlockId, now: u64) -> Option<f64> {
        blocks.cost(block, now, &|age| age as f64)
    }

    fn ratio(&self, _valid: u32, _pages: u32) -> (f64, f64) {
        (1.0, 1.0)
    }

    fn age_source(&self) -> Option<AgeSource> {
        Some(AgeSource::Created)
    }
}
