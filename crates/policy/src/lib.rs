//! Every decision of flash cleaning that can be taken differently, one small file a policy.
//!
//! A policy sees read-only views and returns a decision; only the translation layer moves data. The
//! [table](BlockTable) of blocks is the layer's, and a policy sees no more of it than a [`BlockView`].
//!
//! * [`victim`]: which erase block is cleaned next ([`Victim`](victim::Victim));
//! * [`placement`]: which stream a page goes to, and in which order survivors are written
//!   ([`Placement`](placement::Placement));
//! * [`bank`]: which bank a page goes to;
//! * [`trigger`]: when cleaning starts and stops;
//! * [`idle`]: what is done while the host is silent;
//! * [`wear`]: what else moves so that blocks age together;
//! * [`preset`]: named combinations, as the papers use them;
//! * [`foreign`]: policies of a user's own, in C or in Python.
//!
//! Policies are registered by one line in [`victim::VICTIMS`] or
//! the list in [`placement`]; help, catalogue and conformance tests follow from there.
//!
//! A victim policy, and what a layer asks of it:
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
