//! The server as clients see it: over sockets, with a translation layer over a chip in memory.

mod client;
mod connections;
mod control;
mod crowd;
mod flushes;
mod idle;
mod lasting;
mod layer;
mod lives;
mod lost;
mod model;
mod observed;
mod operator;
mod recording;
mod running;
mod simulated;
mod slow;
mod stopping;
#[cfg(feature = "tls")]
mod tls;
