//! The journal: what a layer on a chip with data writes into the [index log](super::index), and when.
//!
//! A simulation has none, and takes the same decisions: the log never touches a data block.

mod checkpoint;
mod journaled;
mod log;
mod survey;
mod trims;
mod upkeep;
mod writer;

pub(crate) use journaled::{Filled, Journaled};
pub(crate) use log::{Log, Used};
pub(crate) use upkeep::Journal;
