//! Update count and last host write of each page, in one word as long as both fit.
//!
//! In nanoseconds they do for three days, and for 65,535 updates of a page. A survivor then asks for half as much
//! memory. The first page that does not fit gives all of them two words.

use super::packed::{Packed, Packs};

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

/// [`Updates`] of each page.
pub(super) type History = Packed<Updates>;

impl History {
    /// No page was ever written.
    pub(super) fn none(pages: u32) -> Self {
        Self::filled(0, pages)
    }
}

impl Packs for Updates {
    /// Both in one word.
    type Packed = u64;

    #[inline(always)]
    fn pack(self) -> Option<u64> {
        let fits = self.written <= TIME && u64::from(self.count) <= u64::MAX >> TIME_BITS;
        fits.then(|| u64::from(self.count) << TIME_BITS | self.written)
    }

    #[inline(always)]
    fn unpack(word: u64) -> Self {
        Self { written: word & TIME, count: (word >> TIME_BITS) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use thermocline_flash::Lpn;

    use super::*;

    #[test]
    fn a_page_that_does_not_fit_a_word_gives_all_of_them_two() {
        let greatest = Updates { written: TIME, count: 0xffff };
        for wide in
            [Updates { written: TIME + 1, count: 3 }, Updates { written: 5, count: 1 << 16 }]
        {
            let mut history = History::none(3);
            history.set(Lpn(0), greatest);
            assert!(matches!(history, Packed::Narrow(_)));
            history.set(Lpn(2), wide);
            assert!(matches!(history, Packed::Wide(_)));
            let all = [0, 1, 2].map(|lpn| history.of(Lpn(lpn)));
            assert_eq!(all, [greatest, Updates::default(), wide]);
        }
    }
}
