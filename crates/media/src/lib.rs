//! Flash chips that hold data.
//!
//! * [`Ram`]: a chip in memory, with payload and out-of-band areas.
//! * [`image::Image`]: a chip in a file, which survives a loss of power at any time.
//! * [`PowerCut`]: a switch around any chip. Power fails at a given operation, in any of the ways in
//!   which that can end, and whatever was cut off shows itself afterwards: it is never taken for
//!   blank, nor for data.
//!
//! [`Medium`] is what a server wants of a chip beside.
//!
//! All enforce the rules of the medium as [`CountingChip`](thermocline_flash::CountingChip) does.

#[cfg(unix)]
pub mod image;
mod medium;
mod place;
mod power_cut;
mod ram;

pub use medium::{Durable, Health, Medium, Syncing};
pub use place::Place;
pub use power_cut::{Cut, PowerCut};
pub use ram::Ram;
