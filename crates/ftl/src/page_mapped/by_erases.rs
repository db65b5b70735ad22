//! The closed blocks of a bank by erase count, for swaps that even wear out.

use alloc::collections::BTreeSet;

use thermocline_flash::BlockId;
use thermocline_policy::{BlockView, State};

/// Closed blocks by erase count. Kept only once a block is near its end of life; before, there are
/// no queries.
#[derive(Debug, Default)]
pub(super) struct ByErases(Option<BTreeSet<(u32, BlockId)>>);

impl ByErases {
    #[inline]
    pub(super) fn closed(&mut self, block: BlockId, erases: u32) {
        if let Some(set) = &mut self.0 {
            set.insert((erases, block));
        }
    }

    #[inline]
    pub(super) fn left(&mut self, block: BlockId, erases: u32) {
        if let Some(set) = &mut self.0 {
            set.remove(&(erases, block));
        }
    }

    /// The closed block of a table that was erased least, with its erases; the lowest among equals.
    pub(super) fn least(&mut self, blocks: &BlockView) -> Option<(u32, BlockId)> {
        let set = self.0.get_or_insert_with(|| {
            let all = (0..blocks.len()).map(|n| blocks.nth(n));
            all.filter(|&b| matches!(blocks.block(b).state, State::Closed | State::Aside))
                .map(|b| (blocks.block(b).erases, b))
                .collect()
        });
        set.first().copied()
    }
}
