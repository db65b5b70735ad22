//! A set of block numbers with fast access to the lowest.
//!
//! Level 0 has one bit for each number. Each higher level has one bit for every 64 bits below, set
//! if any of them is, up to a single word. Every operation visits one word a level: four levels for
//! 16 million blocks.

use alloc::{vec, vec::Vec};

/// A set of numbers with fast access to the lowest.
#[derive(Clone, Debug)]
pub struct Lowest {
    /// `levels[0]` has a bit for each number; the last level has one word.
    levels: Vec<Vec<u64>>,
}

impl Lowest {
    /// The empty set of numbers below `numbers`.
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

    /// Inserts a number; does nothing if the set has it.
    pub fn insert(&mut self, number: u32) {
        let mut index = number as usize;
        for level in &mut self.levels {
            level[index / 64] |= 1 << (index % 64);
            index /= 64;
        }
    }

    /// Removes a number; does nothing if the set does not have it.
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
                // The set grows, then shrinks from the lowest number.
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
