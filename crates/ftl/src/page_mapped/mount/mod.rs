//! The mount: rebuilds the tables from the chip.
//!
//! The newest copy of a page has the greatest sequence number. A copy is dead if the log says that the
//! page held no data at a later time. A page programmed after the last proved sync may be torn, so the
//! mount reads it; if it is unreadable, the copy before it is the newest.
//!
//! If the log ends with the clean record, the checkpoint is the table and no area is read. Otherwise a
//! block that is as full as in the checkpoint needs one read, since a block written again begins with a
//! greater number than the checkpoint's. The checkpoint's entries for pages in all other blocks are
//! dropped, and those blocks are read area by area.
//!
//! A mount writes nothing. Torn pages stay where they are. Half-erased blocks are closed blocks
//! without data, which garbage collection takes when it needs them.

mod error;
mod found_log;
mod headless;
mod opened;
mod pages;
mod recovery;
mod tables;

pub use error::MountError;
pub(crate) use found_log::FoundLog;
pub(crate) use opened::{GoingOn, check_summary, summary_of};
pub(crate) use pages::{LastPage, Pages};
pub use recovery::{Mount, Recovery};
