//! Erasing a block without valid pages.
//!
//! No current page lies in a block that is erased. The placement and the journal are notified of each
//! marked page that is dropped.

use alloc::vec::Vec;

use thermocline_flash::{BlockId, Chip, Condition, Flash};

use super::{parts::Parts, retire::not_erased};
use crate::FtlError;

/// Erases a withdrawn block. False if that fails for good; the block stays unusable then. Where the
/// system below the chip fails, it is first among the `withdrawn` again.
pub(super) fn erase<C: Chip>(
    parts: &mut Parts<C>,
    withdrawn: &mut Vec<BlockId>,
    block: BlockId,
) -> Result<bool, FtlError> {
    debug_assert!(
        parts.tables.current_pages(block).next().is_none(),
        "{block:?} holds current data and is to be erased"
    );
    drop_marked(parts, block);
    let erased = try_to_erase(parts, block);
    if erased.is_err() {
        withdrawn.insert(0, block);
    }
    erased
}

fn try_to_erase<C: Chip>(parts: &mut Parts<C>, block: BlockId) -> Result<bool, FtlError> {
    parts.record(|journal, parts| journal.before_erase(parts, block))?;
    let bank = parts.banks.bank_of(block);
    match parts.chip.erase(block) {
        Ok(()) => {
            parts.counters.erases += 1;
            // An erase that was reported as failed may have taken place all the same.
            let any = parts.failures.any();
            parts.banks[bank].erased(block, any.then(|| parts.chip.erase_count(block)));
            Ok(true)
        }
        Err(failed) => not_erased(parts, bank, block, failed),
    }
}

/// A block is about to be erased: its marked pages are gone.
pub(super) fn drop_marked<C>(parts: &mut Parts<C>, block: BlockId) {
    let Parts { tables, placement, counters, journal, .. } = parts;
    tables.drop_marked(placement.kept(), block, |lpn, word| {
        counters.dead_left += 1;
        placement.trimmed_word(lpn, word);
        if let Some(journal) = journal {
            journal.dropped(lpn);
        }
    });
}
