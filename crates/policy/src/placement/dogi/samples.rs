//! Samples of page writes: features when written, and the life of what was written once it ended.
//!
//! Writes are sampled for a while, then their ends are awaited for a while longer. A page that has
//! not been written or trimmed by then is taken to live until then, as in the published program.
//! Memory: 44 to 52 bytes a sample, allocated once.

use alloc::{vec, vec::Vec};

use thermocline_flash::Lpn;

use super::network::Features;

/// The content has not ended.
const OPEN: u32 = u32::MAX;

/// A page write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) features: Features,
    lpn: Lpn,
    /// Page writes since the samples were begun.
    written: u32,
    /// Its life in page writes.
    pub(super) life: u32,
}

/// The samples of a period, and which of them is the last of a page.
#[derive(Clone, Debug)]
pub(super) struct Samples {
    list: Vec<Sample>,
    most: usize,
    /// An open-addressed table of samples by page: the position plus 1, or 0. At most half full.
    table: Vec<u32>,
    begun: u64,
}

impl Samples {
    pub(super) fn new(most: usize) -> Self {
        let table = vec![0; (2 * most).next_power_of_two().max(2)];
        Self { list: Vec::with_capacity(most), most, table, begun: 0 }
    }

    /// Forgets all samples.
    pub(super) fn begin(&mut self, writes: u64) {
        self.list.clear();
        self.table.fill(0);
        self.begun = writes;
    }

    pub(super) const fn is_full(&self) -> bool {
        self.list.len() >= self.most
    }

    pub(super) fn list(&self) -> &[Sample] {
        &self.list
    }

    /// The place in the table of a page, which is empty if it has no sample.
    #[inline(always)]
    fn place(&self, lpn: Lpn) -> usize {
        let mask = self.table.len() - 1;
        let mut at = (lpn.0.wrapping_mul(0x9e37_79b1) >> 8) as usize & mask;
        while let Some(sample) = self.table[at].checked_sub(1)
            && self.list[sample as usize].lpn != lpn
        {
            at = (at + 1) & mask;
        }
        at
    }

    fn since(&self, writes: u64) -> u32 {
        u32::try_from(writes - self.begun).unwrap_or(OPEN).min(OPEN - 1)
    }

    /// The content of a page ends.
    #[inline(always)]
    pub(super) fn ends(&mut self, lpn: Lpn, writes: u64) {
        if let Some(sample) = self.table[self.place(lpn)].checked_sub(1) {
            let now = self.since(writes);
            let sample = &mut self.list[sample as usize];
            if sample.life == OPEN {
                sample.life = now - sample.written;
            }
        }
    }

    /// Adds a write, if there is room. The page's former content must have ended.
    pub(super) fn add(&mut self, lpn: Lpn, features: Features, writes: u64) {
        if !self.is_full() {
            let place = self.place(lpn);
            let written = self.since(writes);
            self.list.push(Sample { features, lpn, written, life: OPEN });
            self.table[place] = self.list.len() as u32;
        }
    }

    /// Ends all samples that are open.
    pub(super) fn close(&mut self, writes: u64) {
        let now = self.since(writes);
        for sample in &mut self.list {
            if sample.life == OPEN {
                sample.life = now - sample.written;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_ends_with_the_next_write_or_with_the_period() {
        let mut samples = Samples::new(4);
        samples.begin(100);
        for (page, time) in [(7, 110), (9, 120), (7, 130), (7, 140), (7, 150)] {
            samples.ends(Lpn(page), time);
            samples.add(Lpn(page), [0.0; 6], time);
        }
        samples.ends(Lpn(8), 160);
        samples.ends(Lpn(7), 170);
        samples.ends(Lpn(7), 180);
        samples.close(200);
        let lives: Vec<u32> = samples.list().iter().map(|sample| sample.life).collect();
        assert_eq!(lives, [20, 80, 10, 10], "the fifth had no room");
        samples.begin(300);
        samples.ends(Lpn(7), 310);
        assert!(samples.list().is_empty());
    }
}
