//! The flash chip, as everything above it sees it.
//!
//! Flash memory is read and programmed page by page and erased block by block. What may go wrong,
//! and what every chip of this crate therefore enforces:
//!
//! * a page is programmed at most once between two erases of its block ([`FlashError::NotErased`]);
//! * where the chip demands it (NAND), the pages of a block are programmed in ascending order
//!   ([`FlashError::OutOfOrder`]);
//! * a bad block is neither programmed nor erased ([`FlashError::BadBlock`]);
//! * an erase past the rated endurance fails where the chip is set to wear out
//!   ([`FlashError::WornOut`]).
//!
//! The [`Flash`] trait is the whole contract. Beside it a chip may know its [`Condition`] and have a
//! [`SimulatedTime`]; [`Chip`] is all three. [`CountingChip`] implements them without storing a payload,
//! for simulation. [`Profile`] describes real devices, with the sources of their figures.
//!
//! ```
//! use thermocline_flash::{BlockId, CountingChip, Flash, FlashError, Geometry, Lpn, Oob, Ppn, Rules};
//!
//! let geometry = Geometry {
//!     banks: 1, channels: 1, blocks_per_bank: 8, pages_per_block: 64, page_size: 4096,
//!     oob_size: 128, header_pages: 0, system_blocks: 0,
//! };
//! geometry.check()?;
//! let mut chip = CountingChip::new(geometry, Rules { in_order: true, endurance: 3000, initial_bad_blocks: 0 });
//!
//! // A page is programmed with the area that a mount identifies it by.
//! let oob = Oob { lpn: Lpn(7), stream: 0, sequence: 1, time: 0, note: 0 };
//! chip.program(Ppn(0), oob, &[])?;
//! assert_eq!(chip.program(Ppn(0), oob, &[]), Err(FlashError::NotErased(Ppn(0))));
//! assert_eq!(chip.program(Ppn(2), oob, &[]), Err(FlashError::OutOfOrder(Ppn(2))));
//!
//! // Only the erase of its block makes room again.
//! chip.erase(BlockId(0))?;
//! chip.program(Ppn(0), oob, &[])?;
//! assert_eq!(chip.erase_counts()[0], 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![no_std]

extern crate alloc;

mod address;
mod capability;
mod chip;
mod clock;
mod counting;
mod front;
mod geometry;
mod pointer;
mod prefetch;
mod profile;
mod reads_first;
mod retrying;
mod timing;

pub use address::{BlockId, Lpn, Ppn};
pub use capability::{Chip, Condition, SimulatedTime};
pub use chip::{Flash, FlashError, Oob};
pub use clock::Clock;
pub use counting::{CountingChip, Counts};
pub use front::{BufferOrder, CacheSize, SlcCache, WriteBuffer};
pub use geometry::{Geometry, GeometryError, Kind, Rules};
pub use prefetch::prefetch;
pub use profile::{BUILT_IN_PROFILES, Drive, Profile};
pub use reads_first::{Passed, ReadsFirst, Schedule};
pub use retrying::Retrying;
pub use timing::{Energy, PagePairs, Suspend, Timing};
