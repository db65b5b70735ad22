//! Numbers of each page, in 32 bits as long as all of them fit.
//!
//! Times in page writes of the host fit for the first four thousand million.

use super::packed::{Packed, Packs};

/// `N` numbers of each page.
pub(super) type Numbers<const N: usize> = Packed<[u64; N]>;

impl<const N: usize> Numbers<N> {
    /// All are 0.
    pub(super) fn zeroes(pages: u32) -> Self {
        Self::filled([0; N], pages)
    }
}

impl<const N: usize> Packs for [u64; N] {
    type Packed = [u32; N];

    #[inline(always)]
    fn pack(self) -> Option<[u32; N]> {
        let fits = self.iter().all(|&number| number <= u64::from(u32::MAX));
        fits.then(|| self.map(|number| number as u32))
    }

    #[inline(always)]
    fn unpack(packed: [u32; N]) -> Self {
        packed.map(u64::from)
    }
}

#[cfg(test)]
mod tests {
    use thermocline_flash::Lpn;

    use super::*;

    #[test]
    fn a_number_that_does_not_fit_widens_all() {
        let mut numbers = Numbers::<2>::zeroes(3);
        let most = u64::from(u32::MAX);
        numbers.set(Lpn(0), [1, most]);
        assert!(matches!(numbers, Packed::Narrow(_)));
        numbers.set(Lpn(2), [most + 1, 0]);
        assert!(matches!(numbers, Packed::Wide(_)));
        numbers.set(Lpn(1), [7, u64::MAX]);
        let all = [0, 1, 2].map(|lpn| numbers.of(Lpn(lpn)));
        assert_eq!(all, [[1, most], [7, u64::MAX], [most + 1, 0]]);
    }
}
