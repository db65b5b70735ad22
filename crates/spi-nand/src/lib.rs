//! A driver for SPI NAND over `embedded-hal` 1.0: the chip below [`thermocline_embedded`].
//!
//! [`SpiNand::new`] resets the chip, reads its identification, finds its row in a [table](chips), lifts its block
//! protection, and switches its error correction on. The driver is then a [`Nand`] that says
//! how many bits the chip corrected.
//!
//! A store on a simulated W25N01GV (feature `simulated`). On a device `bus` is an `SpiDevice`, `delay` a `DelayNs`:
//!
//! ```
//! use thermocline_embedded::{Config, Ftl, Static, policy::{Cat, Dac}};
//! use thermocline_spi_nand::{SpiNand, simulated::Simulated};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (bus, delay) = Simulated::w25n01gv().into_bus();
//! let mut nand = SpiNand::new(bus, delay)?;
//! println!("{}: {:?}", nand.chip().name, nand.chip().geometry());
//!
//! let mut memory = Static::<1024, 86, 1000, 2048>::new(); // blocks, pages of the map, changes, bytes of a page
//! let config = Config { logical_pages: 58_000, ..Config::default() };
//! let mut store = Ftl::format(&mut nand, memory.memory(), Cat::default(), Dac::<3>, config)?;
//! store.write(7, &[42; 2048])?;
//! drop(store); // the power fails
//!
//! let mut store = Ftl::mount(&mut nand, memory.memory(), Cat::default(), Dac::<3>)?;
//! let mut page = [0; 2048];
//! assert!(store.read(7, &mut page)?);
//! assert_eq!(page, [42; 2048]);
//! # Ok(())
//! # }
//! ```

#![no_std]
// Files that touch the chip are modules of two trees: here they block, in `asynchronous` they do not.
#![allow(clippy::duplicate_mod)]

#[cfg(feature = "simulated")]
extern crate alloc;

#[cfg(feature = "async")]
pub mod asynchronous;
pub mod chips;
mod driver;
mod ecc;
mod onfi;
mod setup_error;
#[cfg(feature = "simulated")]
pub mod simulated;
#[cfg(all(feature = "async", feature = "simulated"))]
mod waiting;

use embedded_hal as hal;
use thermocline_bisync::blocking as bisync;
use thermocline_embedded::Nand;

pub use chips::{Chip, Dies, Id, Spare};
pub use driver::SpiNand;
pub use ecc::{Ecc, More};
pub use onfi::Parameters;
pub use setup_error::SetupError;

/// Whether this tree's operations can be given up half-way: a future can be dropped, a call cannot.
const CAN_BE_DROPPED: bool = false;
