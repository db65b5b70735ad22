//! What a policy knows of its device when it is built.

use alloc::{sync::Arc, vec::Vec};

use crate::bank::BankAssignment;

/// What a policy knows of its device when it is built.
#[derive(Clone, Debug)]
pub struct Context {
    /// Logical pages the device exports.
    pub logical_pages: u32,
    /// Erase blocks on the chip, in all banks.
    pub blocks: u32,
    /// The last of these, which hold no data of the host: those of an index log.
    pub system_blocks: u32,
    /// Free blocks of each bank that the host never takes.
    pub reserve: u32,
    /// Data pages in an erase block.
    pub pages_per_block: u32,
    /// Banks that clean by themselves.
    pub banks: u32,
    /// Which of them a logical page goes to.
    pub bank_assignment: BankAssignment,
    /// Time scale of age transformations where the user names none, in the run's time unit.
    pub time_scale: f64,
    /// Seed of policies that draw random numbers.
    pub seed: u64,
    /// What becomes of each page write, for placements that know the future.
    pub future: Option<Arc<Future>>,
}

impl Context {
    /// The smallest of devices: enough to read a policy's arguments.
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

    /// Logical pages apart of which a bank's own are: it has each page, or every so many by static assignment.
    #[must_use]
    pub fn pages_apart(&self) -> u32 {
        if self.bank_assignment == BankAssignment::Static { self.banks.max(1) } else { 1 }
    }

    /// Erase blocks in a bank: streams have an open block in each, so it is by these that a policy
    /// finds out how many it can afford.
    #[must_use]
    pub const fn blocks_of_bank(&self) -> u32 {
        if self.banks > 1 { self.blocks / self.banks } else { self.blocks }
    }
}

/// The future of a run: how many page writes of the host go by until each written page is
/// overwritten or trimmed; [`Future::NEVER`] if it is not.
#[derive(Clone, Debug, Default)]
pub struct Future {
    /// Of each page that is filled before the run, by logical page.
    pub filled: Vec<u32>,
    /// Of each page write, in the order of writing.
    pub written: Vec<u32>,
}

impl Future {
    /// The page is neither overwritten nor trimmed, or not before 2³² − 1 more page writes.
    pub const NEVER: u32 = u32::MAX;
}
