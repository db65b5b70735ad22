//! The decisions of flash garbage collection, one small file per policy.
//!
//! A policy sees read-only views and returns a decision. Only the translation layer moves data. The
//! [table](BlockTable) of blocks belongs to the layer; a policy sees a [`BlockView`] of it.
//!
//! * [`victim`]: which erase block is cleaned next ([`Victim`](victim::Victim));
//! * [`placement`]: which stream a page goes to, and in which order survivors are written
//!   ([`Placement`](placement::Placement));
//! * [`bank`]: which bank a page goes to;
//! * [`trigger`]: when cleaning starts and stops;
//! * [`idle`]: how much to clean in idle time;
//! * [`wear`]: what else is moved to level wear;
//! * [`preset`]: named combinations, as used by the papers;
//! * [`expression`]: scores that users write;
//! * [`foreign`]: user-defined policies, in C or Python.
//!
//! One line in [`victim::VICTIMS`] or in the list in [`placement`] registers a policy. Help,
//! catalogue and conformance tests follow from there.
//!
//! A victim policy, and the calls of a layer:
//!
//! ```
//! use thermocline_flash::BlockId;
//! use thermocline_policy::{BlockTable, BlockView, placement::Entry, victim::Victim};
//!
//! /// The least valid of the even blocks.
//! struct Even;
//!
//! impl Victim for Even {
//!     fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
//!         let even = (0..blocks.len()).step_by(2).map(|n| blocks.nth(n));
//!         even.filter(|&block| blocks.is_candidate(block)).min_by_key(|&block| blocks.block(block).valid)
//!     }
//!     fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
//!         (f64::from(valid), 1.0)
//!     }
//! }
//!
//! let mut table = BlockTable::new(4, 16, &Even); // blocks, data pages in each
//! for block in (0..4).map(BlockId) {
//!     table.open(block, 0, 0);
//!     (0..16).for_each(|time| table.wrote(block, time));
//!     table.close(block, &Even, Entry::Indexed);
//!     (0..=block.0).for_each(|time| table.invalidate(block, 16 + u64::from(time)));
//! }
//! assert_eq!(Even.choose(&table, 20), Some(BlockId(2)), "13 valid pages; block 3 has 12, but is odd");
//! ```

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod age;
pub mod bank;
mod context;
pub mod dead;
pub mod dftl;
pub mod expression;
pub mod foreign;
pub mod idle;
mod info;
mod lowest;
pub mod nftl;
pub mod params;
pub mod placement;
pub mod preset;
mod table;
pub mod trigger;
pub mod victim;
pub mod wear;

pub use context::{Context, Future};
pub use info::PolicyInfo;
pub use lowest::Lowest;
pub use params::{Args, ParamError, ParamInfo, Ticks};
pub use table::{Block, BlockTable, BlockView, Search, Side, State, Writes};
