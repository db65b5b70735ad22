//! Finds dead data by watching a file system's metadata (FSAF, §4.2 of the thesis).
//!
//! A host that deletes a file on FAT12, FAT16, FAT32, exFAT, ext2 to ext4 or NTFS only writes zeros into a table. For
//! the layer the file's pages stay valid: it copies them at every cleaning until the host
//! overwrites them. [`Watched`] parses the host's writes to that table and marks the pages without
//! live data in the layer below. Its state does not survive a power loss. Dead data that were
//! forgotten are found later.
//!
//! The thesis takes every zero for a deletion. But the medium receives sectors in another order
//! than the host changed them, and a zero may be older than the data of the file that reuses the
//! cluster. [`Guards`] states the additional conditions. Still, everything is inferred from the
//! known behaviour of file systems. A writer that leaves the volume's first sectors alone and
//! writes its own zeros into both copies of the table is believed, and so is one that writes data
//! into clusters first and allocates them later. Hence watching must be enabled explicitly. A host
//! that trims gives the same information without risk, so a volume that is trimmed is no longer
//! watched.

#![no_std]

extern crate alloc;

mod clusters;
mod config;
mod exfat;
mod ext;
mod fat;
mod layer;
mod ntfs;
mod partitions;
mod sectors;
mod verdict;
mod volume;
mod watched;

pub use config::{Config, Guards};
pub use watched::Watched;
