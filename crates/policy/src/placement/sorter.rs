//! Sorts survivors by a key of each page.

use alloc::vec::Vec;

use thermocline_flash::Lpn;

/// Survivors as single numbers, while they are sorted: key and place, from the highest bits to the lowest. Comparing
/// such numbers takes no branch and no look at the page again.
#[derive(Clone, Debug, Default)]
pub(super) struct Sorter {
    /// The survivors as they came.
    came: Vec<Lpn>,
    numbers: Vec<u64>,
    /// Where key and place do not fit into 64 bits.
    wide: Vec<u128>,
}

impl Sorter {
    /// Sorts survivors by falling key; those of one key stay in the order they come in.
    pub(super) fn descending(&mut self, survivors: &mut [Lpn], key: impl Fn(Lpn) -> u64) {
        let Self { came, numbers, wide } = self;
        came.clear();
        came.extend_from_slice(survivors);
        numbers.clear();
        numbers.extend(came.iter().map(|&lpn| key(lpn)));
        let least = numbers.iter().copied().min().unwrap_or(0);
        let most = numbers.iter().copied().max().unwrap_or(0);
        let bits = usize::BITS - came.len().leading_zeros();
        if (most - least).leading_zeros() < bits {
            wide.clear();
            wide.extend(
                (0_u64..)
                    .zip(&*numbers)
                    .map(|(place, &key)| u128::from(most - key) << 64 | u128::from(place)),
            );
            wide.sort_unstable();
            for (survivor, &sorted) in survivors.iter_mut().zip(&*wide) {
                *survivor = came[sorted as u64 as usize];
            }
            return;
        }
        for (number, place) in numbers.iter_mut().zip(0_u64..) {
            *number = (most - *number) << bits | place;
        }
        numbers.sort_unstable();
        for (survivor, &sorted) in survivors.iter_mut().zip(&*numbers) {
            *survivor = came[(sorted & ((1 << bits) - 1)) as usize];
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
        Sorter::default().descending(&mut [], |_| 0);
    }

    #[test]
    fn keys_of_all_kinds_are_sorted_as_by_comparisons() {
        let mut sorter = Sorter::default();
        let keys: [fn(u32) -> u64; 6] = [
            |n| u64::from(n.wrapping_mul(0x9e37_79b9)),
            |n| u64::from(n) << 40,
            |n| u64::from(n % 3),
            |n| if n % 50 == 0 { u64::MAX } else { u64::from(n.wrapping_mul(0x9e37_79b9)) },
            |n| 1 << (n % 64),
            |_| 7,
        ];
        for key in keys {
            for count in [1, 2, 17, 256, 2000] {
                let mut survivors: Vec<Lpn> = (0..count).map(|n| Lpn(n * 7 % 2003)).collect();
                let mut compared = survivors.clone();
                compared.sort_by_key(|lpn| core::cmp::Reverse(key(lpn.0)));
                sorter.descending(&mut survivors, |lpn| key(lpn.0));
                assert_eq!(survivors, compared);
            }
        }
    }
}
