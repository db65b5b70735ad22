//! A placement as the layer calls it: the state of a page is a word. Code that is compiled once for all placements
//! takes a trait object.

use thermocline_flash::Lpn;
use thermocline_policy::placement::{Found, Kept, PageState, Placement, Streams};

/// A placement whose state of pages is in words.
pub(super) trait Worded: Streams {
    /// How words are stored.
    fn kept(&self) -> Kept;

    /// See [`Placement::filled`]; returns the page's word.
    fn filled_word(&mut self, lpn: Lpn, now: u64) -> u64;

    /// See [`Placement::written`]; returns the new word.
    fn written_word(&mut self, lpn: Lpn, word: u64, now: u64) -> u64;

    /// See [`Placement::trimmed`].
    fn trimmed_word(&mut self, lpn: Lpn, word: u64);

    /// See [`Placement::spilt`]; returns the new word.
    fn spilt_word(&mut self, lpn: Lpn, word: u64, stream: u8, now: u64) -> u64;

    /// See [`Placement::last_written`].
    fn last_written_word(&self, lpn: Lpn, word: u64) -> Option<u64>;

    /// See [`Placement::save`].
    fn saved(&self, lpn: Lpn, word: u64) -> u16;

    /// See [`Placement::restore`]; returns the page's word.
    fn restored(&mut self, found: &Found) -> u64;

    /// Whether a page is hot, as far as the placement knows.
    #[inline(always)]
    fn is_hot(&self, lpn: Lpn) -> bool {
        self.hot_pages().is_some_and(|pages| pages.is_hot(lpn))
    }
}

/// A page's word, after its state was changed from that of a word.
#[inline(always)]
fn changed<S: PageState>(word: u64, change: impl FnOnce(&mut S)) -> u64 {
    let mut page = S::from_word(word);
    change(&mut page);
    page.word()
}

impl<P: Placement> Worded for P {
    #[inline(always)]
    fn kept(&self) -> Kept {
        P::Page::KEPT
    }

    #[inline(always)]
    fn filled_word(&mut self, lpn: Lpn, now: u64) -> u64 {
        changed(0, |page| self.filled(page, lpn, now))
    }

    #[inline(always)]
    fn written_word(&mut self, lpn: Lpn, word: u64, now: u64) -> u64 {
        changed(word, |page| self.written(page, lpn, now))
    }

    fn trimmed_word(&mut self, lpn: Lpn, word: u64) {
        self.trimmed(P::Page::from_word(word), lpn);
    }

    fn spilt_word(&mut self, lpn: Lpn, word: u64, stream: u8, now: u64) -> u64 {
        changed(word, |page| self.spilt(page, lpn, stream, now))
    }

    #[inline(always)]
    fn last_written_word(&self, lpn: Lpn, word: u64) -> Option<u64> {
        self.last_written(P::Page::from_word(word), lpn)
    }

    #[inline(always)]
    fn saved(&self, lpn: Lpn, word: u64) -> u16 {
        self.save(P::Page::from_word(word), lpn)
    }

    fn restored(&mut self, found: &Found) -> u64 {
        changed(0, |page| self.restore(page, found))
    }
}
