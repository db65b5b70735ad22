//! Dead data found by watching a file system's own records (FSAF, §4.2 of the thesis).
//!
//! A host that deletes a file on FAT12, FAT16, FAT32 or exFAT writes zeros into a table and says nothing else. To
//! the layer the file's pages are as valid as ever: it moves them at every cleaning until the host
//! happens to write over them. [`Watched`] reads the host's writes to that table, and informs the layer
//! below which pages hold nothing that anybody can ask for. Nothing of it outlives the power: what is
//! forgotten is only found dead later.
//!
//! The thesis takes every zero for a deletion. But the medium sees sectors in another order than
//! the host made them, and a zero may be older than the data of the file that uses the cluster
//! again. [`Guards`] says what is asked for here in addition. Still, all is inferred from what a
//! file system is known to do: a writer that leaves the volume's first sectors alone and writes its
//! own zeros into both copies of the table is believed, and so is one that writes data into clusters
//! first and takes them into its table afterwards. Hence nobody is watched unasked. A host that
//! trims says the same without any risk, and where one trims a volume is no longer watched.

#![no_std]

extern crate alloc;

mod clusters;
mod config;
mod exfat;
mod fat;
mod layer;
mod partitions;
mod sectors;
mod verdict;
mod volume;
mod watched;

pub use config::{Config, Guards};
pub use watched::Watched;
