//! Random numbers that are equal on every machine: integer arithmetic and `libm` only.

use rand_xoshiro::{
    SplitMix64, Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

/// Keeps the permutation's keys apart from the state the generator itself starts in: both come
/// from SplitMix64.
const KEY_SALT: u64 = 0x7065_726d_7574_6174;

/// Independent streams of one seed, so that asking for a clock or for reads changes no address.
pub(super) struct Streams {
    pub addresses: Xoshiro256PlusPlus,
    pub arrivals: Xoshiro256PlusPlus,
    pub ops: Xoshiro256PlusPlus,
    pub keys: [u64; 4],
}

impl Streams {
    pub fn new(seed: u64) -> Self {
        let addresses = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut arrivals = addresses.clone();
        arrivals.jump();
        let mut ops = arrivals.clone();
        ops.jump();
        let mut keys = SplitMix64::seed_from_u64(seed ^ KEY_SALT);
        Streams { addresses, arrivals, ops, keys: std::array::from_fn(|_| keys.next_u64()) }
    }
}

/// A uniform number in `0..n`, without bias, and without a division except for one draw in 2^64/n
/// (Lemire 2019).
#[inline]
pub fn below(rng: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    debug_assert!(n > 0);
    let mut product = u128::from(rng.next_u64()) * u128::from(n);
    if (product as u64) < n {
        let threshold = n.wrapping_neg() % n;
        while (product as u64) < threshold {
            product = u128::from(rng.next_u64()) * u128::from(n);
        }
    }
    (product >> 64) as u64
}

/// A uniform number in `0..1`, a multiple of 2^-53.
#[inline]
pub fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A probability in a form that is drawn by one integer comparison.
#[derive(Clone, Copy)]
pub(super) struct Chance(u64);

impl Chance {
    /// `share` is in 0..=1.
    pub fn new(share: f64) -> Self {
        Chance(libm::round(share * (1u64 << 53) as f64) as u64)
    }

    #[inline]
    pub fn draw(self, rng: &mut Xoshiro256PlusPlus) -> bool {
        (rng.next_u64() >> 11) < self.0
    }
}
