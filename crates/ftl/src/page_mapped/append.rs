//! A page that the host writes goes to the next page of an open block.
//!
//! Nothing is changed before the page is programmed: until then the old copy is the current one. The
//! old copy is looked up after a page was found for the new one, for cleaning may just have moved it
//! (CAT paper, Figure 3).
//!
//! The DAC paper's Figure 2 invalidates before it allocates. Cleaning between the two would take the old copy for garbage
//! and erase it while the new one is not programmed: a power loss then loses data that were acknowledged.

use thermocline_flash::{Chip, Flash, FlashError, Lpn};
use thermocline_policy::placement::{HotPages, PageState, Placement, Write};

use super::{
    core::PageMapped, open_block::Target, parts::Parts, retire::may_try_again, worded::Worded,
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

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Writes new data of a page to the open block of its stream; cleans first if it must. The placement makes the new
    /// word of that of the copy which is superseded.
    #[inline(always)]
    pub(super) fn append(
        &mut self,
        bank: usize,
        write: PageWrite<'_>,
        renew: impl FnOnce(&mut P, u64) -> u64,
    ) -> Result<(), FtlError> {
        let PageWrite { lpn, mut stream, data, now } = write;
        let mut word = self.parts.word(lpn);
        let to = match self.parts.banks[bank].take_if_room(usize::from(stream)) {
            Some(to) => to,
            None => {
                stream = self.make_room_for(lpn, bank, stream, now)?;
                word = word_after_room(&self.parts, lpn, word);
                self.parts.banks[bank].take(usize::from(stream))
            }
        };
        let write = PageWrite { stream, ..write };
        let oob = self.parts.oob(lpn, word, stream, now);
        let (to, word) = match self.parts.chip.program(to.at, oob, data) {
            Ok(()) => (to, word),
            Err(failed) => self.program_elsewhere(bank, write, failed)?,
        };
        let word = renew(&mut self.parts.placement, word);
        self.point_to(bank, write, word, to);
        Ok(())
    }

    /// New data of a page were programmed: the tables follow.
    #[inline(always)]
    pub(super) fn point_to(&mut self, bank: usize, write: PageWrite<'_>, word: u64, to: Target) {
        let (PageWrite { lpn, stream, now, .. }, parts) = (write, &mut self.parts);
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
    pub(super) fn program_elsewhere(
        &mut self,
        bank: usize,
        write: PageWrite<'_>,
        failed: FlashError,
    ) -> Result<(Target, u64), FtlError> {
        let done = self.try_elsewhere(bank, write, failed);
        if done.is_err()
            && self.parts.tables.is_absent(write.lpn)
            && let Some(journal) = &mut self.parts.journal
        {
            // It may have been programmed for all that: the next flush says that it holds no data.
            journal.dropped(write.lpn);
        }
        done
    }

    /// Whether no checkpoint may say where pages are.
    pub(super) fn pause_checkpoints(&mut self, is_paused: bool) {
        if let Some(journal) = &mut self.parts.journal {
            journal.pause(is_paused);
        }
    }

    fn try_elsewhere(
        &mut self,
        bank: usize,
        PageWrite { lpn, stream, data, now }: PageWrite<'_>,
        mut failed: FlashError,
    ) -> Result<(Target, u64), FtlError> {
        let s = usize::from(stream);
        let mut word = self.parts.word(lpn);
        loop {
            may_try_again(&mut self.parts, bank, s, failed, None, now)?;
            // A checkpoint would miss the first attempt.
            self.pause_checkpoints(true);
            let made = self.make_room_for(lpn, bank, stream, now);
            self.pause_checkpoints(false);
            // After a failure no page goes to another stream.
            debug_assert_eq!(made.unwrap_or(stream), stream);
            made?;
            word = word_after_room(&self.parts, lpn, word);
            let to = self.parts.banks[bank].take(s);
            let oob = self.parts.oob(lpn, word, stream, now);
            match self.parts.chip.program(to.at, oob, data) {
                Ok(()) => return Ok((to, word)),
                Err(again) => failed = again,
            }
        }
    }
}

/// The word of a page, `before` room was made for it. Cleaning may have changed it; it leaves behind the data of a
/// marked page, whose word still counts for this write.
#[inline(always)]
fn word_after_room<C: Chip, P: Placement>(parts: &Parts<C, P>, lpn: Lpn, before: u64) -> u64 {
    if parts.tables.is_absent(lpn) { before } else { parts.word(lpn) }
}
