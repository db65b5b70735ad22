//! The page-mapped log: the Flash Memory Server of the CAT paper (§4), and the layer of today's
//! SSDs.
//!
//! Problem. A page cannot be programmed twice. Idea. A write goes to the next page of an open
//! block and the translation table remembers where; the old copy becomes garbage. Consequence.
//! Blocks fill with garbage, and when few are free one is *cleaned* (see `cleaner`).
//!
//! Each invariant has one type that keeps it, and each type one file:
//! * [`tables`]: the map, its reverse, the marks;
//! * [`bank`], [`banks`]: the table of blocks, free lists, open blocks, victims; capacity;
//! * [`failures`]: work left by the chip's failures, and whether the layer takes writes;
//! * [`synced_free`]: which free blocks may be opened, where power may be lost;
//! * [`cleaner`]: the victims being cleaned; [`steps`], [`partial`]: one that is cleaned in steps.
//!
//! [`parts`] holds them together with the [journal](crate::journal) of a layer on a chip with data. The operations are
//! functions over it. Imports have no cycles; each line may use those indented further:
//!
//! ```text
//! interface, format, mount
//!   write_run
//!   layer
//!     append, check, pacing
//!       room
//!         scrub
//!           core
//!           steps
//!           cleaner
//!             partial, survivors, swap
//!               opening, erasing
//!                 retire
//!                   parts
//!                     failures, synced_free
//!                       banks
//!                         bank, tables, config, worded
//!                           open_block, by_erases
//! ```

mod append;
mod bank;
mod bank_writes;
mod banks;
mod by_erases;
mod check;
mod cleaner;
mod config;
mod core;
mod erasing;
mod failures;
pub(crate) mod format;
mod interface;
mod layer;
pub(crate) mod mount;
mod open_block;
mod opening;
mod pacing;
mod partial;
mod parts;
mod retire;
mod room;
mod scrub;
mod secure;
mod steps;
mod survivors;
mod swap;
mod synced_free;
mod tables;
mod worded;
mod words;
mod write_run;

pub use config::{Config, Format};
pub use core::PageMapped;
pub use mount::{Mount, MountError, Recovery};
