//! The placement's words: one for each physical page, as a chip would keep it in the out-of-band area.
//!
//! Problem. State indexed by logical page costs one more cache line for each copied page, since survivors are
//! scattered. Idea. Like the reverse map, the words are in physical order: those of a victim are adjacent, and so
//! are those of pages programmed in sequence. Consequence. Only a host write fetches a word from elsewhere: from
//! the page's old place, whose block it needs as well.

use alloc::{vec, vec::Vec};

use thermocline_flash::prefetch;
use thermocline_policy::placement::Kept;

/// A word for each physical page, in its kept width; growing words take 32 bits while all of them fit. If `kept` is
/// known at compile time, the other widths cost no test.
pub(super) enum Words {
    Nothing,
    Bytes(Vec<u8>),
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Words {
    /// All are 0.
    pub(super) fn new(kept: Kept, pages: usize) -> Self {
        match kept {
            Kept::Nothing => Self::Nothing,
            Kept::Byte => Self::Bytes(vec![0; pages]),
            Kept::HalfWord | Kept::Growing => Self::Narrow(vec![0; pages]),
            Kept::Word => Self::Wide(vec![0; pages]),
        }
    }

    /// Bytes of all.
    pub(super) const fn memory(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Bytes(words) => words.capacity(),
            Self::Narrow(words) => words.capacity() * size_of::<u32>(),
            Self::Wide(words) => words.capacity() * size_of::<u64>(),
        }
    }

    /// The word of a physical page; 0 beyond the last, where pages without data have theirs.
    #[inline(always)]
    pub(super) fn get(&self, kept: Kept, slot: usize) -> u64 {
        match (kept, self) {
            (Kept::Byte, Self::Bytes(words)) => words.get(slot).copied().map_or(0, u64::from),
            (Kept::HalfWord | Kept::Growing, Self::Narrow(words)) => {
                words.get(slot).copied().map_or(0, u64::from)
            }
            (Kept::Word | Kept::Growing, Self::Wide(words)) => {
                words.get(slot).copied().unwrap_or(0)
            }
            _ => 0,
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, kept: Kept, slot: usize, word: u64) {
        match (kept, &mut *self) {
            (Kept::Byte, Self::Bytes(words)) => words[slot] = word as u8,
            (Kept::HalfWord, Self::Narrow(words)) => words[slot] = word as u32,
            (Kept::Growing, Self::Narrow(words)) => match u32::try_from(word) {
                Ok(word) => words[slot] = word,
                Err(_) => self.widen(slot, word),
            },
            (Kept::Word | Kept::Growing, Self::Wide(words)) => words[slot] = word,
            _ => {}
        }
    }

    /// The words of pages programmed one after another from a slot on.
    #[inline(always)]
    pub(super) fn set_run(&mut self, kept: Kept, slot: usize, run: &[u64]) {
        match (kept, &mut *self) {
            (Kept::Byte, Self::Bytes(words)) => {
                for (kept, &word) in words[slot..].iter_mut().zip(run) {
                    *kept = word as u8;
                }
            }
            (Kept::HalfWord | Kept::Growing, Self::Narrow(words)) => {
                let mut all = 0;
                for (kept, &word) in words[slot..].iter_mut().zip(run) {
                    *kept = word as u32;
                    all |= word;
                }
                if all > u64::from(u32::MAX) {
                    self.widen_run(slot, run);
                }
            }
            (Kept::Word | Kept::Growing, Self::Wide(words)) => {
                words[slot..][..run.len()].copy_from_slice(run);
            }
            _ => {}
        }
    }

    /// One of several words does not fit.
    #[cold]
    #[inline(never)]
    fn widen_run(&mut self, slot: usize, run: &[u64]) {
        (slot..).zip(run).for_each(|(slot, &word)| self.set(Kept::Growing, slot, word));
    }

    /// A word does not fit.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, slot: usize, word: u64) {
        if let Self::Narrow(words) = self {
            *self = Self::Wide(words.iter().map(|&word| u64::from(word)).collect());
        }
        self.set(Kept::Growing, slot, word);
    }

    /// Asks for the cache line of a word.
    #[inline(always)]
    pub(super) fn prefetch(&self, slot: usize) {
        match self {
            Self::Nothing => {}
            Self::Bytes(words) => prefetch(words, slot),
            Self::Narrow(words) => prefetch(words, slot),
            Self::Wide(words) => prefetch(words, slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_does_not_fit_widens_all() {
        let most = u64::from(u32::MAX);
        for one_by_one in [true, false] {
            let mut words = Words::new(Kept::Growing, 5);
            words.set_run(Kept::Growing, 1, &[7, most]);
            assert!(matches!(words, Words::Narrow(_)));
            let run = [most + 1, u64::MAX];
            if one_by_one {
                (3..).zip(run).for_each(|(slot, word)| words.set(Kept::Growing, slot, word));
            } else {
                words.set_run(Kept::Growing, 3, &run);
            }
            assert!(matches!(words, Words::Wide(_)));
            let all: Vec<u64> = (0..6).map(|slot| words.get(Kept::Growing, slot)).collect();
            assert_eq!(all, [0, 7, most, most + 1, u64::MAX, 0]);
        }
    }

    #[test]
    fn words_of_each_width_are_found_again() {
        for (kept, most) in [
            (Kept::Byte, u64::from(u8::MAX)),
            (Kept::HalfWord, u64::from(u32::MAX)),
            (Kept::Word, u64::MAX),
        ] {
            let mut words = Words::new(kept, 4);
            words.set_run(kept, 1, &[7, most]);
            words.set(kept, 3, most - 1);
            let all: Vec<u64> = (0..5).map(|slot| words.get(kept, slot)).collect();
            assert_eq!(all, [0, 7, most, most - 1, 0], "{kept:?}");
        }
    }
}
