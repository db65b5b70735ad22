//! Update count and last host write of a page, in one word where both fit.
//!
//! With times in nanoseconds they fit for three days and for 65,535 updates of a page.

use super::beyond::{Beyond, Packs};

/// Bits of a word for the time. The others hold the count.
const TIME_BITS: u32 = 48;
const TIME: u64 = (1 << TIME_BITS) - 1;

/// The updates of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Updates {
    /// The last write.
    pub written: u64,
    pub count: u32,
}

/// A time as a float. Times below 2⁶³ convert faster as signed numbers; later ones saturate.
#[inline(always)]
pub(super) fn float(time: u64) -> f64 {
    time.min(i64::MAX as u64) as i64 as f64
}

/// Storage for [`Updates`] that do not fit a word.
pub(super) type History = Beyond<Updates>;

impl Packs for Updates {
    #[inline(always)]
    fn pack(self) -> Option<u64> {
        let fits = self.written <= TIME && u64::from(self.count) <= u64::MAX >> TIME_BITS;
        fits.then_some(u64::from(self.count) << TIME_BITS | self.written)
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
    fn times_and_counts_of_any_size_are_found_again() {
        let mut history = History::none(3);
        for written in [0, 5, TIME - 1, TIME, TIME + 1, u64::MAX] {
            for count in [0, 3, 0xffff, 1 << 16, u32::MAX] {
                let updates = Updates { written, count };
                let word = history.pack(Lpn(1), updates);
                assert_eq!(history.unpack(Lpn(1), word), updates);
            }
        }
    }
}
