//! Emptying blocks that must not, or should not, hold data any longer: those that are condemned (see
//! `retire`), and those whose reads needed much correction, before it is too much (*scrubbing*).
//!
//! A block is emptied as if it were cleaned, but its pages stay in their stream, and the placement is
//! not asked. That happens in the background ([`Upkeep::scrub`](crate::Upkeep::scrub), idle time), and
//! under load whenever an open block is full: condemned blocks then, and one ailing block. Emptying takes
//! room and gives none back if the block is not to be used again, so it waits until there is room for
//! the survivors of the next victim, too.

use alloc::boxed::Box;

use thermocline_flash::{BlockId, Chip, Condition, Flash};
use thermocline_policy::{State, placement::Placement};

use super::{
    cleaner::Cleaner,
    erasing::drop_marked,
    failures::{Condemned, Why},
    journal::Journal,
    parts::Parts,
    retire::{condemn, mark_retired, resize},
};
use crate::FtlError;

/// What came of an attempt to empty a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Emptied {
    /// It went on.
    Yes,
    /// There is nothing to be done, or not before the host writes what was lost.
    Waits,
    /// There is no room for its pages now.
    NoRoom,
}

/// Collects the blocks that the chip reports as ailing.
#[inline(always)]
fn collect_ailing<C: Chip, P>(parts: &mut Parts<C, P>) {
    while let Some(block) = parts.chip.ailing() {
        note_ailing(parts, block);
    }
}

#[cold]
fn note_ailing<C: Chip, P>(parts: &mut Parts<C, P>, block: BlockId) {
    if block.0 < parts.chip.geometry().blocks() {
        parts.failures.add_ailing(block, parts.banks.block(block).erases);
    }
}

/// One step in the background; false if there is nothing to do, or nothing that can be done now.
pub(super) fn scrub_once<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    now: u64,
) -> Result<bool, FtlError> {
    collect_ailing(parts);
    if !cleaner.withdrawn().is_empty() || parts.failures.unmarked().is_some() {
        cleaner.erase_withdrawn(parts, journal, now)?;
        return Ok(true);
    }
    let mut without_room = None;
    for i in 0..parts.failures.condemned().len() {
        match empty(parts, journal, cleaner, i, now)? {
            Emptied::Yes => return Ok(true),
            Emptied::Waits => {}
            Emptied::NoRoom => without_room = Some(parts.failures.condemned()[i].block),
        }
    }
    let mut turn = 0;
    while let Some(&(block, _)) = parts.failures.ailing().get(turn) {
        match scrub_at(parts, journal, cleaner, turn, now)? {
            Some(Emptied::NoRoom) => {
                without_room = Some(block);
                turn += 1;
            }
            Some(_) => return Ok(true),
            None => {}
        }
    }
    match without_room {
        // What is cleaned is not to be written again.
        Some(_) if parts.failures.is_read_only() => Ok(false),
        Some(block) => {
            let bank = parts.banks.bank_of(block);
            cleaner.clean(parts, journal, bank, &mut false, now)
        }
        None => Ok(false),
    }
}

/// Before a bank is cleaned: scrubs the block that was reported as ailing first.
#[inline(always)]
pub(super) fn scrub_under_load<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    bank: usize,
    now: u64,
) -> Result<(), FtlError> {
    collect_ailing(parts);
    if parts.failures.ailing().is_empty() {
        return Ok(());
    }
    scrub_one_of(parts, journal, cleaner, bank, now)
}

#[cold]
fn scrub_one_of<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    bank: usize,
    now: u64,
) -> Result<(), FtlError> {
    let mut ailing = parts.failures.ailing().iter();
    if let Some(turn) = ailing.position(|&(block, _)| parts.banks.bank_of(block) == bank) {
        scrub_at(parts, journal, cleaner, turn, now)?;
    }
    Ok(())
}

/// Scrubs an ailing block, unless it was erased since or holds no data; nothing then. For want of
/// room it keeps its turn.
fn scrub_at<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    turn: usize,
    now: u64,
) -> Result<Option<Emptied>, FtlError> {
    let (block, erases) = parts.failures.ailing()[turn];
    let bank = parts.banks.bank_of(block);
    let home = &mut parts.banks[bank];
    let is = *home.block(block);
    let open = home.stream_of(block);
    let is_full = matches!(is.state, State::Closed | State::Aside);
    if is.erases != erases || !is_full && open.is_none() {
        parts.failures.remove_ailing(turn);
        return Ok(None);
    }
    let own_room = open.map_or(0, |stream| u64::from(home.open(stream).room()));
    if u64::from(is.valid) + own_room > home.free_pages() {
        return Ok(Some(Emptied::NoRoom));
    }
    parts.failures.remove_ailing(turn);
    if let Some(stream) = open {
        home.close_open(&mut parts.placement, stream);
    }
    condemn(parts, bank, block, Why::Ailing);
    let last = parts.failures.condemned().len() - 1;
    empty(parts, journal, cleaner, last, now).map(Some)
}

/// Empties the condemned blocks of a bank as far as there is room.
#[cold]
#[inline(never)]
pub(super) fn empty_condemned<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    bank: usize,
    now: u64,
) -> Result<(), FtlError> {
    mark_retired(parts, journal)?;
    let mut i = 0;
    while let Some(&Condemned { block, .. }) = parts.failures.condemned().get(i) {
        if parts.banks.bank_of(block) == bank {
            empty(parts, journal, cleaner, i, now)?;
        }
        // Programs that fail meanwhile add blocks at the end.
        let is_there = parts.failures.condemned().get(i).is_some_and(|c| c.block == block);
        i += usize::from(is_there);
    }
    Ok(())
}

/// Moves what can be read of a condemned block, and retires it or erases it if nothing is left.
fn empty<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    i: usize,
    now: u64,
) -> Result<Emptied, FtlError> {
    let Condemned { block, why, waits } = parts.failures.condemned()[i];
    let bank = parts.banks.bank_of(block);
    let valid = parts.banks[bank].block(block).valid;
    if valid > 0 {
        if waits || parts.failures.is_frozen() {
            return Ok(Emptied::Waits);
        }
        let pages = parts.tables.shape().pages();
        let gone = if why == Why::ProgramFailed { pages } else { 0 };
        if u64::from(valid + gone) > parts.banks[bank].free_pages() {
            return Ok(Emptied::NoRoom);
        }
        match cleaner.move_all(parts, journal, block, now) {
            Err(FtlError::NoSpace) => return Ok(Emptied::NoRoom),
            Err(FtlError::ReadOnly) => {
                parts.failures.freeze();
                return Ok(Emptied::Waits);
            }
            moved => moved?,
        }
        if parts.banks[bank].block(block).valid > 0 {
            parts.failures.wait(i);
            if why != Why::ProgramFailed {
                resize(parts, bank, |usable| usable - 1);
            }
            return Ok(Emptied::Yes);
        }
    }
    parts.failures.emptied(i);
    drop_marked(parts, journal, block);
    if why == Why::ProgramFailed {
        parts.banks[bank].withdraw(block);
        parts.failures.retire(block);
    } else {
        parts.counters.scrubbed += u64::from(why == Why::Ailing);
        if waits {
            resize(parts, bank, |usable| usable + 1);
        }
        cleaner.withdraw(parts, block);
    }
    cleaner.erase_withdrawn(parts, journal, now)?;
    Ok(Emptied::Yes)
}
