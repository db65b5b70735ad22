//! Update count and last host write of each page, in one word as long as both fit.
//!
//! In nanoseconds they do for three days, and for 65,535 updates of a page. A survivor then asks for half as much
//! memory. The first page that does not fit gives all of them two words.

use alloc::{vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

/// Bits of a word for the time; the others are the count's.
const TIME_BITS: u32 = 48;
const TIME: u64 = (1 << TIME_BITS) - 1;

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Updates {
    /// The last write.
    pub written: u64,
    pub count: u32,
}

impl Updates {
    /// Both in one word, if they fit.
    #[inline(always)]
    const fn word(self) -> Option<u64> {
        let fits = self.written <= TIME && self.count as u64 <= u64::MAX >> TIME_BITS;
        if fits { Some((self.count as u64) << TIME_BITS | self.written) } else { None }
    }

    #[inline(always)]
    const fn of_word(word: u64) -> Self {
        Self { written: word & TIME, count: (word >> TIME_BITS) as u32 }
    }
}

/// [`Updates`] of each page.
#[derive(Clone, Debug)]
pub(super) enum History {
    Words(Vec<u64>),
    Pages(Vec<Updates>),
}

impl History {
    /// No page was ever written.
    pub(super) fn none(pages: u32) -> Self {
        Self::Words(vec![0; pages as usize])
    }

    /// Number of pages.
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Words(words) => words.len() as u32,
            Self::Pages(pages) => pages.len() as u32,
        }
    }

    #[inline(always)]
    pub(super) fn of(&self, lpn: Lpn) -> Updates {
        match self {
            Self::Words(words) => Updates::of_word(words[lpn.index()]),
            Self::Pages(pages) => pages[lpn.index()],
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, lpn: Lpn, updates: Updates) {
        match (&mut *self, updates.word()) {
            (Self::Words(words), Some(word)) => words[lpn.index()] = word,
            (Self::Pages(pages), _) => pages[lpn.index()] = updates,
            (Self::Words(_), None) => self.widen(lpn, updates),
        }
    }

    /// What is known of a page does not fit into a word.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, lpn: Lpn, updates: Updates) {
        if let Self::Words(words) = self {
            *self = Self::Pages(words.iter().map(|&word| Updates::of_word(word)).collect());
        }
        self.set(lpn, updates);
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        match self {
            Self::Words(words) => prefetch(words, lpn.index()),
            Self::Pages(pages) => prefetch(pages, lpn.index()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_does_not_fit_a_word_gives_all_of_them_two() {
        let greatest = Updates { written: TIME, count: 0xffff };
        for wide in
            [Updates { written: TIME + 1, count: 3 }, Updates { written: 5, count: 1 << 16 }]
        {
            let mut history = History::none(3);
            history.set(Lpn(0), greatest);
            assert!(matches!(history, History::Words(_)));
            history.set(Lpn(2), wide);
            assert!(matches!(history, History::Pages(_)));
            let all = [0, 1, 2].map(|lpn| history.of(Lpn(lpn)));
            assert_eq!(all, [greatest, Updates::default(), wide]);
        }
    }
}
