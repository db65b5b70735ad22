//! d choices: the block with the fewest valid pages of d random ones. Close to greedy at a constant
//! cost, and with a closed form (Van Houdt 2013).

use alloc::boxed::Box;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_flash::BlockId;

use super::{Victim, VictimEntry, random::draw};
use crate::{BlockView, ParamError, PolicyInfo, params};

params! {
    /// Parameters of [`DChoices`].
    pub struct DChoicesParams {
        /// Number of random blocks to choose from, at least 1.
        d: u32 = 10,
    }
}

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "d-choices",
        aliases: &["dchoices"],
        source: "Van Houdt 2013",
        summary: "least valid pages of d random blocks; nearly greedy without any index",
        params: DChoicesParams::info,
    },
    build: |args, context| {
        let p = DChoicesParams::read(args)?;
        if p.d == 0 {
            return Err(ParamError::Value {
                key: "d".into(),
                value: "0".into(),
                expected: "at least 1".into(),
            });
        }
        Ok(Box::new(DChoices::new(p.d, context.seed)))
    },
};

/// Picks the block with the fewest valid pages of d drawn with replacement.
#[derive(Clone, Debug)]
pub struct DChoices {
    d: u32,
    rng: Xoshiro256PlusPlus,
}

impl DChoices {
    /// Draws `d` blocks a choice. The seed determines the sequence of choices.
    #[must_use]
    pub fn new(d: u32, seed: u64) -> Self {
        Self { d, rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6463_686f_6963_6573) }
    }
}

impl Victim for DChoices {
    fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
        let mut best = None;
        draw(&mut self.rng, blocks, self.d, |block| {
            let valid = blocks.block(block).valid;
            if best.is_none_or(|(least, _)| valid < least) {
                best = Some((valid, block));
            }
        });
        best.map(|(_, block)| block)
    }

    /// The cost among the blocks drawn.
    fn cost(&self, blocks: &BlockView, block: BlockId, _now: u64) -> Option<f64> {
        blocks.is_candidate(block).then(|| f64::from(blocks.block(block).valid))
    }

    /// All candidates have equal weight: the index only tracks whether there are any.
    fn ratio(&self, _valid: u32, _pages: u32) -> (f64, f64) {
        (1.0, 1.0)
    }
}
