//! One bit a page.

use alloc::{vec, vec::Vec};

#[derive(Clone, Debug)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// `len` clear bits.
    pub(super) fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    #[inline]
    pub(super) fn is_set(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 != 0
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    /// Clears `len` bits from `first` on.
    pub(super) fn clear_range(&mut self, first: usize, len: usize) {
        let (mut at, end) = (first, first + len);
        while at < end {
            let in_word = (64 - at % 64).min(end - at);
            let ones = u64::MAX >> (64 - in_word);
            self.0[at / 64] &= !(ones << (at % 64));
            at += in_word;
        }
    }

    /// Clears a bit; whether it was set.
    #[inline]
    pub(super) fn clear(&mut self, at: usize) -> bool {
        let was = self.is_set(at);
        self.0[at / 64] &= !(1 << (at % 64));
        was
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_bits_of_a_range_are_cleared() {
        for (first, len) in [(0, 0), (0, 64), (3, 5), (60, 8), (63, 130), (10, 118), (128, 64)] {
            let mut bits = Bits::new(200);
            (0..200).for_each(|at| bits.set(at));
            bits.clear_range(first, len);
            for at in 0..200 {
                assert_eq!(bits.is_set(at), !(first..first + len).contains(&at), "{at}");
            }
        }
    }
}
