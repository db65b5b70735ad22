//! Every decision of flash cleaning that can be taken differently, one small file a policy.
//!
//! A policy sees read-only views and returns a decision; only the translation layer moves data.
//!
//! * [`victim`]: which erase block is cleaned next ([`Victim`](victim::Victim));
//! * [`placement`]: which stream a page goes to, and in which order survivors are written
//!   ([`Placement`](placement::Placement));
//! * [`bank`]: which bank a page goes to;
//! * [`trigger`]: when cleaning starts and stops;
//! * [`idle`]: what is done while the host is silent;
//! * [`wear`]: what else moves so that blocks age together;
//! * [`preset`]: named combinations, as the papers use them.
//!
//! Policies are registered by one line in [`victim::VICTIMS`] or
//! the list in [`placement`]; help, catalogue and conformance tests follow from there.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

use alloc::{sync::Arc, vec::Vec};

pub mod age;
pub mod bank;
mod candidates;
pub mod dead;
pub mod idle;
mod lists;
mod lowest;
pub mod nftl;
pub mod params;
pub mod placement;
pub mod preset;
mod ranks;
mod tree;
pub mod trigger;
pub mod victim;
pub mod wear;

pub use candidates::{Block, Candidates, Side, State};
pub use lowest::Lowest;
pub use params::{Args, ParamError, ParamInfo, Ticks};

/// What a policy is told when it is built.
#[derive(Clone, Debug)]
pub struct Context {
    /// Logical pages the device exports.
    pub logical_pages: u32,
    /// Erase blocks on the chip, in all banks.
    pub blocks: u32,
    /// Data pages in an erase block.
    pub pages_per_block: u32,
    /// Banks that clean by themselves.
    pub banks: u32,
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
            pages_per_block: 1,
            banks: 1,
            time_scale: 1.0,
            seed: 1,
            future: None,
        }
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

/// What the catalogue says of a policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// The name users write.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: &'static [&'static str],
    /// Where it comes from: paper and section.
    pub source: &'static str,
    /// One line: what it does and when to use it.
    pub summary: &'static str,
    /// Its parameters.
    pub params: fn() -> alloc::vec::Vec<ParamInfo>,
}

impl PolicyInfo {
    /// Whether users mean this policy by `name`.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}
