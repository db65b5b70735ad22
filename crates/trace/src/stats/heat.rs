//! Write counts of pages.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Pages in a chunk of counters, which is one cache line.
const CHUNK_BITS: u32 = 4;
type Counters = [u32; 1 << CHUNK_BITS];

/// Sparse counters: 6 bytes a page in dense parts of a trace, about 100 for an isolated page.
#[derive(Default)]
pub(super) struct Heat {
    slots: FxHashMap<(u32, u64), usize>,
    counters: Vec<Counters>,
    /// The last chunk accessed, because neighbours are often accessed together.
    recent: Option<((u32, u64), usize)>,
    pub page_writes: u64,
    pub distinct: u64,
}

impl Heat {
    pub fn write(&mut self, volume: u32, page: u64) {
        let key = (volume, page >> CHUNK_BITS);
        let slot = match self.recent {
            Some((recent, slot)) if recent == key => slot,
            _ => {
                let slot = *self.slots.entry(key).or_insert_with(|| {
                    self.counters.push(Counters::default());
                    self.counters.len() - 1
                });
                self.recent = Some((key, slot));
                slot
            }
        };
        let counter = &mut self.counters[slot][(page & ((1 << CHUNK_BITS) - 1)) as usize];
        self.page_writes += 1;
        self.distinct += u64::from(*counter == 0);
        *counter = counter.saturating_add(1);
    }

    /// Shares of the page writes that went to the most written `shares` of the written pages.
    pub fn top_shares<const N: usize>(&self, shares: [f64; N]) -> Option<[f64; N]> {
        // Pages by their number of writes, which has far fewer entries than pages.
        let mut histogram: BTreeMap<u32, u64> = BTreeMap::new();
        for &count in self.counters.iter().flatten().filter(|count| **count > 0) {
            *histogram.entry(count).or_default() += 1;
        }
        let top = |share: f64| {
            let mut left = (share * self.distinct as f64) as u64;
            let mut writes = 0;
            for (&count, &pages) in histogram.iter().rev() {
                let taken = pages.min(left);
                writes += taken * u64::from(count);
                left -= taken;
            }
            writes as f64 / self.page_writes as f64
        };
        (self.page_writes > 0).then(|| shares.map(top))
    }
}
