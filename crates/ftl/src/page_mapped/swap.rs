//! Wear levelling near the end of life: the data of the least erased block move to the most erased
//! one (CAT paper, §3.2: "we swap the segment with maximum erase times and the segment with minimum
//! erase times").
//!
//! Data that stayed in the least erased block are cold and will stay in the worn one; the fresh
//! block becomes free.

use alloc::vec::Vec;

use thermocline_flash::{BlockId, Chip, Flash, FlashError};
use thermocline_policy::wear::WearLeveling;

use super::{
    erasing::erase,
    failures::Why,
    open_block::OpenBlock,
    parts::Parts,
    retire::{condemn, keep, recount},
};
use crate::FtlError;

/// Two blocks that are swapped.
#[derive(Clone, Copy, Debug)]
struct Pair {
    bank: usize,
    /// The least erased block, with data.
    fresh: BlockId,
    /// The most erased one, just erased.
    worn: BlockId,
}

/// How far the data of the fresh block were moved.
struct Moved {
    pages: u32,
    /// Whether a page could not be read, and stays.
    left: bool,
    failed: Option<FlashError>,
}

/// Moves the data of the least erased block into `worn`, just erased, if that is due; the least
/// erased block is then on the free list in its place.
pub(super) fn swap_with_least_erased<C: Chip>(
    parts: &mut Parts<C>,
    withdrawn: &mut Vec<BlockId>,
    worn: BlockId,
    now: u64,
) -> Result<bool, FtlError> {
    let Some(pair) = due(parts, worn) else { return Ok(false) };
    let Pair { bank, fresh, .. } = pair;
    parts.banks[bank].open_in_place_of(fresh, worn);
    let moved = move_data(parts, pair, now);
    parts.counters.copies += u64::from(moved.pages);
    parts.counters.swap_copies += u64::from(moved.pages);
    parts.banks[bank].copied_in_place(fresh, worn, moved.pages);
    if let Some(failed) = moved.failed {
        return swap_failed(parts, pair, failed, now);
    }
    parts.banks[bank].replace(&mut parts.placement, fresh, worn);
    if moved.left {
        recount(parts, bank, fresh, now);
        keep(parts, bank, fresh);
        return Ok(true);
    }
    parts.banks[bank].withdraw(fresh);
    if erase(parts, withdrawn, fresh)? {
        parts.counters.swap_erases += 1;
        parts.banks[bank].push_free(fresh);
    }
    Ok(true)
}

/// The least erased block to swap a worn one with, where that is due.
fn due<C>(parts: &mut Parts<C>, worn: BlockId) -> Option<Pair> {
    let WearLeveling::Swap(swap) = parts.config.wear_leveling else { return None };
    let bank = parts.banks.bank_of(worn);
    let home = &mut parts.banks[bank];
    let erases = home.block(worn).erases;
    if erases < swap.from_erases {
        return None;
    }
    let (least, fresh) = home.least_erased()?;
    (erases.saturating_sub(least) >= swap.gap).then_some(Pair { bank, fresh, worn })
}

/// Moves what can be read of the fresh block's data, in physical order, until a copy fails.
fn move_data<C: Chip>(parts: &mut Parts<C>, Pair { bank, fresh, worn }: Pair, now: u64) -> Moved {
    let shape = *parts.tables.shape();
    let stream = parts.banks[bank].block(fresh).stream;
    let mut open = OpenBlock::of(&shape, worn, 0);
    let mut left = false;
    for page in 0..shape.pages() {
        let lpn = parts.tables.owners(fresh)[page as usize];
        let from = shape.data_page(fresh, page);
        if parts.tables.entry(lpn) != from {
            continue;
        }
        let to = open.take();
        let word = parts.word(lpn);
        let oob = parts.oob(lpn, word, stream, now);
        match parts.chip.copy(from, to.at, oob) {
            Ok(()) => {}
            Err(FlashError::Unreadable(_)) => {
                parts.counters.pages_lost += 1;
                // No page has that number, and no other gets it.
                parts.durability.last_failed();
                open.untake();
                left = true;
                continue;
            }
            Err(failed) => {
                open.untake();
                return Moved { pages: open.programmed(), left, failed: Some(failed) };
            }
        }
        parts.point(lpn, word, to);
        if parts.placement.is_hot(lpn) {
            parts.banks[bank].warm(worn, 1);
        }
    }
    Moved { pages: open.programmed(), left, failed: None }
}

/// A swap failed after some pages. Moved pages stay in the target; if a program failed, it is
/// condemned with them. True if the swap is over.
#[cold]
fn swap_failed<C: Chip>(
    parts: &mut Parts<C>,
    Pair { bank, fresh, worn }: Pair,
    failed: FlashError,
    now: u64,
) -> Result<bool, FtlError> {
    parts.failures.happened();
    parts.durability.last_failed();
    parts.banks[bank].close(&mut parts.placement, worn);
    recount(parts, bank, fresh, now);
    if !matches!(failed, FlashError::ProgramFailed(_) | FlashError::BadBlock(_)) {
        return Err(failed.into());
    }
    parts.counters.programs_failed += 1;
    condemn(parts, bank, worn, Why::ProgramFailed);
    Ok(true)
}
