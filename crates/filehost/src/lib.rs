//! A host that uses files on a FAT32 volume: scripts of file operations as block workloads.
//!
//! A [`Scenario`] issues file operations. The `fatfs` crate executes them, so metadata writes are
//! real ones. Below it is the host's page cache, which reads from and writes back to a device of
//! given speed. The requests that reach the device are the workload, a
//! [`Source`](thermocline_trace::Source).
//!
//! Metadata (boot sectors, FSInfo, FATs, directories) carry their bytes. File contents are zeros
//! and are not stored.
//!
//! The file system is opened anew for each operation, which avoids self-references and lets
//! requests stream while the script runs. The host therefore maintains the volume's dirty mark.
//! Sectors are written back data first, then metadata, each in address order, as Linux does on
//! vfat. `fsync` leaves FSInfo to the timer.

mod cache;
mod clock;
mod disk;
mod geometry;
mod host;
mod library;
mod options;
mod outbox;
mod scenario;
mod script;
mod scripts;
mod session;
mod tally;
#[cfg(test)]
mod tests;
mod workload;

pub use options::{FileOptions, HostOptions};
pub use scenario::Scenario;
pub use tally::Tally;
pub use workload::FileWorkload;
