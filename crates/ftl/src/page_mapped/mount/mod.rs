//! Coming back: the tables are made again from what the chip holds.
//!
//! The newest copy of a page is the one with the greatest sequence number. A copy from before the log
//! says that the page held no data is dead. What was programmed after the last moment that is proved to
//! have been synced may have been cut off, so it is read before it is believed; where it cannot be read,
//! the copy before it is the newest.
//!
//! Where the log ends with the record that all is written, the checkpoint is the table and nothing is
//! read. Else the blocks that are as full as they were in the checkpoint need only one look each, for a
//! block that was written again begins with a greater number than the checkpoint's. What the checkpoint
//! says of pages in other blocks is forgotten, and those blocks are read, area by area.
//!
//! Nothing is written. Pages that were cut off stay where they are, and blocks half erased are closed
//! blocks without data, which cleaning takes when it needs them.

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
