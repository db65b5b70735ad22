//! File workloads: scripts of file operations on a real FAT32 file system, so that the writes of
//! metadata are the real ones.
//!
//! A script asks a host for file operations. The file system is the `fatfs` crate's; under it lies
//! the host's page cache, which writes back and reads from a device of given speed.
//! What reaches the device is the workload. Metadata (boot sectors, FSInfo, FATs, directories)
//! carry their bytes; the contents of files are zeros that nobody stores.

mod cache;
mod clock;
mod disk;
mod geometry;
mod host;
mod library;
mod options;
mod outbox;
mod scenario;
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

/// Bytes of a sector, the unit of everything here.
const SECTOR: u64 = 512;
