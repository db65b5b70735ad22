//! The journal: what a layer on a chip with data writes into the [index log](index), and when. Every layer that keeps
//! data has one, and [says](Journaled) what it needs to know.
//!
//! A simulation has none, and takes the same decisions: the log never touches a data block.

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
