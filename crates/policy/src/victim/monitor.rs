//! The write monitor and analyzer: whether the host's recent writes look uniform (DAC paper,
//! "Adaptive cleaning policy").
//!
//! **The table.** A block reference table counts the writes of each page. On a large device it
//! holds one page of every 2^k consecutive ones, drawn by a hash, and ignores the others. The pages
//! watched are chosen before any write is seen; given how many writes they received, uniform
//! traffic spreads those over them evenly, so the same test is as valid of the sample as of all
//! pages. Nothing is ever replaced.
//!
//! **The test.** Of `n` writes to `m` watched pages with reference counts `r`, Pearson's
//! `X = Σ(r − n/m)² / (n/m)` has a mean of `m − 1` and a variance of about `2(m − 1)` under uniform
//! traffic; more than z standard deviations above the mean is locality. A sample can miss a small
//! hot set altogether; then it receives too few writes, which a second test of the same strictness
//! sees: `n` of `N` writes is binomial.

use alloc::{vec, vec::Vec};

use thermocline_flash::Lpn;

/// Below so many expected writes a page's square root, one coincidence passes for locality.
const WRITES_PER_ROOT: f64 = 2.0;

/// Counts writes and judges them.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    /// A page of every 2^`spread` is watched.
    spread: u32,
    /// Pages watched.
    watched: f64,
    /// Share of all pages that is watched.
    share: f64,
    /// Writes of each watched page since the last reset.
    references: Vec<u32>,
    /// Those that are not 0.
    touched: Vec<u32>,
    /// Writes of watched pages, and the sum of their squared counts.
    references_sum: u64,
    squares: u64,
    /// Writes of all pages.
    writes: u64,
}

impl Monitor {
    /// Of a device of `pages` logical pages, with at most `entries` in the table.
    pub(super) fn new(pages: u32, entries: u32) -> Self {
        let mut spread = 0;
        while u64::from(pages) > u64::from(entries.max(1)) << spread {
            spread += 1;
        }
        let groups = ((u64::from(pages) + (1 << spread) - 1) >> spread) as u32;
        // The page drawn from the last group may lie beyond the end.
        let last = groups.saturating_sub(1);
        let beyond = u64::from(last) << spread | drawn(last, spread) >= u64::from(pages);
        let watched = groups - u32::from(groups > 0 && beyond);
        Self {
            spread,
            watched: f64::from(watched),
            share: f64::from(watched) / f64::from(pages.max(1)),
            references: vec![0; groups as usize],
            touched: Vec::with_capacity(groups as usize),
            references_sum: 0,
            squares: 0,
            writes: 0,
        }
    }

    /// The host wrote a page.
    #[inline]
    pub(super) fn wrote(&mut self, lpn: Lpn) {
        self.writes += 1;
        let group = (u64::from(lpn.0) >> self.spread) as u32;
        if self.spread > 0 && u64::from(lpn.0) & mask(self.spread) != drawn(group, self.spread) {
            return;
        }
        let count = &mut self.references[group as usize];
        if *count == 0 {
            self.touched.push(group);
        }
        self.squares = self.squares.saturating_add(2 * u64::from(*count) + 1);
        *count = count.saturating_add(1);
        self.references_sum += 1;
    }

    /// Whether `window` writes to watched pages were to be expected by now, or as many as the test
    /// needs on so many pages.
    pub(super) fn has_seen(&self, window: u32) -> bool {
        let least = f64::from(window).max(WRITES_PER_ROOT * libm::sqrt(self.watched));
        self.writes as f64 * self.share >= least
    }

    /// Whether anything was written.
    pub(super) const fn has_seen_any(&self) -> bool {
        self.writes > 0
    }

    /// Whether the writes look uniform: no test exceeds `limit` standard deviations.
    pub(super) fn looks_uniform(&self, limit: f64) -> bool {
        self.deviation() <= limit && self.miss() <= limit
    }

    /// Standard deviations by which the writes of watched pages vary more than uniform ones would.
    fn deviation(&self) -> f64 {
        if self.references_sum == 0 || self.watched < 2.0 {
            return 0.0;
        }
        let n = self.references_sum as f64;
        let mean = n / self.watched;
        let x = (self.squares as f64 - n * mean) / mean;
        (x - (self.watched - 1.0)) / libm::sqrt(2.0 * (self.watched - 1.0))
    }

    /// Standard deviations by which the writes of watched pages are too few or too many.
    fn miss(&self) -> f64 {
        if self.spread == 0 {
            return 0.0;
        }
        let expected = self.writes as f64 * self.share;
        let variance = expected * (1.0 - self.share);
        (self.references_sum as f64 - expected).abs() / libm::sqrt(variance.max(1.0))
    }

    /// Begins a new window; takes as long as the last had pages.
    pub(super) fn reset(&mut self) {
        for &group in &self.touched {
            self.references[group as usize] = 0;
        }
        self.touched.clear();
        (self.references_sum, self.squares, self.writes) = (0, 0, 0);
    }
}

const fn mask(spread: u32) -> u64 {
    (1 << spread) - 1
}

/// The page drawn from a group of 2^`spread`; never changes.
#[inline]
const fn drawn(group: u32, spread: u32) -> u64 {
    let mut z = (group as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) & mask(spread)
}
