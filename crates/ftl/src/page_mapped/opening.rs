//! Opening the next block of a stream.

use alloc::boxed::Box;

use thermocline_flash::Chip;

use super::{journal::Journal, parts::Parts};
use crate::FtlError;

/// Closes a stream's open block and opens the free block that waited longest.
pub(super) fn open_next<C: Chip>(
    parts: &mut Parts<C>,
    journal: &mut Option<Box<Journal>>,
    bank: usize,
    stream: u8,
    now: u64,
) -> Result<(), FtlError> {
    if let Some(journal) = journal {
        journal.before_open(parts, bank)?;
    }
    parts.banks[bank].open_next(&mut parts.placement, stream, now)?;
    parts.durability.block_opened();
    Ok(())
}
