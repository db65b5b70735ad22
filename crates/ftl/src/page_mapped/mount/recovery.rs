//! How to mount, and the findings of a mount.

use alloc::vec::Vec;

use thermocline_flash::Lpn;

/// How to mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mount {
    /// By the newest checkpoint and what came after it.
    #[default]
    Quick,
    /// From all pages: the map in a checkpoint only says which of them must exist.
    FromPages,
    /// From all pages and the readable part of the log. Missing pages are no reason to refuse.
    Repair,
}

/// The findings of a mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The layer was unmounted before; power did not just fail.
    pub clean: bool,
    /// The map in a checkpoint was used.
    pub used_checkpoint: bool,
    /// Pages of the index log that were read.
    pub log_pages_read: u64,
    /// Out-of-band areas of data pages that were read.
    pub areas_read: u64,
    /// Data pages that were read to see whether they had been cut off.
    pub pages_verified: u64,
    /// Logical pages that hold data.
    pub pages_found: u32,
    /// Data pages that could not be read: cut off, in a block half erased, or lost.
    pub unreadable_pages: u64,
    /// Logical pages of which a newer copy was found than the one taken, in ascending order: it cannot be
    /// read, and nothing says that it was ever whole. It was being written when power failed, or has
    /// been damaged since.
    pub rolled_back: Vec<Lpn>,
    /// Logical pages that held data according to the checkpoint, and of which neither those nor newer ones
    /// were found, in ascending order. Reading them is an error.
    pub lost: Vec<Lpn>,
    /// Flushed pages not found whose logical pages are unknown. Only [`Mount::Repair`] continues
    /// then.
    pub missing: u64,
    /// Flushed pages of the log that cannot be read. Only [`Mount::Repair`] continues then.
    pub missing_log: u64,
    /// Blocks of which every page was looked at.
    pub blocks_scanned: u32,
    /// The newest time that was found: the clock of the layer must not go on before it.
    pub newest_time: u64,
}
