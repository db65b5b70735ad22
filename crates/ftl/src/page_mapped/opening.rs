//! Opening the next block of a stream.

use thermocline_flash::{Chip, Flash};

use super::parts::Parts;
use crate::FtlError;

/// Closes a stream's open block and opens the free block that waited longest.
pub(super) fn open_next<C: Chip>(
    parts: &mut Parts<C>,
    bank: usize,
    stream: u8,
    now: u64,
) -> Result<(), FtlError> {
    if parts.journal.is_some() {
        if parts.synced_free.needs_sync(&parts.banks, bank) {
            sync_free(parts)?;
        }
        parts.synced_free.opens(bank);
    }
    parts.banks[bank].open_next(&mut parts.placement, stream, now)?;
    parts.durability.block_opened();
    Ok(())
}

/// A sync follows every erase.
#[cold]
fn sync_free<C: Chip>(parts: &mut Parts<C>) -> Result<(), FtlError> {
    parts.chip.sync_programs()?;
    parts.durability.synced(parts.durability.programs());
    parts.synced_free.all_synced(&parts.banks);
    Ok(())
}
