//! The striping paper's integer cost-benefit: a dead page weighs 1, a cold one −1, a hot one −2,
//! and the heaviest block is cleaned (§5.2, Table 3).
//!
//! A block of n pages, v of them valid and h of those hot, weighs n − 2v − h, so the heaviest has
//! the lowest 2v + h. The placement decides which pages are hot at the moment.

use alloc::boxed::Box;

use thermocline_flash::BlockId;

use super::{Factor, Victim, VictimEntry};
use crate::{BlockView, PolicyInfo, params::NoParams};

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "weight",
        aliases: &[],
        source: "striping paper §5.2",
        summary: "dead pages count for a block, hot ones double against it; integers only; greedy \
                  where the placement knows no hot pages",
        params: NoParams::info,
    },
    build: |args, _| NoParams::read(args).map(|_| Box::new(Weight) as Box<dyn Victim>),
};

/// Picks the block with the highest weight, the lowest number among equals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight;

impl Victim for Weight {
    fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
        blocks.lightest()
    }

    fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
        (2.0 * f64::from(valid), 1.0)
    }

    fn factor(&self, _erases: u32) -> Factor {
        Factor::HotPages
    }
}
