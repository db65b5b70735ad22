//! The chip seen alive: what a browser and a terminal show of a served chip and of a simulation.
//!
//! * [`frame`]: the states of all blocks as bytes, whole or as what changed.
//! * [`feed`]: one producer of frames for any number of viewers.
//! * [`http`]: a small server of pages, for one machine's own users.
//! * [`page`]: the pages, each one file that loads nothing from elsewhere.
//! * [`recorder`]: an excerpt of a simulation, to be played again.
//! * `screen` (feature `terminal`): the same for a terminal.
//!
//! Whoever looks changes nothing, and the chip is asked for its blocks only while somebody looks.

pub mod feed;
pub mod frame;
pub mod http;
pub mod page;
pub mod recorder;
#[cfg(feature = "terminal")]
pub mod screen;
