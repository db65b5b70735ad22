//! Survival: the lowest `u / (1 − u)` times the block weight set by the placement.
//!
//! The placement of the same name learns how long the pages of its streams survive, and sets the
//! weight by what leaving a block alone is worth. It sets it when a block closes, when it enters
//! another half-octave of age, and when the learned survival changes. Ages play no further part. So
//! the product is in the index, and the lowest is found exactly, without a search. With placements
//! that set no weights it is greedy.

use alloc::boxed::Box;

use thermocline_flash::BlockId;

use super::{Factor, Victim, VictimEntry};
use crate::{BlockView, PolicyInfo, params::NoParams};

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "survival",
        aliases: &[],
        source: "docs/thermocline-policy.md",
        summary: "greatest (1−u)/(u·weight); for the placement survival, which knows what waiting is worth",
        params: NoParams::info,
    },
    build: |args, _| NoParams::read(args).map(|_| Box::new(Survival) as Box<dyn Victim>),
};

/// Picks the block with the lowest weighted cost, the lowest number among equals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Survival;

impl Victim for Survival {
    fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
        blocks.lightest()
    }

    fn ratio(&self, valid: u32, pages: u32) -> (f64, f64) {
        (f64::from(valid), f64::from(pages - valid))
    }

    fn factor(&self, _erases: u32) -> Factor {
        Factor::Placement
    }
}
