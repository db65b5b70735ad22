//! Response times of many requests, summarised in a few figures.

use hdrhistogram::Histogram;

use crate::{
    history::{Quantile, quantiles},
    result::ResponseTimes,
};

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

    /// Records a response time, this many times.
    #[inline]
    pub(crate) fn record_n(&mut self, ns: u64, times: u64) {
        if times > 0 {
            self.record(ns);
            self.pending += times - 1;
        }
    }

    fn flush(&mut self) {
        if self.pending > 0 {
            self.histogram.record_n(self.last, self.pending).expect("the histogram resizes itself");
            self.sum += u128::from(self.last) * u128::from(self.pending);
            self.max = self.max.max(self.last);
            self.pending = 0;
        }
    }

    /// The time that this share of the recorded ones did not exceed.
    pub(crate) fn at(&self, share: f64) -> u64 {
        if self.histogram.is_empty() { self.last } else { self.histogram.value_at_quantile(share) }
    }

    /// The sum of all.
    pub(crate) fn sum(&self) -> u128 {
        self.sum + u128::from(self.last) * u128::from(self.pending)
    }

    /// Points of their distribution; empty if there are none.
    pub(crate) fn quantiles(&mut self) -> Vec<Quantile> {
        self.flush();
        if self.histogram.is_empty() {
            return Vec::new();
        }
        let least = self.histogram.min();
        quantiles(|q| self.histogram.value_at_quantile(q).clamp(least, self.max) as f64 / 1000.0)
    }

    pub(crate) fn times(mut self) -> ResponseTimes {
        self.flush();
        if self.histogram.is_empty() {
            return ResponseTimes::default();
        }
        let us = |ns: u64| Some(ns as f64 / 1000.0);
        // The histogram has three significant digits. Clamping makes equal values exact.
        let least = self.histogram.min();
        let at = |q| us(self.histogram.value_at_quantile(q).clamp(least, self.max));
        ResponseTimes {
            count: self.histogram.len(),
            mean: Some(self.sum as f64 / self.histogram.len() as f64 / 1000.0),
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999).filter(|_| self.histogram.len() >= 10_000),
            max: us(self.max),
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
}
