//! The layer over a chip whose operations are futures.
//!
//! It is the same source as the blocking layer, compiled once more: [`Ftl`], [`Nand`] and what else touches the chip are here
//! with `async fn` in place of `fn`, [`Config`], [`Memory`], [`Error`], policies and all other types are those of
//! the crate's root. Both do the same operations on the chip in the same order. Nothing is allocated, and no future is boxed.
//!
//! ```
//! use core::{pin::pin, task::{Context, Poll, Waker}};
//! use thermocline_embedded::{AREA, Config, Geometry, NandError, Static, policy::{Cat, Dac}};
//! use thermocline_embedded::asynchronous::{Ftl, Nand};
//!
//! struct Ram(Vec<u8>); // pages of 512 bytes with their areas, blocks of 16 pages
//! const STEP: usize = 512 + AREA;
//! impl Nand for Ram {
//!     fn geometry(&self) -> Geometry { Geometry { blocks: 64, pages: 16, page_size: 512 } }
//!     async fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
//!         let from = page as usize * STEP + offset as usize;
//!         Ok(into.copy_from_slice(&self.0[from..][..into.len()])) // on a device: `.await` of a transfer
//!     }
//!     async fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
//!         self.read(page, 512, into).await
//!     }
//!     async fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
//!         let to = &mut self.0[page as usize * STEP..][..STEP];
//!         to[..512].copy_from_slice(data);
//!         Ok(to[512..].copy_from_slice(area))
//!     }
//!     async fn erase(&mut self, block: u32) -> Result<(), NandError> {
//!         Ok(self.0[block as usize * 16 * STEP..][..16 * STEP].fill(0xff))
//!     }
//!     async fn is_bad(&mut self, _: u32) -> Result<bool, NandError> { Ok(false) }
//!     async fn mark_bad(&mut self, _: u32) -> Result<(), NandError> { Ok(()) }
//! }
//!
//! async fn work() -> Result<(), thermocline_embedded::Error> {
//!     let mut chip = Ram(vec![0xff; 64 * 16 * STEP]);
//!     let mut memory = Static::<64, 5, 100, 512>::new();
//!     let config = Config { logical_pages: 700, ..Config::default() };
//!     let mut store = Ftl::format(&mut chip, memory.memory(), Cat::default(), Dac::<4>, config).await?;
//!     store.write(7, &[42; 512]).await?;
//!     drop(store); // the power fails
//!
//!     let mut store = Ftl::mount(&mut chip, memory.memory(), Cat::default(), Dac::<4>).await?;
//!     let mut page = [0; 512];
//!     assert!(store.read(7, &mut page).await?);
//!     assert_eq!(page, [42; 512]);
//!     Ok(())
//! }
//! // A device has an executor; here nothing ever waits.
//! let done = pin!(work()).poll(&mut Context::from_waker(Waker::noop()));
//! # use core::future::Future;
//! assert_eq!(done, Poll::Ready(Ok(())));
//! ```
//!
//! # A future that is dropped
//!
//! `select` and time limits drop a future in the midst of its work. For the store that is a loss of power that RAM did not
//! survive: the next request mounts the store again, before anything else, and then does its own work. So a write that was
//! dropped left the page's old data or the new ones, a trim may be done or not, and what was written before is there. As after
//! a loss of power, trims before that were not [flushed](Ftl::flush) may be undone.
//!
//! * A [`read`](Ftl::read) that only read, which is nearly every one, is an exception: dropping it costs nothing.
//! * The next request takes as long as a mount does. A time limit that is shorter than a mount never lets the store come back:
//!   where that is to be feared, call [`remount`](Ftl::remount) without one. A mount that is dropped is begun again.
//! * A [`format`](Ftl::format) or [`reformat`](Ftl::reformat) that is dropped leaves no store, or the old one.
//! * A write of several pages ([`write_at`](Ftl::write_at)) that is dropped has done some of them.
//! * Forgetting a future ([`core::mem::forget`]) after it was polled is the same as dropping it.
//!
//! A driver's futures are dropped with them. The chip may then go on with what it was told to. Of its next operation the layer
//! expects that it begins when that is over, whatever came of it: [`Nand`].

// The futures of a chip need not be `Send`: most executors of microcontrollers have one thread.
#![allow(async_fn_in_trait)]

#[cfg(feature = "embedded-storage-async")]
use embedded_storage_async as storage_traits;
use thermocline_bisync::asynchronous as bisync;

use crate::{
    AREA, Area, Before, Block, Config, Content, Counters, Error, Found, Geometry, Health, Memory,
    Misfit, NandError, Part, Place, Slots, Use, area, blocks, cache, config, error, header, memory,
    policy, total,
};

#[path = "bytes.rs"]
mod bytes;
#[path = "clean.rs"]
mod clean;
#[path = "find_changes.rs"]
mod find_changes;
#[path = "find_lost.rs"]
mod find_lost;
#[path = "find_map.rs"]
mod find_map;
#[path = "format.rs"]
mod format;
#[path = "ftl.rs"]
mod ftl;
#[path = "health.rs"]
mod health;
#[path = "log.rs"]
mod log;
#[path = "map.rs"]
mod map;
#[path = "mount.rs"]
mod mount;
#[path = "nand.rs"]
mod nand;
#[cfg(feature = "embedded-storage-async")]
#[path = "nor.rs"]
mod nor;
#[path = "refresh.rs"]
mod refresh;
#[path = "resume.rs"]
mod resume;
#[path = "snapshot.rs"]
mod snapshot;
#[cfg(feature = "embedded-storage-async")]
#[path = "storage.rs"]
mod storage;
#[path = "survey.rs"]
mod survey;
#[path = "tables.rs"]
mod tables;
#[path = "tail.rs"]
mod tail;

pub use ftl::Ftl;
pub use nand::Nand;
#[cfg(feature = "embedded-storage-async")]
pub use nor::Nor;
#[cfg(feature = "embedded-storage-async")]
pub use storage::Bytes;

const CAN_BE_DROPPED: bool = true;
