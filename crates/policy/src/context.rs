//! The description of the device from which a policy is built.

use alloc::{sync::Arc, vec::Vec};

use crate::bank::BankAssignment;

/// The description of the device from which a policy is built.
#[derive(Clone, Debug)]
pub struct Context {
    /// Logical pages the device exports.
    pub logical_pages: u32,
    /// Erase blocks on the chip, in all banks.
    pub blocks: u32,
    /// The last blocks of the chip, which hold the index log and no host data.
    pub system_blocks: u32,
    /// Free blocks of each bank that host writes may not take.
    pub reserve: u32,
    /// Data pages in an erase block.
    pub pages_per_block: u32,
    /// Banks that are cleaned independently.
    pub banks: u32,
    /// Assignment of logical pages to banks.
    pub bank_assignment: BankAssignment,
    /// Default time scale of age transformations, in the run's time unit.
    pub time_scale: f64,
    /// Seed of policies that draw random numbers.
    pub seed: u64,
    /// The distance of each page write to the next write of its page, for placements that know the
    /// future.
    pub future: Option<Arc<Future>>,
}

impl Context {
    /// The smallest device: enough to parse a policy's arguments.
    #[must_use]
    pub const fn smallest() -> Self {
        Self {
            logical_pages: 1,
            blocks: 1,
            system_blocks: 0,
            reserve: 2,
            pages_per_block: 1,
            banks: 1,
            bank_assignment: BankAssignment::Static,
            time_scale: 1.0,
            seed: 1,
            future: None,
        }
    }

    /// The same with one logical page, one page in a block and one bank at least, for what divides by them.
    #[must_use]
    pub fn without_zeros(&self) -> Self {
        Self {
            logical_pages: self.logical_pages.max(1),
            pages_per_block: self.pages_per_block.max(1),
            banks: self.banks.max(1),
            ..self.clone()
        }
    }

    /// Distance between consecutive logical pages of one bank: the number of banks with static
    /// assignment, else 1.
    #[must_use]
    pub fn pages_apart(&self) -> u32 {
        if self.bank_assignment == BankAssignment::Static { self.banks.max(1) } else { 1 }
    }

    /// Erase blocks in a bank. Each stream has an open block in every bank, so this number limits
    /// the streams that a policy can afford.
    #[must_use]
    pub const fn blocks_of_bank(&self) -> u32 {
        if self.banks > 1 { self.blocks / self.banks } else { self.blocks }
    }
}

/// The future of a run: for each page write, the number of host page writes until the page is
/// overwritten or trimmed, or [`Future::NEVER`].
#[derive(Clone, Debug, Default)]
pub struct Future {
    /// For each page filled before the run, by logical page.
    pub filled: Vec<u32>,
    /// For each page write, in write order.
    pub written: Vec<u32>,
}

impl Future {
    /// The page is neither overwritten nor trimmed within the next 2³² − 2 page writes.
    pub const NEVER: u32 = u32::MAX;
}
