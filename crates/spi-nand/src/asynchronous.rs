//! The driver over `embedded-hal-async`: the chip below [`thermocline_embedded::asynchronous`].
//!
//! It is the same source as the blocking [driver](crate::SpiNand), and the same bytes go over the bus. A store on a simulated
//! W25N01GV (feature `simulated`), whose every transaction waits once:
//!
//! ```
//! use core::{future::Future, pin::pin, task::{Context, Poll, Waker}};
//! use thermocline_embedded::{Config, Static, asynchronous::Ftl, policy::{Cat, Dac}};
//! use thermocline_spi_nand::{asynchronous::SpiNand, simulated::Simulated};
//!
//! async fn work() -> Result<(), Box<dyn std::error::Error>> {
//!     let (bus, delay) = Simulated::w25n01gv().into_bus();
//!     let mut nand = SpiNand::new(bus, delay).await?;
//!
//!     let mut memory = Static::<1024, 86, 1000, 2048>::new(); // blocks, pages of the map, changes, bytes of a page
//!     let config = Config { logical_pages: 58_000, ..Config::default() };
//!     let mut store = Ftl::format(&mut nand, memory.memory(), Cat::default(), Dac::<3>, config).await?;
//!     store.write(7, &[42; 2048]).await?;
//!     let mut page = [0; 2048];
//!     assert!(store.read(7, &mut page).await?);
//!     assert_eq!(page, [42; 2048]);
//!     Ok(())
//! }
//! // A device has an executor.
//! let mut work = pin!(work());
//! while let Poll::Pending = work.as_mut().poll(&mut Context::from_waker(Waker::noop())).map(|done| done.expect("it works")) {}
//! ```
//!
//! An operation whose future is dropped leaves the chip at work. The next one waits for the chip, and sets its registers again.
//!
//! The bus must release the chip (raise chip select) when the future of a transaction is dropped: the chip ignores a command that
//! ends early, but not one that the next command's bytes complete. `SpiDevice` of `embassy-embedded-hal` 0.6 does so,
//! `ExclusiveDevice` of `embedded-hal-bus` 0.3 does not: with it, drop no future of the store.

use embedded_hal_async as hal;
use thermocline_bisync::asynchronous as bisync;
use thermocline_embedded::asynchronous::Nand;

#[path = "driver.rs"]
mod driver;

pub use driver::SpiNand;

const CAN_BE_DROPPED: bool = true;
