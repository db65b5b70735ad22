//! A random block with garbage: the yardstick nobody should lose to.

use alloc::boxed::Box;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_flash::BlockId;

use super::{Victim, VictimEntry};
use crate::{BlockView, PolicyInfo, params::NoParams};

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "random",
        aliases: &[],
        source: "Van Houdt 2013",
        summary: "any block with garbage; write amplification 1/(1−u), a yardstick",
        params: NoParams::info,
    },
    build: |args, context| {
        NoParams::read(args)?;
        Ok(Box::new(Random::new(context.seed)))
    },
};

/// Picks a block with garbage, each with the same probability.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Xoshiro256PlusPlus,
}

impl Random {
    /// One seed, one sequence of choices.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x7261_6e64_6f6d) }
    }
}

impl Victim for Random {
    fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
        draw(&mut self.rng, blocks)
    }

    fn cost(&self, _blocks: &BlockView, _block: BlockId, _now: u64) -> Option<f64> {
        None
    }

    /// All candidates weigh the same.
    fn ratio(&self, _valid: u32, _pages: u32) -> (f64, f64) {
        (1.0, 1.0)
    }
}

/// A random candidate. Nearly every block is one once cleaning has begun; where so few are that
/// drawing keeps missing, the lightest serves.
pub(super) fn draw(rng: &mut Xoshiro256PlusPlus, blocks: &BlockView) -> Option<BlockId> {
    let lightest = blocks.lightest()?;
    for _ in 0..256 {
        let block = blocks.nth(rng.random_range(0..blocks.len()));
        if blocks.is_candidate(block) {
            return Some(block);
        }
    }
    Some(lightest)
}
