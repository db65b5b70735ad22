//! Per-page records that fit the word kept by the layer, and storage for those that do not.

use alloc::{vec, vec::Vec};
use core::fmt::Debug;

use thermocline_flash::Lpn;

/// Marks a page whose record is stored in [`Beyond`].
const ELSEWHERE: u64 = u64::MAX;

/// A record that fits a word in most cases. A page without data has the default record and the word
/// 0.
pub(super) trait Packs: Copy + Debug + Default {
    /// The record as a word, if it fits.
    fn pack(self) -> Option<u64>;

    fn unpack(word: u64) -> Self;
}

/// Records that do not fit a word, by page. The table is allocated with the first one.
#[derive(Clone, Debug)]
pub(super) struct Beyond<R> {
    pages: u32,
    records: Vec<R>,
}

impl<R: Packs> Beyond<R> {
    /// An empty table for this number of pages.
    pub(super) const fn none(pages: u32) -> Self {
        Self { pages, records: Vec::new() }
    }

    /// The word for the record of a page; stores the record if it does not fit.
    #[inline(always)]
    pub(super) fn pack(&mut self, lpn: Lpn, record: R) -> u64 {
        match record.pack() {
            Some(word) if word != ELSEWHERE => word,
            _ => self.put(lpn, record),
        }
    }

    #[cold]
    #[inline(never)]
    fn put(&mut self, lpn: Lpn, record: R) -> u64 {
        if self.records.is_empty() {
            self.records = vec![R::default(); self.pages as usize];
        }
        self.records[lpn.index()] = record;
        ELSEWHERE
    }

    /// The record for the word of a page.
    #[inline(always)]
    pub(super) fn unpack(&self, lpn: Lpn, word: u64) -> R {
        if word == ELSEWHERE { self.get(lpn) } else { R::unpack(word) }
    }

    #[cold]
    #[inline(never)]
    fn get(&self, lpn: Lpn) -> R {
        self.records.get(lpn.index()).copied().unwrap_or_default()
    }
}

/// Two numbers, each in half of the word.
impl Packs for [u64; 2] {
    #[inline(always)]
    fn pack(self) -> Option<u64> {
        let [high, low] = self;
        ((high | low) <= u64::from(u32::MAX)).then_some(high << 32 | low)
    }

    #[inline(always)]
    fn unpack(word: u64) -> Self {
        [word >> 32, word & u64::from(u32::MAX)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_does_not_fit_a_word_is_found_by_its_page() {
        let most = u64::from(u32::MAX);
        let mut beyond = Beyond::none(3);
        for record in [[1, most], [most, most], [most + 1, 0], [7, u64::MAX], [0, 0]] {
            let word = beyond.pack(Lpn(2), record);
            assert_eq!(beyond.unpack(Lpn(2), word), record);
            assert_eq!(word == ELSEWHERE, record[0] > most || record[1] >= most && record[0] > 1);
        }
        assert_eq!(beyond.unpack(Lpn(1), 0), [0, 0]);
    }
}
