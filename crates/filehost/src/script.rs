//! A script of file operations on a host.

use crate::session::Session;
use std::io;

/// Nanoseconds of a millisecond.
pub(crate) const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds of a second.
pub(crate) const SECOND: u64 = 1000 * MILLISECOND;

/// A script; it has no end of its own.
pub(crate) trait Script {
    /// One step of bringing the volume to its utilisation; true when it is there.
    fn fill(&mut self, session: &mut Session) -> io::Result<bool>;

    /// One file operation, or a few that belong together, and the time until the next.
    fn step(&mut self, session: &mut Session) -> io::Result<()>;
}
