//! Free blocks that may be opened: a sync has followed their erase.
//!
//! Invariant, where there is a journal: a free block is opened only while at least as many free blocks as the
//! reserve were synced after their erase. If a loss of power undoes such an erase, all data of the block are durable
//! elsewhere: it can be erased again without room for survivors.

use alloc::vec::Vec;

use thermocline_flash::BlockId;

use super::{bank::Bank, banks::Banks};
use crate::journal::Journal;

/// Below this number of erased blocks no early sync is requested.
const WORTH_A_SYNC: usize = 4;

/// Blocks of each bank's free list, its first ones, whose erase a sync has followed.
#[derive(Default)]
pub(super) struct SyncedFree(Vec<usize>);

impl SyncedFree {
    /// A mount has found the free blocks, or a sync has followed every erase.
    pub(super) fn all_synced(&mut self, banks: &Banks) {
        self.0.clear();
        self.0.extend(banks.iter().map(|bank| bank.free_blocks()));
    }

    /// A sync that began after `programs` programs is over.
    pub(super) fn synced(&mut self, banks: &Banks, journal: &Journal, programs: u64) {
        // Blocks become free in the order of their erases.
        let is_covered = |block: &BlockId| journal.least(*block) <= programs;
        let covered = |bank: &Bank| bank.free_list().take_while(is_covered).count();
        self.0 = banks.iter().map(covered).collect();
    }

    /// Whether a sync that is begun now would be over before the host needs it: some blocks were erased
    /// since the last one, and they are a good part of the free ones.
    pub(super) fn wants_sync(&self, banks: &Banks) -> bool {
        let mut banks = banks.iter().zip(&self.0);
        banks.any(|(bank, &synced)| {
            let free = bank.free_blocks();
            free.saturating_sub(synced) >= (free / 4).max(WORTH_A_SYNC)
        })
    }

    /// Whether a sync is needed before a free block of a bank is opened. A loss of power may undo all unsynced erases,
    /// together with the copies of their pages, while the blocks opened since are full: then nothing could be
    /// collected.
    pub(super) fn needs_sync(&self, banks: &Banks, bank: usize) -> bool {
        let synced = self.0.get(bank).copied().unwrap_or(0);
        synced <= banks.reserve() && banks[bank].free_blocks() > synced
    }

    /// A free block of a bank is opened.
    pub(super) fn opens(&mut self, bank: usize) {
        if let Some(synced) = self.0.get_mut(bank) {
            *synced = synced.saturating_sub(1);
        }
    }
}
