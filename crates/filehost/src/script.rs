//! A script of file operations on a host.

use crate::session::Session;
use std::io;

/// Nanoseconds of a millisecond.
pub(crate) const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds of a second.
pub(crate) const SECOND: u64 = 1000 * MILLISECOND;

/// A script of file operations, without an end.
pub(crate) trait Script {
    /// One step of filling the volume to its utilisation; true when that is reached.
    fn fill(&mut self, session: &mut Session) -> io::Result<bool>;

    /// One file operation, or a few related ones, and the time until the next.
    fn step(&mut self, session: &mut Session) -> io::Result<()>;
}
