//! Whether write amplification has settled. The result of a device that is still filling up with
//! garbage does not describe that device in use.
//!
//! The test: two consecutive stretches of the run differ by little. For a trace that is replayed
//! several times these are the last two passes: the same requests, so [`BETWEEN_PASSES`] applies.
//! For everything else they are the last two quarters of the host writes, in which the traffic
//! itself may differ: [`BETWEEN_QUARTERS`]. A run with fewer erases than blocks has not settled,
//! because garbage collection has not visited some blocks. A run without cleaning gives no verdict.
//!
//! Invariant: samples are taken at fixed numbers of requests, so neither a recording nor an
//! observer moves them.

use thermocline_ftl::Counters;

/// Maximum relative difference between the write amplification of two passes.
pub const BETWEEN_PASSES: f64 = 0.02;

/// Maximum relative difference between the write amplification of two quarters.
pub const BETWEEN_QUARTERS: f64 = 0.05;

/// Maximum number of samples.
const MOST: usize = 256;

/// The compared stretches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// Passes over the trace.
    Passes,
    /// Quarters of the host writes.
    Quarters,
}

/// Pages written by the host and pages programmed, since the statistics began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Point {
    host: u64,
    programs: u64,
}

impl Point {
    /// Programs per page written since another point.
    fn since(self, before: Self) -> Option<f64> {
        let host = self.host - before.host;
        (host > 0).then(|| (self.programs - before.programs) as f64 / host as f64)
    }
}

/// Two stretches of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settling {
    pub stretch: Stretch,
    /// Write amplification of the stretch before the last.
    pub before: f64,
    /// Write amplification of the last stretch.
    pub last: f64,
}

impl Settling {
    /// Two passes, by their write amplification.
    pub(crate) const fn of_passes((before, last): (f64, f64)) -> Self {
        Self { stretch: Stretch::Passes, before, last }
    }

    /// Whether the two differ by little.
    pub(crate) fn is_level(&self) -> bool {
        let most = match self.stretch {
            Stretch::Passes => BETWEEN_PASSES,
            Stretch::Quarters => BETWEEN_QUARTERS,
        };
        (self.last / self.before - 1.0).abs() <= most
    }
}

/// Takes samples during a run.
#[derive(Debug)]
pub(crate) struct Series {
    /// Counters at the start of the statistics.
    start: Counters,
    /// Extents between two samples.
    distance: u64,
    /// Extents until the next sample.
    left: u64,
    samples: Vec<Point>,
    /// The ends of all passes but the last.
    passes: Vec<Point>,
}

impl Series {
    /// Starts the statistics.
    pub(crate) fn begin(counters: &Counters) -> Self {
        let (samples, passes) = (vec![Point::default()], Vec::new());
        Self { start: *counters, distance: 1, left: 1, samples, passes }
    }

    /// Extents until the next sample.
    pub(crate) const fn due(&self) -> u64 {
        self.left
    }

    /// Records that this many extents were served, at most those due.
    pub(crate) fn note(&mut self, extents: u64, counters: &Counters) {
        self.left -= extents;
        if self.left > 0 {
            return;
        }
        self.samples.push(self.point(counters));
        if self.samples.len() > MOST {
            let mut at = 0;
            self.samples.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.distance *= 2;
        }
        self.left = self.distance;
    }

    /// Records the end of a pass over the trace.
    pub(crate) fn pass(&mut self, counters: &Counters) {
        self.passes.push(self.point(counters));
    }

    fn point(&self, counters: &Counters) -> Point {
        let did = counters.since(&self.start);
        Point { host: did.host_writes, programs: did.programs() }
    }

    /// The last two stretches of the run; `None` if it is too short.
    pub(crate) fn finish(&self, counters: &Counters) -> Option<Settling> {
        let end = self.point(counters);
        if let Some(last) = self.passes.last() {
            let before =
                self.passes.len().checked_sub(2).map_or(Point::default(), |at| self.passes[at]);
            let (before, last) = (last.since(before)?, end.since(*last)?);
            return Some(Settling { stretch: Stretch::Passes, before, last });
        }
        let after = |share: u64| {
            let host = end.host / 4 * share;
            self.samples.iter().copied().find(|point| point.host >= host)
        };
        let (half, three) = (after(2)?, after(3)?);
        let (before, last) = (three.since(half)?, end.since(three)?);
        Some(Settling { stretch: Stretch::Quarters, before, last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(host_writes: u64, copies: u64) -> Counters {
        Counters { host_writes, copies, ..Counters::default() }
    }

    /// A run of this many page writes, one extent each, with the given copies for each.
    fn run(writes: u64, copies: impl Fn(u64) -> u64) -> Option<Settling> {
        let mut series = Series::begin(&Counters::default());
        let (mut done, mut copied) = (0, 0);
        while done < writes {
            let step = series.due().min(writes - done);
            copied += (done..done + step).map(&copies).sum::<u64>();
            done += step;
            series.note(step, &counters(done, copied));
        }
        series.finish(&counters(done, copied))
    }

    #[test]
    fn a_level_run_has_settled_and_a_rising_one_has_not() {
        let level = run(100_000, |_| 1).expect("long");
        assert!(level.is_level() && (level.last - 2.0).abs() < 1e-9);
        let rising = run(100_000, |at| at / 10_000).expect("long");
        assert!(!rising.is_level() && rising.last > rising.before);
        assert_eq!(run(2, |_| 1), None);
    }

    #[test]
    fn passes_are_compared_where_there_are_several() {
        let mut series = Series::begin(&Counters::default());
        // Quarters differ, passes do not.
        for (at, copies) in [(100, 10), (200, 90), (300, 100), (400, 180)] {
            series.note(1, &counters(at, copies));
            if at == 200 {
                series.pass(&counters(at, copies));
            }
        }
        let settling = series.finish(&counters(400, 180)).expect("two passes");
        assert_eq!(settling.stretch, Stretch::Passes);
        assert!(settling.is_level(), "{settling:?}");
    }

    #[test]
    fn samples_are_bounded() {
        let mut series = Series::begin(&Counters::default());
        for at in 1..1_000_000 {
            let due = series.due();
            series.note(due.min(1), &counters(at, 0));
        }
        assert!(series.samples.len() <= MOST + 1 && series.samples.len() > MOST / 2);
    }
}
