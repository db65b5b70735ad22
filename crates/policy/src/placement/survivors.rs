//! The survivors of a victim, before any of them is moved.

use core::marker::PhantomData;

use thermocline_flash::Lpn;

use super::{PageState, Placement};

/// How a placement answers about the survivors of a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All streams are there.
    AtOnce,
    /// All go to this stream: they are copied in runs.
    Together(u8),
    /// It is to be asked about each [by itself](Placement::survivor), when its turn to be moved comes.
    OneByOne,
}

/// The survivors of a victim, in physical order, and their states; and room for the streams they go to.
#[derive(Debug)]
pub struct Survivors<'a, S> {
    /// The pages.
    lpns: &'a mut [Lpn],
    /// The words of their states; none where nothing is kept.
    words: &'a mut [u64],
    streams: &'a mut [u8],
    now: u64,
    state: PhantomData<S>,
}

impl<'a, S: PageState> Survivors<'a, S> {
    /// These pages, with as many words if anything is kept of them, to be moved at `now`.
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

    /// When they are moved.
    #[inline(always)]
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Where their streams are told, in their order.
    #[inline(always)]
    pub const fn streams(&mut self) -> &mut [u8] {
        self.streams
    }

    /// The pages and their words, to be sorted alike.
    #[inline(always)]
    pub(super) const fn sorted_alike(&mut self) -> (&mut [Lpn], &mut [u64]) {
        (self.lpns, self.words)
    }

    /// Calls `tell` for each, with its state, which may be changed; what it returns is the stream.
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

    /// Asks a placement about each.
    #[inline(always)]
    pub(super) fn ask<P: Placement<Page = S>>(&mut self, placement: &mut P) -> Answer {
        let now = self.now;
        self.each(|lpn, page| placement.survivor(page, lpn, now))
    }
}
