//! Sorts survivors by a key of each page.

use alloc::vec::Vec;

use thermocline_flash::Lpn;

/// Survivors as single numbers, while they are sorted: key, place and page, from the highest bits to
/// the lowest. Comparing such numbers takes no branch and no look at the page again.
#[derive(Clone, Debug, Default)]
pub(super) struct Sorter(Vec<u128>);

impl Sorter {
    /// Sorts survivors by falling key; those of one key stay in the order they come in.
    pub(super) fn descending(&mut self, survivors: &mut [Lpn], key: impl Fn(Lpn) -> u64) {
        self.0.clear();
        self.0.extend((0_u32..).zip(&*survivors).map(|(place, &lpn)| {
            u128::from(!key(lpn)) << 64 | u128::from(place) << 32 | u128::from(lpn.0)
        }));
        self.0.sort_unstable();
        for (survivor, sorted) in survivors.iter_mut().zip(&self.0) {
            *survivor = Lpn(*sorted as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greater_keys_come_first_and_equal_ones_in_their_order() {
        let mut survivors = [5, 9, 1, 7, 3].map(Lpn);
        Sorter::default().descending(&mut survivors, |lpn| u64::from(lpn.0 / 4));
        assert_eq!(survivors, [9, 5, 7, 1, 3].map(Lpn));
        Sorter::default().descending(&mut survivors, |lpn| u64::MAX - u64::from(lpn.0));
        assert_eq!(survivors, [1, 3, 5, 7, 9].map(Lpn));
    }
}
