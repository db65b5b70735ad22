//! The journal: what a layer on a chip with data writes into the [index log](super::index), and when.
//!
//! A simulation has none, and takes the same decisions: the log never touches a data block.

mod checkpoint;
mod log;
mod survey;
mod trims;
mod upkeep;
mod writer;

pub(super) use log::{Log, Used};
pub(super) use upkeep::Journal;
