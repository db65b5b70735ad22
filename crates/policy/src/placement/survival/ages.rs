//! Ages in host page writes: their logarithms, and the bins in which survival is counted.
//!
//! A bin is half an octave wide, from `2ⁿ` to `1.5 · 2ⁿ` or from there to `2ⁿ⁺¹`. The first one
//! begins at 0 and holds all ages up to one and a half blocks of writes, because no block fills
//! faster.

/// Number of bins: twenty octaves from a block on.
pub(super) const BINS: usize = 40;

/// An octave in the units of [`log2`].
pub(super) const OCTAVE: u32 = 256;

/// The base-2 logarithm in 256ths of an octave, linear between powers of 2. It is up to 0.09 of an
/// octave too small, but monotone, which is sufficient.
#[inline(always)]
pub(super) const fn log2(x: u64) -> u32 {
    let x = if x == 0 { 1 } else { x };
    let octave = x.ilog2();
    // Shifts the leading bit to bit 63 and then out.
    let mantissa = (x << (63 - octave)) << 1;
    octave * OCTAVE + (mantissa >> 56) as u32
}

/// The limits of the bins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bins {
    /// Half-octaves below the first bin.
    base: u32,
}

impl Bins {
    /// The bins for blocks with this number of pages.
    pub(super) fn new(pages_per_block: u32) -> Self {
        Self { base: 2 * pages_per_block.max(1).ilog2() }
    }

    /// The first age of a bin. That of bin [`BINS`] is the end of the last one.
    #[inline(always)]
    pub(super) const fn start(self, bin: usize) -> u64 {
        if bin == 0 {
            return 0;
        }
        let half_octaves = self.base + bin as u32;
        ((2 + (half_octaves & 1)) as u64) << (half_octaves / 2) >> 1
    }

    /// Number of ages in a bin.
    #[inline(always)]
    pub(super) const fn width(self, bin: usize) -> u64 {
        self.start(bin + 1) - self.start(bin)
    }

    /// The logarithm of a bin's representative age, in octaves.
    pub(super) fn log2_age(self, bin: usize) -> f64 {
        f64::from(self.base + bin as u32) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_rise_and_are_right_at_powers_of_two() {
        let exact = |x: u64| libm::log2(x as f64);
        for n in 0..64 {
            assert_eq!(log2(1 << n), n * OCTAVE);
        }
        for x in (1..5000).chain((1..5000).map(|x| x * 0x000f_1234_5678)) {
            let own = f64::from(log2(x)) / f64::from(OCTAVE);
            assert!(own <= exact(x) + 1e-9 && own > exact(x) - 0.091, "{x}: {own}");
            assert!(log2(x + 1) >= log2(x), "{x}");
        }
        assert_eq!(log2(0), 0);
        assert_eq!(log2(u64::MAX), 64 * OCTAVE - 1);
    }

    #[test]
    fn bins_follow_one_another_by_half_octaves() {
        for pages in [1, 64, 100, 1024] {
            let bins = Bins::new(pages);
            assert_eq!(bins.start(0), 0);
            for bin in 1..BINS {
                assert!(bins.start(bin + 1) > bins.start(bin) || pages == 1, "{pages}, bin {bin}");
                let ratio = bins.start(bin + 2) as f64 / bins.start(bin) as f64;
                assert!(ratio == 2.0 || pages == 1, "{pages}, bin {bin}: {ratio}");
            }
        }
    }
}
