//! Numbers of each page, in 32 bits as long as all of them fit.
//!
//! Times in page writes of the host fit for the first four thousand million. A cache line then has those of twice
//! as many pages. The first number that does not fit widens all.

use alloc::{vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

/// `N` numbers of each page.
#[derive(Clone, Debug)]
pub(super) enum Numbers<const N: usize> {
    Narrow(Vec<[u32; N]>),
    Wide(Vec<[u64; N]>),
}

impl<const N: usize> Numbers<N> {
    /// All are 0.
    pub(super) fn zeroes(pages: u32) -> Self {
        Self::Narrow(vec![[0; N]; pages as usize])
    }

    #[inline(always)]
    pub(super) fn of(&self, lpn: Lpn) -> [u64; N] {
        match self {
            Self::Narrow(pages) => pages[lpn.index()].map(u64::from),
            Self::Wide(pages) => pages[lpn.index()],
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, lpn: Lpn, numbers: [u64; N]) {
        match self {
            Self::Narrow(pages) if numbers.iter().all(|&number| number <= u64::from(u32::MAX)) => {
                pages[lpn.index()] = numbers.map(|number| number as u32);
            }
            Self::Narrow(_) => self.widen(lpn, numbers),
            Self::Wide(pages) => pages[lpn.index()] = numbers,
        }
    }

    /// A number does not fit.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, lpn: Lpn, numbers: [u64; N]) {
        if let Self::Narrow(pages) = self {
            *self = Self::Wide(pages.iter().map(|page| page.map(u64::from)).collect());
        }
        self.set(lpn, numbers);
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        match self {
            Self::Narrow(pages) => prefetch(pages, lpn.index()),
            Self::Wide(pages) => prefetch(pages, lpn.index()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_does_not_fit_widens_all() {
        let mut numbers = Numbers::<2>::zeroes(3);
        let most = u64::from(u32::MAX);
        numbers.set(Lpn(0), [1, most]);
        assert!(matches!(numbers, Numbers::Narrow(_)));
        numbers.set(Lpn(2), [most + 1, 0]);
        assert!(matches!(numbers, Numbers::Wide(_)));
        numbers.set(Lpn(1), [7, u64::MAX]);
        let all = [0, 1, 2].map(|lpn| numbers.of(Lpn(lpn)));
        assert_eq!(all, [[1, most], [7, u64::MAX], [most + 1, 0]]);
    }
}
