//! A set of block numbers that knows its lowest.
//!
//! A bit for each number, and above every 64 bits one that says whether any of them is set, up to a
//! single word: all operations follow one bit a level, four levels for 16 million blocks.

use alloc::{vec, vec::Vec};

/// A set of numbers that knows its lowest.
#[derive(Clone, Debug)]
pub struct Lowest {
    /// `levels[0]` has a bit for each number; the last level has one word.
    levels: Vec<Vec<u64>>,
}

impl Lowest {
    /// The empty set, of numbers less than `numbers`.
    #[must_use]
    pub fn new(numbers: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = numbers;
        loop {
            words = words.div_ceil(64).max(1);
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels };
            }
        }
    }

    /// Takes a number in; nothing changes if it is there.
    pub fn insert(&mut self, number: u32) {
        let mut index = number as usize;
        for level in &mut self.levels {
            level[index / 64] |= 1 << (index % 64);
            index /= 64;
        }
    }

    /// Takes a number out; nothing changes if it is not there.
    pub fn remove(&mut self, number: u32) {
        let mut index = number as usize;
        for level in &mut self.levels {
            let word = &mut level[index / 64];
            *word &= !(1 << (index % 64));
            if *word != 0 {
                return;
            }
            index /= 64;
        }
    }

    /// The lowest number of the set.
    #[must_use]
    pub fn lowest(&self) -> Option<u32> {
        let mut index = 0;
        for level in self.levels.iter().rev() {
            let word = level[index];
            if word == 0 {
                return None;
            }
            index = index * 64 + word.trailing_zeros() as usize;
        }
        Some(index as u32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_lowest_number_matches_a_sorted_set() {
        for numbers in [1_u32, 64, 65, 4096, 300_000] {
            let mut set = Lowest::new(numbers as usize);
            let mut sorted = BTreeSet::new();
            let mut draw = 1_u64;
            for step in 0..20_000 {
                draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let number = ((draw >> 32) % u64::from(numbers)) as u32;
                // Grows, then shrinks from below.
                if step < 5_000 && draw >> 63 == 0 {
                    set.insert(number);
                    sorted.insert(number);
                } else {
                    let gone = sorted.first().copied().unwrap_or(number);
                    set.remove(gone);
                    sorted.remove(&gone);
                }
                assert_eq!(set.lowest(), sorted.first().copied());
            }
        }
    }
}
