//! Translation layers: they turn logical pages that can be overwritten into physical pages that
//! cannot.
//!
//! * [`PageMapped`]: the papers' Flash Memory Server and today's solid-state disk. Updates go out of
//!   place, page by page; cleaning makes room.
//! * [`Nftl`]: block mapping with primary and replacement blocks, folded into one when they are full.
//! * [`InPlace`]: every page has its place, and an update erases its block: what flash is like
//!   without a translation layer.
//!
//! Each is a [`Layer`]: a host's I/O ([`PageIo`]), upkeep ([`Upkeep`]) and inspection ([`Inspect`]) apart. It
//! runs on any [`Chip`](thermocline_flash::Chip): a counting chip and a virtual clock in the simulator, a
//! chip with data and the wall clock in a server.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod counters;
mod error;
mod in_place;
mod layer;
pub mod nftl;
mod page_mapped;

pub use counters::{Counters, DeadDataCounters};
pub use error::{EndOfLife, FtlError};
pub use in_place::InPlace;
pub use layer::{
    AHEAD, AHEAD_MORE, BankState, BlockState, BlockUse, DeadPages, Inspect, Layer, PageIo,
    PageState, Upkeep,
};
pub use nftl::Nftl;
pub use page_mapped::{Config, Format, Mount, MountError, PageMapped, Recovery, index};
