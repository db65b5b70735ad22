//! A host that uses files on a FAT32 volume: scripts of file operations as block workloads.
//!
//! A [`Scenario`] asks the host for file operations. The `fatfs` crate carries them out, so that the
//! writes of metadata are real ones. Under it lies the host's page cache, which writes back to and
//! reads from a device of given speed. The requests that reach the device are the workload, a
//! [`Source`](thermocline_trace::Source).
//!
//! Metadata (boot sectors, FSInfo, FATs, directories) carry their bytes; the contents of files are
//! zeros that nobody stores.
//!
//! The file system is opened anew for each operation, so that nothing borrows from itself and requests stream while the
//! script goes on; the volume's dirty mark is therefore the host's. Sectors are written back data first, then metadata, each
//! in the order of addresses, as Linux does on vfat. `fsync` leaves FSInfo to the timer.

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
