//! Greedy that wears evenly: the block with the least valid pages, and of those the one erased least.
//! Plain greedy takes the lowest number, so blocks of low numbers wear first.

use alloc::boxed::Box;

use thermocline_flash::BlockId;

use super::{Factor, Victim, VictimEntry};
use crate::{BlockView, PolicyInfo, params::NoParams};

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "greedy-even",
        aliases: &[],
        source: "examples/victim",
        summary: "least valid pages, of those the least erased; greedy's copies, wear more even",
        params: NoParams::info,
    },
    build: |args, _| NoParams::read(args).map(|_| Box::new(GreedyEven) as Box<dyn Victim>),
};

/// Picks the least valid block, the least erased among equals, the lowest number among those.
#[derive(Clone, Copy, Debug, Default)]
pub struct GreedyEven;

impl Victim for GreedyEven {
    fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
        blocks.lightest()
    }

    /// One more than the valid pages: times 0, wear would not tell empty blocks apart.
    fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
        (f64::from(valid) + 1.0, 1.0)
    }

    /// So little that all erases of a block together weigh less than a page.
    fn factor(&self, erases: u32) -> Factor {
        Factor::Wear(1.0 + f64::from(erases) / (1_u64 << 40) as f64)
    }
}
