//! A random block with garbage: a baseline that every policy should beat.

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

/// Picks a block with garbage, all with equal probability.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Xoshiro256PlusPlus,
}

impl Random {
    /// The seed determines the sequence of choices.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x7261_6e64_6f6d) }
    }
}

impl Victim for Random {
    fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
        let mut drawn = None;
        draw(&mut self.rng, blocks, 1, |block| drawn = Some(block));
        drawn
    }

    fn cost(&self, _blocks: &BlockView, _block: BlockId, _now: u64) -> Option<f64> {
        None
    }

    /// All candidates have equal weight.
    fn ratio(&self, _valid: u32, _pages: u32) -> (f64, f64) {
        (1.0, 1.0)
    }
}

/// Number of blocks prefetched together.
const AT_ONCE: usize = 16;
/// Number of draws without a candidate after which the lightest block is taken.
const MISSES: u32 = 256;

/// `count` random candidates; none if there is no candidate. Nearly every block is a candidate once
/// cleaning has begun. If drawing keeps missing, the lightest block is taken.
pub(super) fn draw(
    rng: &mut Xoshiro256PlusPlus,
    blocks: &BlockView,
    count: u32,
    mut take: impl FnMut(BlockId),
) {
    let Some(lightest) = blocks.lightest() else { return };
    let (mut left, mut misses) = (count, 0);
    while left > 0 {
        // Each is a cache miss on a large device and will be needed, because a candidate takes at
        // least one draw.
        let mut drawn = [lightest; AT_ONCE];
        let drawn = &mut drawn[..AT_ONCE.min(left as usize)];
        for block in &mut *drawn {
            *block = blocks.nth(rng.random_range(0..blocks.len()));
            blocks.prefetch(*block);
        }
        for &block in &*drawn {
            let is_candidate = blocks.is_candidate(block);
            misses += u32::from(!is_candidate);
            if is_candidate || misses == MISSES {
                take(if is_candidate { block } else { lightest });
                (left, misses) = (left - 1, 0);
            }
        }
    }
}
