//! A flash translation layer for raw NAND and NOR beside a microcontroller.
//!
//! Flash cannot be overwritten in place. This crate makes a block device of it: logical pages that can be read,
//! written and trimmed in any order. It writes each to the next page of an open erase block, keeps the map from
//! logical to physical pages, and cleans: it chooses a block, copies what is still valid, erases it.
//!
//! * No allocator: all memory is the caller's ([`Memory`]), its size known at compile time ([`ram`]).
//! * The map lies on the chip. RAM holds six bytes a block, four bytes a page of the map, a page, and the changes of
//!   the map that wait to be written (DFTL, Gupta et al. 2009, with a log-ordered sweep in place of a cache).
//! * Policies of the simulator, in integers ([`policy`]): greedy, cost-benefit, CAT; one stream, hot/cold,
//!   update interval, DAC.
//! * Power may fail at any time. What was written before is there; trims last after [`flush`](Ftl::flush).
//!
//! A chip in memory and a store on it:
//!
//! ```
//! use thermocline_embedded::{AREA, Config, Ftl, Geometry, Nand, NandError, Static, policy::{Cat, Dac}};
//!
//! struct Ram(Vec<u8>); // pages of 512 bytes with their areas, blocks of 16 pages
//! const STEP: usize = 512 + AREA;
//! impl Nand for Ram {
//!     fn geometry(&self) -> Geometry { Geometry { blocks: 64, pages: 16, page_size: 512 } }
//!     fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
//!         let from = page as usize * STEP + offset as usize;
//!         Ok(into.copy_from_slice(&self.0[from..][..into.len()]))
//!     }
//!     fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
//!         self.read(page, 512, into)
//!     }
//!     fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
//!         let to = &mut self.0[page as usize * STEP..][..STEP];
//!         to[..512].copy_from_slice(data);
//!         Ok(to[512..].copy_from_slice(area))
//!     }
//!     fn erase(&mut self, block: u32) -> Result<(), NandError> {
//!         Ok(self.0[block as usize * 16 * STEP..][..16 * STEP].fill(0xff))
//!     }
//!     fn is_bad(&mut self, _: u32) -> Result<bool, NandError> { Ok(false) }
//!     fn mark_bad(&mut self, _: u32) -> Result<(), NandError> { Ok(()) }
//! }
//!
//! let mut chip = Ram(vec![0xff; 64 * 16 * STEP]);
//! let mut memory = Static::<64, 5, 100, 512>::new();
//! let config = Config { logical_pages: 700, ..Config::default() };
//! let mut store = Ftl::format(&mut chip, memory.memory(), Cat::default(), Dac::<4>, config)?;
//! store.write(7, &[42; 512])?;
//! drop(store); // the power fails
//!
//! let mut store = Ftl::mount(&mut chip, memory.memory(), Cat::default(), Dac::<4>)?;
//! let mut page = [0; 512];
//! assert!(store.read(7, &mut page)?);
//! assert_eq!(page, [42; 512]);
//! # Ok::<(), thermocline_embedded::Error>(())
//! ```

#![no_std]
// Files that touch the chip are modules of two trees: here they block, in `asynchronous` they do not.
#![allow(clippy::duplicate_mod)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod area;
#[cfg(feature = "async")]
pub mod asynchronous;
mod blocks;
mod bytes;
mod cache;
mod clean;
mod config;
#[cfg(feature = "conformance")]
pub mod conformance;
mod counters;
mod error;
mod find_changes;
mod find_lost;
mod find_map;
mod format;
mod ftl;
mod geometry;
mod header;
mod health;
mod log;
mod map;
mod memory;
mod mount;
mod nand;
#[cfg(feature = "embedded-storage")]
mod nor;
mod place;
pub mod policy;
mod refresh;
mod resume;
#[cfg(feature = "embedded-sdmmc")]
mod sectors;
mod slots;
mod snapshot;
#[cfg(feature = "embedded-storage")]
mod storage;
mod survey;
mod tables;
mod tail;
mod total;

#[cfg(feature = "embedded-storage")]
use embedded_storage as storage_traits;
use thermocline_bisync::blocking as bisync;

pub use area::{Area, Before, Content, Found};
pub use blocks::{Block, Use};
pub use cache::Change;
pub use config::{Config, most_logical_pages};
pub use counters::{Counters, Health};
pub use error::{Error, Misfit, Part};
pub use ftl::Ftl;
pub use geometry::{AREA, Geometry, NandError};
pub use memory::{Memory, Static, entries_of_map_page, map_pages, ram};
pub use nand::Nand;
#[cfg(feature = "embedded-storage")]
pub use nor::Nor;
pub use place::Place;
#[cfg(feature = "embedded-sdmmc")]
pub use sectors::Sectors;
pub use slots::Slots;
#[cfg(feature = "embedded-storage")]
pub use storage::Bytes;

/// Streams of data at most; the map has one of its own, and one is shared while free blocks are scarce.
pub const MAX_STREAMS: usize = 7;

/// Whether this tree's operations can be given up half-way: a future can be dropped, a call cannot.
const CAN_BE_DROPPED: bool = false;
