//! The survivors of a victim, before they are moved.

use core::marker::PhantomData;

use thermocline_flash::Lpn;

use super::{PageState, Placement};

/// How a placement has answered for the survivors of a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The streams of all survivors are set.
    AtOnce,
    /// All survivors go to this stream and are copied in runs.
    Together(u8),
    /// The layer asks about each survivor [separately](Placement::survivor), right before it is
    /// moved.
    OneByOne,
}

/// The survivors of a victim in physical order, with their states and their streams.
#[derive(Debug)]
pub struct Survivors<'a, S> {
    /// The pages.
    lpns: &'a mut [Lpn],
    /// The words of their states; empty without per-page state.
    words: &'a mut [u64],
    streams: &'a mut [u8],
    now: u64,
    state: PhantomData<S>,
}

impl<'a, S: PageState> Survivors<'a, S> {
    /// Survivors `lpns`, with one word each if there is per-page state, to be moved at `now`.
    #[inline(always)]
    #[must_use]
    pub fn new(lpns: &'a mut [Lpn], words: &'a mut [u64], streams: &'a mut [u8], now: u64) -> Self {
        Self { lpns, words, streams, now, state: PhantomData }
    }

    /// The pages.
    #[inline(always)]
    #[must_use]
    pub const fn pages(&self) -> &[Lpn] {
        self.lpns
    }

    /// Time of the move.
    #[inline(always)]
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// The streams of the pages, in page order, to be set.
    #[inline(always)]
    pub const fn streams(&mut self) -> &mut [u8] {
        self.streams
    }

    /// The pages and their words, which must be permuted alike.
    #[inline(always)]
    pub(super) const fn sorted_alike(&mut self) -> (&mut [Lpn], &mut [u64]) {
        (self.lpns, self.words)
    }

    /// Calls `tell` for each page with its state, which may be changed, and sets the stream that it
    /// returns.
    #[inline(always)]
    pub fn each(&mut self, mut tell: impl FnMut(Lpn, &mut S) -> u8) -> Answer {
        if S::KEPT.is_any() {
            let words = self.words.iter_mut();
            for ((&lpn, word), stream) in self.lpns.iter().zip(words).zip(&mut *self.streams) {
                let mut page = S::from_word(*word);
                *stream = tell(lpn, &mut page);
                *word = page.word();
            }
        } else {
            for (&lpn, stream) in self.lpns.iter().zip(&mut *self.streams) {
                *stream = tell(lpn, &mut S::default());
            }
        }
        Answer::AtOnce
    }

    /// Asks a placement about each page.
    #[inline(always)]
    pub(super) fn ask<P: Placement<Page = S>>(&mut self, placement: &mut P) -> Answer {
        let now = self.now;
        self.each(|lpn, page| placement.survivor(page, lpn, now))
    }

    /// Fetches what a placement knows of the pages, and asks it about each.
    #[inline(always)]
    pub(super) fn fetch_and_ask<P: Placement<Page = S>>(&mut self, placement: &mut P) -> Answer {
        self.lpns.iter().for_each(|&lpn| placement.prefetch(lpn));
        self.ask(placement)
    }
}
