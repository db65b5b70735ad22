//! Cleaning in idle time: when the layer may clean ahead, and how much.
//!
//! The layer decides which blocks are worth it. A policy here sees only the arrivals of requests.

mod contract;
mod slac;
mod timer;

pub use contract::{Idle, IdleEntry, Leisure};
pub use slac::Slac;
pub use timer::Timer;

/// All idle policies. Adding one takes its file and its line here.
pub const IDLES: &[IdleEntry] = &[timer::ENTRY, slac::ENTRY];

/// The entry with this name or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static IdleEntry> {
    IDLES.iter().find(|entry| entry.info.is_called(name))
}
