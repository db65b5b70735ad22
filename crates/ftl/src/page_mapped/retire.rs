//! Failures of the chip: of programs, erases, and reads of survivors.
//!
//! Problem. A program fails during garbage collection, in a block that holds older pages. Idea. The
//! tables follow a program only when it has succeeded, so after any failure the old copy is still the
//! current one. The block can wait: it is closed and *condemned*, and emptied at the next quiet moment
//! (see `scrub`). Consequence. Any error can be returned from anywhere, and a failure while another is
//! handled is no special case.
//!
//! What becomes of a block:
//! * A program failed in it: it is condemned. Once empty it is retired, that is, marked bad on the
//!   chip, but only after a sync: the mark may survive a loss of power that the copies do not.
//! * Its erase failed: it was empty, and is retired at once.
//! * A survivor in it could not be read. The page is lost, but neither an older copy nor zeros may
//!   ever be read in its place, not even after the next mount. So the page stays mapped, and the block
//!   is neither cleaned nor erased until the host has written or trimmed the lost pages.

use thermocline_flash::{BlockId, Chip, Flash, FlashError};

use super::{failures::Why, parts::Parts};
use crate::FtlError;

/// The last page taken from a stream's open block was not programmed. Whether to try again, in
/// another block: not where the page to be copied from `victim` cannot be read.
#[cold]
pub(super) fn may_try_again<C: Chip>(
    parts: &mut Parts<C>,
    bank: usize,
    stream: usize,
    failed: FlashError,
    victim: Option<BlockId>,
    now: u64,
) -> Result<bool, FtlError> {
    parts.failures.happened();
    parts.durability.last_failed();
    let home = &mut parts.banks[bank];
    let at = home.untake(stream);
    if let Some(victim) = victim {
        home.count_copied(stream, victim, now);
    }
    match failed {
        FlashError::ProgramFailed(_) | FlashError::BadBlock(_) => {
            parts.counters.programs_failed += 1;
            if parts.failures.is_read_only() {
                parts.failures.freeze();
            }
            let block = home.open(stream).block();
            home.close_open(&mut parts.placement, stream);
            condemn(parts, bank, block, Why::ProgramFailed);
            // A chip that programs nothing any more must not lose all its blocks to one write.
            if parts.failures.is_read_only() { Err(FtlError::ReadOnly) } else { Ok(true) }
        }
        FlashError::Unreadable(_) if victim.is_some() => {
            parts.counters.pages_lost += 1;
            parts.counters.copies -= 1;
            Ok(false)
        }
        FlashError::NoPower => Err(failed.into()),
        failed => {
            // It may have been programmed for all that.
            if !matches!(parts.chip.read_oob(at), Ok(None)) {
                home.fill(stream);
            }
            Err(failed.into())
        }
    }
}

/// A withdrawn block was not erased. False if it is retired for it.
#[cold]
pub(super) fn not_erased<C: Chip>(
    parts: &mut Parts<C>,
    bank: usize,
    block: BlockId,
    failed: FlashError,
) -> Result<bool, FtlError> {
    parts.failures.happened();
    match failed {
        FlashError::WornOut(_) | FlashError::EraseFailed(_) | FlashError::BadBlock(_) => {
            parts.counters.erases_failed += 1;
            parts.counters.retired += 1;
            parts.failures.retire(block);
            resize(parts, bank, |usable| usable - 1);
            Ok(false)
        }
        failed => Err(failed.into()),
    }
}

/// Sets the valid pages of a block after some were moved.
#[cold]
pub(super) fn recount<C>(parts: &mut Parts<C>, bank: usize, block: BlockId, now: u64) {
    let (mut valid, mut hot) = (0, 0);
    for lpn in parts.tables.current_pages(block) {
        valid += 1;
        hot += u32::from(parts.placement.is_hot(lpn));
    }
    parts.banks[bank].recount(block, valid, hot, now);
}

/// Condemns a full block: it takes no writes before it is emptied.
pub(super) fn condemn<C>(parts: &mut Parts<C>, bank: usize, block: BlockId, why: Why) {
    parts.banks[bank].condemn(block);
    parts.failures.condemn(block, why);
    if why == Why::ProgramFailed {
        parts.counters.retired += 1;
        resize(parts, bank, |usable| usable - 1);
    }
}

/// A full block is left with nothing but pages that cannot be read.
pub(super) fn keep<C>(parts: &mut Parts<C>, bank: usize, block: BlockId) {
    condemn(parts, bank, block, Why::HoldsUnreadable);
    parts.failures.wait(parts.failures.condemned().len() - 1);
    resize(parts, bank, |usable| usable - 1);
}

/// Changes the number of blocks of a bank, its capacity, and whether the layer still takes writes.
#[cold]
pub(super) fn resize<C>(parts: &mut Parts<C>, bank: usize, change: impl FnOnce(u32) -> u32) {
    parts.banks.resize(bank, change);
    parts.failures.judge(&parts.banks);
}

/// Marks retired blocks bad on the chip. The copies of their pages are durable before the mark is.
///
/// To a mount the mark equals an erase, so the log records trims before it.
pub(super) fn mark_retired<C: Chip>(parts: &mut Parts<C>) -> Result<(), FtlError> {
    while let Some(block) = parts.failures.unmarked() {
        if !parts.chip.is_bad(block) {
            parts.record(|journal, parts| journal.before_erase(parts, block))?;
            parts.chip.sync()?;
            parts.chip.mark_bad(block)?;
        }
        parts.failures.marked();
    }
    Ok(())
}
