//! Bytes programmed as a curve over bytes written by the host, and the distance between two curves.

use thermocline_sim::{History, history::Sample};

/// Number of stretches of a run that are compared.
pub const STRETCHES: usize = 20;
/// Start of the last quarter, as a share of the run.
const LAST: f64 = 0.75;

/// Points of (bytes that the host wrote, bytes programmed by then).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve(Vec<(f64, f64)>);

/// Distance of a simulated run from a measured one.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Distance {
    /// Relative error of write amplification in the last quarter: simulated over measured, minus 1.
    pub last_quarter: f64,
    /// The root mean square of the relative error over 20 stretches of the run.
    pub curve: f64,
}

impl Distance {
    /// One number, in which both parts have equal weight.
    #[must_use]
    pub fn mean(self) -> f64 {
        (f64::midpoint(self.last_quarter.powi(2), self.curve.powi(2))).sqrt()
    }
}

impl Curve {
    /// The curve of measured counters.
    #[must_use]
    pub fn measured(points: &[(u64, u64)]) -> Self {
        Self(points.iter().map(|(host, physical)| (*host as f64, *physical as f64)).collect())
    }

    /// The curve of a simulation in which a page stands for this many bytes.
    #[must_use]
    pub fn simulated(history: &History, bytes: f64) -> Self {
        let point = |sample: &Sample| {
            let programs = sample.first_programs + sample.copies;
            (sample.host_writes as f64 * bytes, programs as f64 * bytes)
        };
        Self(history.samples.iter().map(point).collect())
    }

    /// The mean of runs that differ only in their random numbers.
    #[must_use]
    pub fn mean(curves: &[Self]) -> Self {
        const POINTS: usize = 200;
        let total = curves.iter().map(Self::total).fold(f64::INFINITY, f64::min);
        let point = |at: usize| {
            let host = total * at as f64 / POINTS as f64;
            let sum: f64 = curves.iter().map(|curve| curve.programmed(host)).sum();
            (host, sum / curves.len() as f64)
        };
        Self((0..=POINTS).map(point).collect())
    }

    /// Bytes that the host wrote.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.0.last().map_or(0.0, |(host, _)| *host)
    }

    /// Bytes programmed when the host had written this many, interpolated linearly.
    fn programmed(&self, host: f64) -> f64 {
        let after = self.0.partition_point(|(at, _)| *at < host).clamp(1, self.0.len().max(2) - 1);
        let (Some((x0, y0)), Some((x1, y1))) = (self.0.get(after - 1), self.0.get(after)) else {
            return 0.0;
        };
        if x1 > x0 { y0 + (y1 - y0) * (host - x0) / (x1 - x0) } else { *y1 }
    }

    /// Write amplification between two amounts of host writes.
    #[must_use]
    pub fn amplification(&self, from: f64, to: f64) -> f64 {
        (self.programmed(to) - self.programmed(from)) / (to - from)
    }

    /// Write amplification in the last quarter.
    #[must_use]
    pub fn last_quarter(&self) -> f64 {
        self.amplification(LAST * self.total(), self.total())
    }

    /// The stretches, as pairs of amounts of host writes.
    pub fn stretches(total: f64) -> impl Iterator<Item = (f64, f64)> {
        let at = move |part: usize| total * part as f64 / STRETCHES as f64;
        (0..STRETCHES).map(move |part| (at(part), at(part + 1)))
    }

    /// Distance of this curve, plus this overhead, from a measured one.
    #[must_use]
    pub fn distance(&self, measured: &Self, overhead: f64) -> Distance {
        let total = self.total().min(measured.total());
        let error = |from: f64, to: f64| {
            self.amplification(from, to) * (1.0 + overhead) / measured.amplification(from, to) - 1.0
        };
        let squares = Self::stretches(total).map(|(from, to)| error(from, to).powi(2));
        Distance {
            last_quarter: error(LAST * total, total),
            curve: (squares.sum::<f64>() / STRETCHES as f64).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_that_differ_by_a_factor_differ_by_it_everywhere() {
        let measured = Curve::measured(&[(0, 0), (100, 150), (1000, 2400)]);
        assert_eq!(measured.amplification(0.0, 100.0), 1.5);
        assert_eq!(measured.last_quarter(), 2.5);
        let same = measured.distance(&measured, 0.0);
        assert_eq!((same.last_quarter, same.curve, same.mean()), (0.0, 0.0, 0.0));
        let more = measured.distance(&measured, 0.1);
        assert!((more.last_quarter - 0.1).abs() < 1e-12 && (more.curve - 0.1).abs() < 1e-12);
        assert!((more.mean() - 0.1).abs() < 1e-12);
    }
}
