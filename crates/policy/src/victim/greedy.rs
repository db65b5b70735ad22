//! Greedy: the block with the fewest valid pages (CAT paper, §3.1).

use alloc::boxed::Box;

use thermocline_flash::BlockId;

use super::{Victim, VictimEntry};
use crate::{BlockView, PolicyInfo, params::NoParams};

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "greedy",
        aliases: &[],
        source: "CAT paper §3.1; Wu and Zwaenepoel 1994",
        summary: "least valid pages; the best there is under uniform traffic, poor under locality",
        params: NoParams::info,
    },
    build: |args, _| NoParams::read(args).map(|_| Box::new(Greedy) as Box<dyn Victim>),
};

/// Picks the block with the fewest valid pages, the lowest number among equals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greedy;

impl Victim for Greedy {
    fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
        blocks.lightest()
    }

    fn takes_least_valid(&self) -> bool {
        true
    }

    fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
        (f64::from(valid), 1.0)
    }
}
