//! A fixed pseudo-random permutation of `0..n` in constant memory.

use super::random::Streams;

/// A four-round Feistel network on the smallest power of two that holds `n`, with cycle walking: a
/// value outside `0..n` is encrypted again, on average less than once.
///
/// It scatters hot pages over the span. Papers write to a random set of hot pages. If the set were
/// one contiguous range, the fill would already have grouped it in segments.
#[derive(Clone, Debug)]
pub struct Permutation {
    n: u64,
    keys: [u64; 4],
    right_bits: u32,
    left_mask: u64,
    right_mask: u64,
}

impl Permutation {
    /// The permutation of `0..n` given by `keys`.
    ///
    /// # Panics
    /// If `n` is 0 or above 2^63.
    #[must_use]
    pub fn new(n: u64, keys: [u64; 4]) -> Self {
        assert!(n > 0 && n <= 1 << 63, "a permutation of {n} elements");
        let bits = n.next_power_of_two().trailing_zeros().max(2);
        let left_bits = bits / 2;
        let right_bits = bits - left_bits;
        Permutation {
            n,
            keys,
            right_bits,
            left_mask: (1 << left_bits) - 1,
            right_mask: (1 << right_bits) - 1,
        }
    }

    /// The permutation of `0..n` given by a seed. It differs from that of a workload with the same
    /// seed.
    ///
    /// # Panics
    /// If `n` is 0 or above 2^63.
    #[must_use]
    pub fn of_seed(n: u64, seed: u64) -> Self {
        Self::new(n, Streams::new(seed ^ u64::MAX).keys)
    }

    /// The image of `index`, which is below `n`.
    #[inline]
    #[must_use]
    pub fn apply(&self, index: u64) -> u64 {
        debug_assert!(index < self.n);
        let mut value = self.round_trip(index);
        while value >= self.n {
            value = self.round_trip(value);
        }
        value
    }

    #[inline]
    fn round_trip(&self, value: u64) -> u64 {
        let [a, b, c, d] = self.keys;
        let mut left = value >> self.right_bits;
        let mut right = value & self.right_mask;
        left ^= mix(right, a) & self.left_mask;
        right ^= mix(left, b) & self.right_mask;
        left ^= mix(right, c) & self.left_mask;
        right ^= mix(left, d) & self.right_mask;
        left << self.right_bits | right
    }
}

/// The round function. Any function gives a bijection; a well mixing one gives randomness.
#[inline]
fn mix(value: u64, key: u64) -> u64 {
    let x = (value ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32
}
