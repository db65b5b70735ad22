//! Figures made of many: response times, wear, lifetime.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Response times of one kind of request, in microseconds; absent where there was no such request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ResponseTimes {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Longest.
    pub max: Option<f64>,
}

/// Collects response times in nanoseconds. Most are equal to the one before, so equal ones are
/// counted first and recorded together.
pub(crate) struct Responses {
    histogram: Histogram<u64>,
    sum: u128,
    max: u64,
    last: u64,
    pending: u64,
}

impl Responses {
    pub(crate) fn new() -> Self {
        let histogram = Histogram::new(3).expect("three significant digits are admissible");
        Self { histogram, sum: 0, max: 0, last: 0, pending: 0 }
    }

    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        if ns != self.last {
            self.flush();
            self.last = ns;
        }
        self.pending += 1;
    }

    fn flush(&mut self) {
        if self.pending > 0 {
            self.histogram.record_n(self.last, self.pending).expect("the histogram resizes itself");
            self.sum += u128::from(self.last) * u128::from(self.pending);
            self.max = self.max.max(self.last);
            self.pending = 0;
        }
    }

    /// All of them together.
    pub(crate) fn sum(&self) -> u128 {
        self.sum + u128::from(self.last) * u128::from(self.pending)
    }

    pub(crate) fn times(mut self) -> ResponseTimes {
        self.flush();
        if self.histogram.is_empty() {
            return ResponseTimes::default();
        }
        let us = |ns: u64| Some(ns as f64 / 1000.0);
        // The histogram knows values to three digits; where all are equal it need not.
        let least = self.histogram.min();
        let at = |q| us(self.histogram.value_at_quantile(q).clamp(least, self.max));
        ResponseTimes {
            mean: Some(self.sum as f64 / self.histogram.len() as f64 / 1000.0),
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: us(self.max),
        }
    }
}

/// Erase counts of all blocks since the fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Wear {
    /// Mean erases of a block.
    pub mean: f64,
    /// Sample standard deviation over all blocks: the papers' degree of uneven wearing.
    pub stddev: f64,
    /// Least.
    pub min: u32,
    /// Most.
    pub max: u32,
}

impl Wear {
    pub(crate) fn of(erases: &[u32]) -> Self {
        let n = erases.len() as f64;
        let mean = erases.iter().map(|&e| f64::from(e)).sum::<f64>() / n;
        let squares: f64 = erases.iter().map(|&e| (f64::from(e) - mean).powi(2)).sum();
        Self {
            mean,
            stddev: if erases.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
            min: erases.iter().copied().min().unwrap_or(0),
            max: erases.iter().copied().max().unwrap_or(0),
        }
    }
}

/// How long the device lasts if it goes on like this; absent where nothing was erased or no time
/// passed. On the device's own clock a slow policy lasts many years because it writes little in
/// them: compare the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lifetime {
    /// Years until the most erased block reaches its rated endurance.
    pub first_block_years: Option<f64>,
    /// Years until half of the blocks have.
    pub median_block_years: Option<f64>,
    /// Bytes the host has written when the most erased block reaches its rated endurance.
    pub first_block_host_bytes: Option<f64>,
    /// Bytes the host has written when half of the blocks have.
    pub median_block_host_bytes: Option<f64>,
}

impl Lifetime {
    pub(crate) fn of(erases: &[u32], endurance: u32, elapsed_ns: u64, host_bytes: u64) -> Self {
        const YEAR_NS: f64 = 365.25 * 86400e9;
        let mut sorted = erases.to_vec();
        sorted.sort_unstable();
        // How many times the run fits into a block's life.
        let runs = |erases: Option<&u32>| {
            let erases = erases.copied().filter(|&e| e > 0)?;
            Some(f64::from(endurance) / f64::from(erases))
        };
        let (first, median) = (runs(sorted.last()), runs(sorted.get(sorted.len() / 2)));
        let years = |runs: Option<f64>| {
            runs.filter(|_| elapsed_ns > 0).map(|runs| runs * elapsed_ns as f64 / YEAR_NS)
        };
        let bytes = |runs: Option<f64>| runs.map(|runs| runs * host_bytes as f64);
        Self {
            first_block_years: years(first),
            median_block_years: years(median),
            first_block_host_bytes: bytes(first),
            median_block_host_bytes: bytes(median),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_the_mean_are_those_of_the_samples() {
        let mut responses = Responses::new();
        for i in 1..=1000_u64 {
            responses.record(i * 1000);
            responses.record(i * 1000);
        }
        let times = responses.times();
        assert_eq!((times.mean, times.max), (Some(500.5), Some(1000.0)));
        let near = |time: Option<f64>, us: f64| (time.expect("measured") - us).abs() < 1.5;
        assert!(near(times.p50, 500.0) && near(times.p99, 990.0), "{times:?}");
        assert_eq!(Responses::new().times(), ResponseTimes::default());
    }

    #[test]
    fn wear_is_the_sample_deviation() {
        let wear = Wear::of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert!((wear.stddev - 2.138_089_935).abs() < 1e-9);
        assert_eq!((wear.mean, wear.min, wear.max), (5.0, 2, 9));
    }

    #[test]
    fn a_block_erased_once_a_day_lasts_as_many_days_as_it_is_rated_for() {
        let life = Lifetime::of(&[1, 1, 2], 100_000, 86_400_000_000_000, 4096);
        assert!((life.median_block_years.expect("erased") - 273.79).abs() < 0.01);
        assert!((life.first_block_years.expect("erased") - 136.89).abs() < 0.01);
        assert_eq!(life.first_block_host_bytes, Some(4096.0 * 50_000.0));
        assert_eq!(Lifetime::of(&[0], 100_000, 1, 1), Lifetime::default());
    }
}
