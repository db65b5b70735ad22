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
//!
//! ```
//! use thermocline_flash::{CountingChip, Geometry, Lpn, Rules};
//! use thermocline_ftl::{Config, FtlError, Layer, PageIo, PageMapped};
//! use thermocline_policy::{placement::Sequential, victim::Greedy};
//!
//! let geometry = Geometry {
//!     banks: 1, channels: 1, blocks_per_bank: 64, pages_per_block: 64, page_size: 4096,
//!     oob_size: 128, header_pages: 0, system_blocks: 0,
//! };
//! let rules = Rules { in_order: true, endurance: 3000, initial_bad_blocks: 0 };
//! let logical_pages = 64 * 64 * 4 / 5; // a fifth of the chip is spare
//! let chip = CountingChip::new(geometry, rules);
//! let mut layer = PageMapped::new(chip, Sequential, |_bank| Box::new(Greedy), Config::new(logical_pages))?;
//!
//! (0..logical_pages).try_for_each(|lpn| layer.fill(Lpn(lpn), false, 0))?;
//! let mut draw = 1_u64;
//! for time in 0..100_000 {
//!     draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
//!     layer.write(Lpn((draw >> 33) as u32 % logical_pages), &[], time)?;
//! }
//! let did = layer.inspect().counters();
//! let write_amplification = 1.0 + did.copies as f64 / did.host_writes as f64;
//! assert!((2.0..3.0).contains(&write_amplification), "{write_amplification}");
//! # Ok::<(), FtlError>(())
//! ```

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod counters;
mod error;
mod in_place;
mod journal;
mod layer;
pub mod nftl;
mod page_mapped;
mod shape;

pub use counters::{BufferCounters, CacheCounters, Counters, DeadDataCounters, TableCounters};
pub use error::{EndOfLife, FtlError};
pub use in_place::InPlace;
pub use journal::index;
pub use layer::{
    AHEAD, AHEAD_MORE, BankState, BlockState, BlockUse, DeadPages, Holds, IdleStep, Inspect, Layer,
    PageIo, PageState, PageWork, Upkeep,
};
pub use nftl::Nftl;
pub use page_mapped::{Config, Format, Mount, MountError, PageMapped, Recovery};
