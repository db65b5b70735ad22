//! Sets of pages as disjoint ranges.

use std::{collections::BTreeMap, ops::Range};

/// Disjoint, non-adjacent ranges of pages: their end by volume and start.
#[derive(Default)]
pub(super) struct Ranges(BTreeMap<(u32, u64), u64>);

impl Ranges {
    pub fn insert(&mut self, volume: u32, pages: Range<u64>) {
        let Range { mut start, mut end } = pages;
        if start >= end {
            return;
        }
        // Absorbs ranges that overlap or touch the new one, from its right end leftwards.
        while let Some((&(v, s), &e)) = self.0.range(..=(volume, end)).next_back() {
            if v != volume || e < start {
                break;
            }
            self.0.remove(&(v, s));
            start = start.min(s);
            end = end.max(e);
        }
        self.0.insert((volume, start), end);
    }

    pub fn len(&self) -> u64 {
        self.0.iter().map(|((_, start), end)| end - start).sum()
    }
}
