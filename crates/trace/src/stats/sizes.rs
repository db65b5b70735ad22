//! Request sizes.

use hdrhistogram::Histogram;

/// Sizes above this are counted as this: 4 GiB, which no read or write exceeds.
const LARGEST: u64 = 4 << 30;

/// Sizes of the requests of one kind, in constant memory; exact for multiples of 512 up to 512 KiB
/// and within 0.1 % above.
pub(super) struct Sizes(Histogram<u64>);

/// Sizes in bytes. Quantiles use the nearest rank.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SizeStats {
    /// Arithmetic mean.
    pub mean: f64,
    /// The smallest.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// Nine of ten are at most this.
    pub p90: u64,
    /// 99 of 100 are at most this.
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

impl Sizes {
    pub fn new() -> Self {
        // Constant bounds that the histogram accepts.
        Sizes(Histogram::new_with_bounds(1, LARGEST, 3).expect("bounds that are allowed"))
    }

    pub fn add(&mut self, bytes: u64) {
        self.0.saturating_record(bytes);
    }

    /// `total` is the sum of all sizes, which the histogram knows only approximately.
    pub fn stats(&self, total: u64) -> Option<SizeStats> {
        let histogram = &self.0;
        // Buckets return their upper end. Sizes are round numbers, which are at the lower end.
        let quantile = |q| histogram.lowest_equivalent(histogram.value_at_quantile(q));
        (!histogram.is_empty()).then(|| SizeStats {
            mean: total as f64 / histogram.len() as f64,
            min: histogram.lowest_equivalent(histogram.min()),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: histogram.lowest_equivalent(histogram.max()),
        })
    }
}
