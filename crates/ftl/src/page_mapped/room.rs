//! Making room for what the host writes: when cleaning begins, when it ends, and what to do where it
//! gives nothing.

use alloc::boxed::Box;

use thermocline_flash::{BlockId, Chip, Lpn};
use thermocline_policy::{State, placement::Placement, trigger::Trigger};

use super::{
    cleaner::Cleaner,
    journal::Journal,
    opening::open_next,
    parts::Parts,
    scrub::{empty_condemned, scrub_under_load},
};
use crate::FtlError;

/// The host is about to write a page and its stream has no room. If the page is marked, cleaning
/// needs not drop the old copy, which is wanted again only if there is no room.
#[cold]
#[inline(never)]
pub(super) fn make_room_for<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    lpn: Lpn,
    bank: usize,
    stream: u8,
    now: u64,
) -> Result<(), FtlError> {
    let Some((entry, at)) = parts.tables.take_marked(lpn) else {
        return make_room(parts, journal, cleaner, bank, stream, now);
    };
    let block = parts.tables.shape().block_of(at);
    let erases = parts.banks.block(block).erases;
    // The log may record that it is gone, and then it is.
    if let Some(journal) = journal {
        journal.dropped(lpn);
    }
    let made = make_room(parts, journal, cleaner, bank, stream, now);
    let after = parts.banks.block(block);
    let is_kept = after.erases == erases && after.state != State::Unusable;
    if made.is_err() && is_kept && journal.is_none() {
        parts.tables.put_marked(lpn, entry);
    }
    made
}

/// Gives `stream` an open block with room, after cleaning as much as the watermarks ask for.
#[cold]
#[inline(never)]
fn make_room<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    bank: usize,
    stream: u8,
    now: u64,
) -> Result<(), FtlError> {
    if let Some(journal) = journal {
        journal.keep_pace(parts.any(), now)?;
    }
    let marks = parts.config.watermarks;
    let falling = parts.config.trigger == Trigger::Falling;
    let mut target = if falling { marks.high } else { marks.low };
    let mut cleaned = false;
    scrub_under_load(parts, journal, cleaner, bank, now)?;
    parts.banks[bank].close_unused(&mut parts.placement, stream);
    loop {
        if parts.failures.is_pending() {
            empty_condemned(parts, journal, cleaner, bank, now)?;
        }
        let home = &parts.banks[bank];
        let free = home.free_blocks() as u32;
        if home.open(usize::from(stream)).is_full() {
            if free >= target {
                return open_next(parts, journal, bank, stream, now);
            }
            // The cleaner itself opened a block for this stream.
        } else if free + 1 >= target {
            return Ok(());
        }
        if !cleaner.clean(parts, journal, bank, &mut cleaned, now)? {
            return do_without_cleaning(parts, journal, cleaner, bank, stream, now);
        }
        target = marks.high;
    }
}

/// Cleaning gives a bank no more blocks. As long as nothing failed there is room for the host all
/// the same; later the host gets what leaves the reserve as it is.
#[cold]
#[inline(never)]
fn do_without_cleaning<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    bank: usize,
    stream: u8,
    now: u64,
) -> Result<(), FtlError> {
    let reserve = parts.banks.reserve_pages();
    loop {
        let home = &mut parts.banks[bank];
        let is_full = home.open(usize::from(stream)).is_full();
        let has_room = !is_full || home.free_blocks() > 0;
        if !parts.failures.any() || has_room && home.free_pages() > reserve {
            return if is_full { open_next(parts, journal, bank, stream, now) } else { Ok(()) };
        }
        if parts.failures.is_frozen() {
            return Err(FtlError::ReadOnly);
        }
        if is_full {
            // The garbage in it is wanted.
            home.close_open(&mut parts.placement, usize::from(stream));
        }
        if !clean_or_close(parts, journal, cleaner, bank, now)? {
            parts.failures.exhausted(&parts.banks);
            return Err(FtlError::ReadOnly);
        }
        empty_condemned(parts, journal, cleaner, bank, now)?;
    }
}

/// Cleans the block with the least valid pages, or closes an open one so that it can be cleaned. False
/// where nothing helps.
fn clean_or_close<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    bank: usize,
    now: u64,
) -> Result<bool, FtlError> {
    let cleaned = cleaner.clean_least_valid(parts, journal, bank, now)?;
    Ok(cleaned || close_for_its_garbage(parts, bank))
}

/// Closes the open block that has garbage and the least valid pages, if those find room elsewhere. After
/// a crash what room there was may lie as garbage in open blocks.
fn close_for_its_garbage<C, P: Placement>(parts: &mut Parts<C, P>, bank: usize) -> bool {
    let home = &mut parts.banks[bank];
    let free = home.free_pages();
    let least = (0..)
        .zip(home.open_blocks())
        .filter(|(_, open)| open.block() != BlockId::NONE)
        .map(|(stream, open)| (home.block(open.block()).valid, stream, open))
        .filter(|(valid, _, open)| {
            open.programmed() > *valid && u64::from(valid + open.room()) <= free
        })
        .map(|(valid, stream, _)| (valid, stream))
        .min();
    if let Some((_, stream)) = least {
        home.close_open(&mut parts.placement, stream);
    }
    least.is_some()
}

/// Why a page cannot be written; or it can, once a crash that cost the reserve is made up for.
#[cold]
pub(super) fn refuse<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    lpn: Lpn,
    now: u64,
) -> Result<(), FtlError> {
    if lpn.index() >= parts.tables.len() {
        return Err(FtlError::OutOfRange(lpn));
    }
    if !parts.failures.forgive_reserve(&parts.banks) {
        return Err(FtlError::ReadOnly);
    }
    let made = (0..parts.banks.len())
        .try_for_each(|bank| make_reserve(parts, journal, cleaner, bank, now));
    if made.is_err() {
        parts.failures.lacks_reserve(&parts.banks);
    }
    made
}

/// Cleans as much as the reserve of a bank lacks after a crash, before the host takes what room is
/// left.
fn make_reserve<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    bank: usize,
    now: u64,
) -> Result<(), FtlError> {
    while parts.banks[bank].free_pages() < parts.banks.reserve_pages() {
        if !clean_or_close(parts, journal, cleaner, bank, now)? {
            break;
        }
    }
    Ok(())
}

/// Cleans until more than the reserve is free.
#[inline(always)]
pub(super) fn clean_eagerly<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    bank: usize,
    now: u64,
) -> Result<(), FtlError> {
    let mut cleaned = false;
    while parts.banks[bank].free_blocks() <= parts.banks.reserve()
        && cleaner.clean(parts, journal, bank, &mut cleaned, now)?
    {}
    Ok(())
}

/// Cleans a block of the bank that has the fewest free ones among those that have not enough for
/// idle time; where nothing is worth cleaning in it, of the next.
pub(super) fn clean_ahead<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    now: u64,
) -> Result<bool, FtlError> {
    let enough = parts.config.idle_free as usize;
    let before = parts.counters.victims;
    let mut tried = None;
    loop {
        let short = (0..parts.banks.len()).map(|bank| (parts.banks[bank].free_blocks(), bank));
        let next = short.filter(|next| next.0 < enough && tried < Some(*next)).min();
        let Some((_, bank)) = next else { return Ok(false) };
        if cleaner.clean(parts, journal, bank, &mut false, now)? {
            parts.counters.idle_victims += parts.counters.victims - before;
            return Ok(true);
        }
        tried = next;
    }
}
