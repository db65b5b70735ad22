//! Sorts survivors by a per-page key.
//!
//! Survivors come in the physical order of their block. Such a sort filled the block, or host
//! writes in time order, so the keys form a few ascending or descending runs. These are merged;
//! unordered keys are sorted.

use alloc::vec::Vec;

use thermocline_flash::Lpn;

use super::{PageState, Survivors};

/// Survivors as single numbers while they are sorted: the key in the high bits, the position in the
/// low bits. Comparing them takes no branch and no access to the page.
#[derive(Clone, Debug, Default)]
pub(super) struct Sorter {
    /// The survivors in their original order, and their words.
    came: Vec<Lpn>,
    words: Vec<u64>,
    numbers: Vec<u64>,
    /// Output of a merge.
    merged: Vec<u64>,
    /// Ends of runs.
    ends: Vec<usize>,
    /// Used where key and position do not fit 64 bits.
    wide: Vec<u128>,
}

impl Sorter {
    /// Sorts survivors and their words by descending key. The sort is stable.
    pub(super) fn descending<S: PageState>(
        &mut self,
        survivors: &mut Survivors<'_, S>,
        key: impl Fn(Lpn, S) -> u64,
    ) {
        let (survivors, words) = survivors.sorted_alike();
        debug_assert_eq!(survivors.len(), words.len(), "each survivor has a word");
        let Self { came, words: came_words, numbers, wide, .. } = self;
        came.clear();
        came.extend_from_slice(survivors);
        came_words.clear();
        came_words.extend_from_slice(words);
        numbers.clear();
        numbers.extend(
            came.iter().zip(&*came_words).map(|(&lpn, &word)| key(lpn, S::from_word(word))),
        );
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
            for ((survivor, word), &sorted) in survivors.iter_mut().zip(words).zip(&*wide) {
                let place = sorted as u64 as usize;
                (*survivor, *word) = (came[place], came_words[place]);
            }
            return;
        }
        for (number, place) in numbers.iter_mut().zip(0_u64..) {
            *number = (most - *number) << bits | place;
        }
        if self.find_runs() {
            self.merge_runs();
        } else {
            self.numbers.sort_unstable();
        }
        for ((survivor, word), &sorted) in survivors.iter_mut().zip(words).zip(&self.numbers) {
            let place = (sorted & ((1 << bits) - 1)) as usize;
            (*survivor, *word) = (self.came[place], self.words[place]);
        }
    }

    /// Finds ascending runs and reverses descending ones; false if there are too many to merge
    /// efficiently.
    fn find_runs(&mut self) -> bool {
        let Self { numbers, ends, .. } = self;
        ends.clear();
        let mut start = 0;
        while start < numbers.len() {
            let falls = numbers[start..].windows(2).take_while(|pair| pair[1] < pair[0]).count();
            numbers[start..=start + falls].reverse();
            let end = start + falls;
            let rises = numbers[end..].windows(2).take_while(|pair| pair[0] < pair[1]).count();
            start = end + rises + 1;
            ends.push(start);
            if ends.len() * ends.len() > numbers.len() {
                return false;
            }
        }
        true
    }

    /// Merges neighbouring runs until one is left.
    fn merge_runs(&mut self) {
        let Self { numbers, merged, ends, .. } = self;
        merged.resize(numbers.len(), 0);
        while ends.len() > 1 {
            let mut start = 0;
            for run in (0..ends.len()).step_by(2) {
                let middle = ends[run];
                let end = ends.get(run + 1).copied().unwrap_or(middle);
                merge(&numbers[start..middle], &numbers[middle..end], &mut merged[start..end]);
                ends[run / 2] = end;
                start = end;
            }
            ends.truncate(ends.len().div_ceil(2));
            core::mem::swap(numbers, merged);
        }
    }
}

/// Merges two runs without a branch on the comparison, which is unpredictable.
fn merge(a: &[u64], b: &[u64], into: &mut [u64]) {
    let (mut i, mut j) = (0, 0);
    while let (Some(&x), Some(&y)) = (a.get(i), b.get(j)) {
        into[i + j] = x.min(y);
        i += usize::from(x < y);
        j += usize::from(x >= y);
    }
    let rest = i + j;
    let (from_a, from_b) = into[rest..].split_at_mut(a.len() - i);
    from_a.copy_from_slice(&a[i..]);
    from_b.copy_from_slice(&b[j..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greater_keys_come_first_and_equal_ones_in_their_order() {
        let mut survivors = [5, 9, 1, 7, 3].map(Lpn);
        let mut words = [50, 90, 10, 70, 30];
        let sort = |lpns: &mut [Lpn], words: &mut [u64], key: fn(Lpn, u64) -> u64| {
            Sorter::default().descending(&mut Survivors::new(lpns, words, &mut [], 0), key);
        };
        sort(&mut survivors, &mut words, |lpn, _| u64::from(lpn.0 / 4));
        assert_eq!((survivors, words), ([9, 5, 7, 1, 3].map(Lpn), [90, 50, 70, 10, 30]));
        sort(&mut survivors, &mut words, |_, word| u64::MAX - word);
        assert_eq!((survivors, words), ([1, 3, 5, 7, 9].map(Lpn), [10, 30, 50, 70, 90]));
        sort(&mut [], &mut [], |_, _| 0);
    }

    #[test]
    fn keys_of_all_kinds_are_sorted_as_by_comparisons() {
        let mut sorter = Sorter::default();
        let keys: [fn(u32) -> u64; 8] = [
            |n| u64::from(n.wrapping_mul(0x9e37_79b9)),
            |n| u64::from(n) << 40,
            |n| u64::from(n % 3),
            |n| if n % 50 == 0 { u64::MAX } else { u64::from(n.wrapping_mul(0x9e37_79b9)) },
            |n| 1 << (n % 64),
            |_| 7,
            |n| u64::from(n % 400),
            |n| u64::from(if n < 900 { n } else { 3000 - n }),
        ];
        for key in keys {
            for count in [1, 2, 17, 256, 2000] {
                // In order, which makes runs, and mixed.
                for factor in [1, 7] {
                    let pages = (0..count).map(|n| Lpn(n * factor % 2003));
                    let mut survivors: Vec<Lpn> = pages.collect();
                    let mut compared = survivors.clone();
                    compared.sort_by_key(|lpn| core::cmp::Reverse(key(lpn.0)));
                    let mut words: Vec<u64> = survivors.iter().map(|lpn| key(lpn.0)).collect();
                    let mut all = Survivors::new(&mut survivors, &mut words, &mut [], 0);
                    sorter.descending(&mut all, |_, word: u64| word);
                    assert_eq!(survivors, compared);
                    assert!(survivors.iter().zip(words).all(|(lpn, word)| word == key(lpn.0)));
                }
            }
        }
    }
}
