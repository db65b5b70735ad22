//! The write monitor and analyzer: whether the host's recent writes look uniform (DAC paper,
//! "Adaptive cleaning policy").
//!
//! **The table.** A block reference table counts the writes of each page. On a large device it
//! holds one page of every 2^k consecutive ones, drawn by a hash, and ignores the others. The
//! sample is fixed before any write is seen. Given their number of writes, uniform traffic spreads
//! those over the sampled pages evenly, so the test is as valid for the sample as for all pages.
//! Entries are never replaced. Each bank has its own monitor, which counts the pages of the bank.
//!
//! **The test.** Of `n` writes to `m` watched pages with reference counts `r`, Pearson's `X = Σ(r −
//! n/m)² / (n/m)` has a mean of `m − 1` and a variance of about `2(m − 1)` under uniform traffic.
//! More than z standard deviations above the mean is locality. A sample can miss a small hot set
//! completely. It then receives too few writes, which a second test of the same strictness detects:
//! `n` of `N` writes is binomial.

use alloc::{vec, vec::Vec};

use thermocline_flash::Lpn;

/// Minimum number of writes per square root of the pages. With fewer, too few pages are written
/// twice to distinguish locality from chance.
const WRITES_PER_ROOT: f64 = 2.0;

/// Counts writes and judges them.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    /// Distance between consecutive pages of the bank.
    apart: u32,
    /// One page of every 2^`spread` is watched.
    spread: u32,
    /// Number of pages watched.
    watched: f64,
    /// Share of all pages that is watched.
    share: f64,
    /// Writes of each watched page since the last reset.
    references: Vec<u32>,
    /// The watched pages with a count above 0.
    touched: Vec<u32>,
    /// Writes of watched pages, and the sum of their squared counts.
    references_sum: u64,
    squares: u64,
    /// Writes of all pages.
    writes: u64,
}

impl Monitor {
    /// For a bank that receives every `apart`-th page of `logical`, with at most `entries` in the
    /// table.
    pub(super) fn new(logical: u32, apart: u32, entries: u32) -> Self {
        let pages = logical.div_ceil(apart);
        let mut spread = 0;
        while u64::from(pages) > u64::from(entries.max(1)) << spread {
            spread += 1;
        }
        let groups = ((u64::from(pages) + (1 << spread) - 1) >> spread) as u32;
        // The page drawn from the last group may be beyond the end.
        let last = groups.saturating_sub(1);
        let beyond = u64::from(last) << spread | drawn(last, spread) >= u64::from(pages);
        let watched = groups - u32::from(groups > 0 && beyond);
        Self {
            apart,
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

    /// Counts a host write.
    #[inline]
    pub(super) fn wrote(&mut self, lpn: Lpn) {
        self.writes += 1;
        let page = u64::from(if self.apart > 1 { lpn.0 / self.apart } else { lpn.0 });
        let group = (page >> self.spread) as u32;
        if self.spread > 0 && page & mask(self.spread) != drawn(group, self.spread) {
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

    /// Whether enough was written for `window` expected writes to watched pages and, with a sample,
    /// for the test. If all pages are watched, the paper's window is used as it is.
    pub(super) fn has_seen(&self, window: u32) -> bool {
        let needed = WRITES_PER_ROOT * libm::sqrt(self.watched);
        let least = f64::from(window).max(if self.spread > 0 { needed } else { 0.0 });
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

    /// Number of standard deviations by which the writes of watched pages vary more than uniform
    /// ones would.
    fn deviation(&self) -> f64 {
        if self.references_sum == 0 || self.watched < 2.0 {
            return 0.0;
        }
        let n = self.references_sum as f64;
        let mean = n / self.watched;
        let x = (self.squares as f64 - n * mean) / mean;
        (x - (self.watched - 1.0)) / libm::sqrt(2.0 * (self.watched - 1.0))
    }

    /// Number of standard deviations by which the number of writes to watched pages is off.
    fn miss(&self) -> f64 {
        if self.spread == 0 {
            return 0.0;
        }
        let expected = self.writes as f64 * self.share;
        let variance = expected * (1.0 - self.share);
        (self.references_sum as f64 - expected).abs() / libm::sqrt(variance.max(1.0))
    }

    /// Begins a new window; takes time in proportion to the pages of the last.
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

/// The constant page drawn from a group of 2^`spread`.
#[inline]
const fn drawn(group: u32, spread: u32) -> u64 {
    let mut z = (group as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) & mask(spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SplitMix64.
    struct Draws(u64);

    impl Draws {
        fn below(&mut self, n: u32) -> u32 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((u128::from(z ^ (z >> 31)) * u128::from(n)) >> 64) as u32
        }
    }

    /// Writes until a verdict is due, and returns it.
    fn verdict(monitor: &mut Monitor, mut page: impl FnMut() -> u32) -> bool {
        while !monitor.has_seen(200) {
            monitor.wrote(Lpn(page()));
        }
        let uniform = monitor.looks_uniform(3.0);
        monitor.reset();
        uniform
    }

    #[test]
    fn sums_kept_by_write_are_those_of_the_whole_table() {
        let mut monitor = Monitor::new(5000, 1, 8192);
        let mut draws = Draws(1);
        for window in 0..50 {
            let mut counts = std::vec![0_u32; 5000];
            for _ in 0..300 {
                let page = draws.below(5000) >> draws.below(8);
                monitor.wrote(Lpn(page));
                counts[page as usize] += 1;
            }
            let mean = 300.0 / 5000.0;
            let x: f64 = counts.iter().map(|&c| (f64::from(c) - mean).powi(2) / mean).sum();
            let z = (x - 4999.0) / f64::sqrt(2.0 * 4999.0);
            assert!((monitor.deviation() - z).abs() < 1e-6, "window {window}");
            assert_eq!(monitor.miss().to_bits(), 0, "all pages are watched");
            monitor.reset();
        }
    }

    #[test]
    fn a_bank_that_gets_every_fourth_page_judges_by_those() {
        // A monitor that assumes four times as many pages considers even such uneven traffic
        // uniform.
        let mut draws = Draws(3);
        let pages: Vec<u32> = (0..4000)
            .map(|i| if i % 8 == 0 { draws.below(25) } else { draws.below(250) })
            .collect();
        let deviation = |apart: u32| {
            let mut monitor = Monitor::new(1000, apart, 8192);
            pages.iter().for_each(|page| monitor.wrote(Lpn(page * apart)));
            monitor.deviation()
        };
        let own = {
            let mut monitor = Monitor::new(250, 1, 8192);
            pages.iter().for_each(|&page| monitor.wrote(Lpn(page)));
            monitor.deviation()
        };
        assert_eq!(deviation(4).to_bits(), own.to_bits());
    }

    #[test]
    fn a_page_of_every_group_is_watched_whatever_the_size() {
        for (pages, entries) in [(1, 64), (64, 64), (65, 64), (1000, 64), (100_003, 512)] {
            let mut monitor = Monitor::new(pages, 1, entries);
            assert!(monitor.references.len() <= entries as usize);
            for page in 0..pages {
                monitor.wrote(Lpn(page));
            }
            let watched = monitor.touched.len();
            assert_eq!(watched as f64, monitor.watched, "{pages} pages");
            assert_eq!(monitor.references_sum as usize, watched, "{pages} pages: one each");
            assert!(watched + 1 >= monitor.references.len() && watched > 0, "{pages} pages");
            monitor.reset();
            assert!(monitor.references.iter().all(|&count| count == 0));
        }
    }

    #[test]
    fn uniform_traffic_rarely_looks_local_and_local_traffic_rarely_uniform() {
        // Pages, entries, maximum number of windows of a hundred that miss locality: all pages
        // watched, as in the papers with blocks of 4 KiB and 1 KiB, where 200 writes are few for a
        // verdict; then samples.
        for (pages, entries, most_missed) in [
            (5273, 32_768, 1),
            (24_000, 32_768, 15),
            (1_000_000, 4096, 1),
            (900_000, 32_768, 1),
            (3_000_000, 32_768, 1),
        ] {
            let mut monitor = Monitor::new(pages, 1, entries);
            let mut draws = Draws(7);
            let windows = 400;
            let false_alarms =
                (0..windows).filter(|_| !verdict(&mut monitor, || draws.below(pages))).count();
            assert!(false_alarms <= windows / 50, "{pages} pages: {false_alarms} false alarms");
            for hot in [pages / 10, pages / 100] {
                // 90 % of the writes to a run of pages.
                let mut local =
                    || if draws.below(10) > 0 { draws.below(hot) } else { draws.below(pages) };
                let missed = (0..100).filter(|_| verdict(&mut monitor, &mut local)).count();
                assert!(
                    missed <= most_missed,
                    "{pages} pages, {hot} hot: {missed} windows look uniform"
                );
            }
        }
    }

    #[test]
    fn a_hot_set_that_the_sample_missed_is_noticed() {
        let mut monitor = Monitor::new(1_000_000, 1, 1024);
        let mut draws = Draws(9);
        // The 300 pages after page 0, without the watched ones.
        let hot: Vec<u32> = (0..1024)
            .filter(|&p| u64::from(p) & mask(monitor.spread) != drawn(0, monitor.spread))
            .take(300)
            .collect();
        let mut local = || match draws.below(2) {
            0 => hot[draws.below(300) as usize],
            _ => draws.below(1_000_000),
        };
        assert!(!verdict(&mut monitor, &mut local));
    }
}
