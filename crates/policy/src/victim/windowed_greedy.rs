//! Windowed greedy: the fewest valid pages among the blocks opened longest ago (Hu, Eleftheriou,
//! Haas, Iliadis, Pletka, SYSTOR 2009). It lies between FIFO, a window of one block, and greedy, a
//! window of all.

use alloc::boxed::Box;

use thermocline_flash::BlockId;

use super::{Victim, VictimEntry};
use crate::{BlockView, PolicyInfo, age::AgeSource, params, params::within};

params! {
    /// Parameters of [`WindowedGreedy`].
    pub struct WindowedGreedyParams {
        /// Number of closed blocks to choose from, at least 1; auto: a fifth of a bank's blocks.
        window: Option<u32> = None,
    }
}

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "windowed-greedy",
        aliases: &[],
        source: "Hu, Eleftheriou, Haas, Iliadis, Pletka, SYSTOR 2009",
        summary: "least valid pages of the oldest blocks; greedy that never forgets a block",
        params: WindowedGreedyParams::info,
    },
    build: |args, context| {
        let window = WindowedGreedyParams::read(args)?.window;
        let auto = (context.blocks_of_bank() / 5).max(1);
        let window = within("window", window.unwrap_or(auto), 1..=u32::MAX)?;
        Ok(Box::new(WindowedGreedy { window }))
    },
};

/// Picks the block with the fewest valid pages, the lowest number among equals, of the first
/// `window` closed blocks in the order of opening. Blocks without garbage count towards the window.
/// If no other block is in it, the window is extended to all blocks.
#[derive(Clone, Copy, Debug)]
pub struct WindowedGreedy {
    /// Number of closed blocks to choose from.
    pub window: u32,
}

impl Victim for WindowedGreedy {
    fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
        blocks.lightest_of_oldest(self.window).or_else(|| blocks.lightest())
    }

    /// The cost among the blocks in the window.
    fn cost(&self, blocks: &BlockView, block: BlockId, _now: u64) -> Option<f64> {
        blocks.is_candidate(block).then(|| f64::from(blocks.block(block).valid))
    }

    fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
        (f64::from(valid), 1.0)
    }

    fn age_source(&self) -> Option<AgeSource> {
        Some(AgeSource::Created)
    }

    fn ranks(&self) -> bool {
        true
    }
}
