//! A set of slots with access to the n-th member, for policies that consider only the oldest
//! blocks.
//!
//! A Fenwick tree: entry `i` counts the members among the `lowbit(i)` slots up to the `i`-th. Every
//! operation takes one step for each bit of the number of slots.

use alloc::{vec, vec::Vec};

#[derive(Clone, Debug)]
pub(super) struct Ranks {
    /// Entry 0 is unused.
    counts: Vec<u32>,
}

impl Ranks {
    /// The empty set of slots below `slots`.
    pub(super) fn new(slots: usize) -> Self {
        Self { counts: vec![0; slots + 1] }
    }

    pub(super) fn clear(&mut self) {
        self.counts.fill(0);
    }

    pub(super) fn insert(&mut self, slot: usize) {
        self.change(slot, 1);
    }

    pub(super) fn remove(&mut self, slot: usize) {
        self.change(slot, u32::MAX); // less 1
    }

    fn change(&mut self, slot: usize, by: u32) {
        let mut at = slot + 1;
        while let Some(count) = self.counts.get_mut(at) {
            *count = count.wrapping_add(by);
            at += at & at.wrapping_neg();
        }
    }

    /// The slot after the first `n` members; the number of slots if there are fewer members.
    pub(super) fn end_of_first(&self, n: u32) -> usize {
        let slots = self.counts.len() - 1;
        let (mut at, mut left) = (0, n);
        let mut step = slots.checked_ilog2().map_or(0, |bits| 1 << bits);
        while step > 0 {
            if at + step <= slots && self.counts[at + step] < left {
                at += step;
                left -= self.counts[at];
            }
            step /= 2;
        }
        if n == 0 { 0 } else { (at + 1).min(slots) }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn the_nth_member_is_that_of_a_plain_count() {
        for slots in [1_usize, 2, 7, 64, 100] {
            let mut ranks = Ranks::new(slots);
            let mut members: Vec<bool> = std::vec![false; slots];
            let mut draw = 1_u64;
            for _ in 0..2000 {
                draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let slot = ((draw >> 33) % slots as u64) as usize;
                if members[slot] {
                    ranks.remove(slot)
                } else {
                    ranks.insert(slot)
                }
                members[slot] = !members[slot];
                for n in 0..=slots as u32 + 1 {
                    let mut ends = (0..slots).filter(|&s| members[s]).map(|s| s + 1);
                    let end = if n == 0 { Some(0) } else { ends.nth(n as usize - 1) };
                    assert_eq!(ranks.end_of_first(n), end.unwrap_or(slots), "{n} of {members:?}");
                }
            }
        }
    }
}
