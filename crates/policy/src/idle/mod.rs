//! What is done while the host is silent: when the layer may clean ahead, and how much at a time.
//!
//! Which blocks are worth it is the layer's to say. A policy here only sees requests arrive.

mod contract;
mod slac;
mod timer;

pub use contract::{Idle, IdleEntry, Leisure};
pub use slac::Slac;
pub use timer::Timer;

/// Every idle policy there is. Adding one takes its file and its line here.
pub const IDLES: &[IdleEntry] = &[timer::ENTRY, slac::ENTRY];

/// The entry users mean by `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static IdleEntry> {
    IDLES.iter().find(|entry| entry.info.is_called(name))
}
