//! The journal writes a layer's records into the [index log](index). Every layer that keeps data has one, and
//! implements [`Journaled`] for it.
//!
//! A simulation has none and decides alike: the log never touches a data block.

mod checkpoint;
pub(crate) mod durability;
pub mod index;
mod journaled;
mod log;
mod lost;
mod survey;
mod trims;
mod upkeep;
pub(crate) mod watermark;
mod writer;

pub(crate) use journaled::{Filled, Journaled};
pub(crate) use log::{Log, Used};
pub(crate) use lost::{LOST, holds};
pub(crate) use upkeep::Journal;
