//! What the chip fails at: programs, erases, reads of pages that are to be moved.
//!
//! Problem. A program fails in the midst of a cleaning, while the block that it fails in holds pages
//! that were written before. Idea. The tables follow a program only when it has succeeded, so whatever
//! fails, the old copy is the current one until there is another. What is left to be done about the
//! block can wait: it is closed and *condemned*, and emptied at the next quiet moment (see `scrub`).
//! Consequence. Any error can be returned from anywhere, and failures during the handling of a failure
//! need no thought of their own.
//!
//! What becomes of a block:
//! * A program failed in it: it is condemned; once empty it is retired, which means marked bad on the
//!   chip, but only after a sync, for a mark may outlive a loss of power that the copies do not.
//! * Its erase failed: it was empty, and is retired at once.
//! * A page of it was to be moved and could not be read. The page is lost, but nobody may ever read an
//!   older copy or zeros in its place, not even after the next mount, so the page stays mapped and the
//!   block is kept, neither cleaned nor erased, until the host has written or trimmed what is lost.

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

/// The table learns how many pages of a block are still current, after some were moved.
#[cold]
pub(super) fn recount<C>(parts: &mut Parts<C>, bank: usize, block: BlockId, now: u64) {
    let (mut valid, mut hot) = (0, 0);
    for lpn in parts.tables.current_pages(block) {
        valid += 1;
        hot += u32::from(parts.placement.is_hot(lpn));
    }
    parts.banks[bank].recount(block, valid, hot, now);
}

/// A full block is to be emptied and not to be written before.
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

/// A bank has more or fewer blocks than before: what it can hold follows, and whether the layer
/// still takes writes.
#[cold]
pub(super) fn resize<C>(parts: &mut Parts<C>, bank: usize, change: impl FnOnce(u32) -> u32) {
    parts.banks.resize(bank, change);
    parts.failures.judge(&parts.banks);
}

/// Marks retired blocks bad on the chip. What was moved out of them is durable before the mark is.
///
/// For a mount the mark is as good as an erase, so the log has a record of trims before it.
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
