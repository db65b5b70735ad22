//! A page that the host writes goes to the next page of an open block.
//!
//! Nothing is changed before the page is programmed: until then the old copy is the current one. The
//! old copy is looked up after a page was found for the new one, for cleaning may just have moved it
//! (CAT paper, Figure 3).

use alloc::boxed::Box;

use thermocline_flash::{Chip, Flash, FlashError, Lpn};
use thermocline_policy::placement::{HotPages, PageState, Placement, Write};

use super::{
    cleaner::Cleaner, journal::Journal, open_block::Target, parts::Parts, retire::may_try_again,
    room::make_room_for, worded::Worded,
};
use crate::FtlError;

/// New data of a page.
#[derive(Clone, Copy)]
pub(super) struct PageWrite<'a> {
    pub(super) lpn: Lpn,
    pub(super) stream: u8,
    pub(super) data: &'a [u8],
    pub(super) now: u64,
}

/// The stream of a page the host writes.
#[inline(always)]
pub(super) fn stream_of<C: Chip, P: Placement>(parts: &mut Parts<C, P>, lpn: Lpn, now: u64) -> u8 {
    let page = P::Page::from_word(parts.word(lpn));
    let was_hot = parts.placement.is_hot(lpn);
    let Parts { placement, banks, tables, .. } = parts;
    let stream = placement.host(page, &Write { lpn, now, old: || banks.place(tables, lpn) });
    if parts.placement.is_hot(lpn) != was_hot {
        parts.warm(lpn, if was_hot { -1 } else { 1 });
    }
    if let Some(cooled) = parts.placement.hot_pages().and_then(HotPages::cooled) {
        parts.warm(cooled, -1);
    }
    stream
}

/// Writes new data of a page to the open block of its stream; cleans first if it must.
#[inline(always)]
pub(super) fn append<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    bank: usize,
    write: PageWrite<'_>,
) -> Result<(), FtlError> {
    let PageWrite { lpn, stream, data, now } = write;
    let s = usize::from(stream);
    let mut word = parts.word(lpn);
    let to = match parts.banks[bank].take_if_room(s) {
        Some(to) => to,
        None => {
            make_room_for(parts, journal, cleaner, lpn, bank, stream, now)?;
            word = word_after_room(parts, lpn, word);
            parts.banks[bank].take(s)
        }
    };
    let oob = parts.oob(lpn, word, stream, now);
    let (to, word) = match parts.chip.program(to.at, oob, data) {
        Ok(()) => (to, word),
        Err(failed) => program_elsewhere(parts, journal, cleaner, bank, write, failed)?,
    };
    point_to(parts, bank, write, word, to);
    Ok(())
}

/// The word of a page, `before` room was made for it. Cleaning may have changed it; it leaves behind the data of a
/// marked page, whose word still counts for this write.
#[inline(always)]
fn word_after_room<C, P: Placement>(parts: &Parts<C, P>, lpn: Lpn, before: u64) -> u64
where
    C: Chip,
{
    if parts.tables.is_absent(lpn) { before } else { parts.word(lpn) }
}

/// New data of a page were programmed: the tables follow.
#[inline(always)]
pub(super) fn point_to<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    bank: usize,
    PageWrite { lpn, stream, now, .. }: PageWrite<'_>,
    word: u64,
    to: Target,
) {
    if let Some(old) = parts.tables.supersede(lpn) {
        debug_assert!(parts.tables.is_owner(lpn, old), "{lpn:?} was in {old:?}");
        parts.invalidate(lpn, old, now);
    }
    let home = &mut parts.banks[bank];
    let block = home.wrote(usize::from(stream), now);
    if parts.placement.is_hot(lpn) {
        home.warm(block, 1);
    }
    parts.point(lpn, word, to);
}

/// A page of the host could not be programmed: tries other blocks of the stream. Returns the page
/// that was programmed, and the word of the page it supersedes.
#[cold]
#[inline(never)]
pub(super) fn program_elsewhere<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    bank: usize,
    write: PageWrite<'_>,
    failed: FlashError,
) -> Result<(Target, u64), FtlError> {
    let done = try_elsewhere(parts, journal, cleaner, bank, write, failed);
    if done.is_err()
        && parts.tables.is_absent(write.lpn)
        && let Some(journal) = journal
    {
        // It may have been programmed for all that: the next flush says that it holds no data.
        journal.dropped(write.lpn);
    }
    done
}

fn try_elsewhere<C: Chip, P: Placement>(
    parts: &mut Parts<C, P>,
    journal: &mut Option<Box<Journal>>,
    cleaner: &mut Cleaner,
    bank: usize,
    PageWrite { lpn, stream, data, now }: PageWrite<'_>,
    mut failed: FlashError,
) -> Result<(Target, u64), FtlError> {
    let s = usize::from(stream);
    let mut word = parts.word(lpn);
    let pause = |journal: &mut Option<Box<Journal>>, is_paused| {
        if let Some(journal) = journal {
            journal.pause(is_paused);
        }
    };
    loop {
        may_try_again(parts, bank, s, failed, None, now)?;
        pause(journal, true);
        let made = make_room_for(parts, journal, cleaner, lpn, bank, stream, now);
        pause(journal, false);
        made?;
        word = word_after_room(parts, lpn, word);
        let to = parts.banks[bank].take(s);
        let oob = parts.oob(lpn, word, stream, now);
        match parts.chip.program(to.at, oob, data) {
            Ok(()) => return Ok((to, word)),
            Err(again) => failed = again,
        }
    }
}
