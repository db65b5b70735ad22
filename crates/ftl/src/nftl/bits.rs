//! One bit a page.

use alloc::{vec, vec::Vec};

#[derive(Clone, Debug)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// `len` bits, none of them set.
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

    /// Clears a bit; whether it was set.
    #[inline]
    pub(super) fn clear(&mut self, at: usize) -> bool {
        let was = self.is_set(at);
        self.0[at / 64] &= !(1 << (at % 64));
        was
    }
}
