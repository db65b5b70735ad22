//! Data for charts of a run beyond its result: its course over time, and distributions.
//!
//! Memory is bounded. Samples are taken at equal distances in pages written. When there are too
//! many, every second one is dropped and the distance doubles. The same run gives the same samples,
//! and recording changes no result. Only runs with a history pay for it.

use serde::{Deserialize, Serialize};
use thermocline_ftl::Counters;

/// Maximum number of samples. A run with this many requests keeps at least half as many.
const MOST: usize = 128;
/// Steps of a victim's utilization: each a twentieth of a block, and one for blocks without
/// garbage.
const STEPS: usize = 21;
/// The shares of requests at which a [curve](History::writes) has points.
const QUANTILES: [f64; 7] = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];
/// Number of points of the erase counts, from the least to the most worn block.
const BLOCKS: usize = 101;

/// The course of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Counts since the statistics began, at equal distances in pages written and at the end.
    pub samples: Vec<Sample>,
    /// Victims by the share of valid pages, in steps of 5 %. Victims needed by one request each
    /// count with their mean.
    pub victims: Vec<u64>,
    /// Response times of writes.
    pub writes: Vec<Quantile>,
    /// Response times of reads.
    pub reads: Vec<Quantile>,
    /// Every hundredth of the sorted erase counts of the blocks since the fill.
    pub erases: Vec<u32>,
}

/// Counts at one time, since the statistics began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Nanoseconds: the end of the last request.
    #[serde(default)]
    pub elapsed_ns: u64,
    /// Pages that the host wrote.
    pub host_writes: u64,
    /// Those of them that were programmed: all, unless there is a write buffer.
    pub first_programs: u64,
    /// Pages that the layer copied.
    pub copies: u64,
    /// Blocks cleaned.
    pub victims: u64,
    /// Valid pages in those blocks.
    pub victims_valid: u64,
}

/// The response time that this share of the requests did not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// The share.
    pub share: f64,
    /// Microseconds.
    pub us: f64,
}

/// Takes samples during a run.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Counters at the start of the statistics.
    start: Counters,
    pages_per_block: u32,
    /// Pages written between two samples.
    distance: u64,
    samples: Vec<Sample>,
    last: Sample,
    victims: Vec<u64>,
}

impl Recorder {
    pub(crate) fn new(pages_per_block: u32) -> Self {
        Self {
            start: Counters::default(),
            pages_per_block,
            distance: 1,
            samples: vec![Sample::default()],
            last: Sample::default(),
            victims: vec![0; STEPS],
        }
    }

    /// Starts the statistics.
    pub(crate) fn begin(&mut self, counters: &Counters) {
        *self = Self { start: *counters, ..Self::new(self.pages_per_block) };
    }

    /// Takes a sample after a request if one is due; `elapsed_ns` since the statistics began.
    pub(crate) fn note(&mut self, counters: &Counters, elapsed_ns: u64) {
        let did = counters.since(&self.start);
        let Counters { host_writes, copies, victims, victims_valid, .. } = did;
        let first_programs = did.first_programs();
        let now =
            Sample { elapsed_ns, host_writes, first_programs, copies, victims, victims_valid };
        let (chosen, valid) =
            (victims - self.last.victims, victims_valid - self.last.victims_valid);
        if chosen > 0 {
            let share = valid as f64 / (chosen as f64 * f64::from(self.pages_per_block));
            let step = (share * (STEPS - 1) as f64) as usize;
            self.victims[step.min(STEPS - 1)] += chosen;
        }
        self.last = now;
        let due = self.samples.last().map_or(0, |sample| sample.host_writes + self.distance);
        if host_writes >= due {
            self.samples.push(now);
            if self.samples.len() > MOST {
                self.thin_out();
            }
        }
    }

    fn thin_out(&mut self) {
        self.distance *= 2;
        let mut kept: Vec<Sample> = Vec::with_capacity(MOST + 1);
        for sample in &self.samples {
            if kept.last().is_none_or(|last| sample.host_writes >= last.host_writes + self.distance)
            {
                kept.push(*sample);
            }
        }
        self.samples = kept;
    }

    /// Ends the recording.
    pub(crate) fn finish(mut self) -> (Vec<Sample>, Vec<u64>) {
        if self.samples.last() != Some(&self.last) {
            self.samples.push(self.last);
        }
        (self.samples, self.victims)
    }
}

/// Points of a distribution of response times.
pub(crate) fn quantiles(at: impl Fn(f64) -> f64) -> Vec<Quantile> {
    QUANTILES.map(|share| Quantile { share, us: at(share) }).to_vec()
}

/// Every hundredth of the sorted erase counts.
pub(crate) fn erase_curve(erases: &[u32]) -> Vec<u32> {
    let mut sorted = erases.to_vec();
    sorted.sort_unstable();
    let Some(last) = sorted.len().checked_sub(1) else { return Vec::new() };
    (0..BLOCKS).map(|at| sorted[at * last / (BLOCKS - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_bounded_and_at_even_distances() {
        let mut recorder = Recorder::new(10);
        let counters = |n: u64| Counters {
            host_writes: n,
            copies: 2 * n,
            victims: n / 10,
            victims_valid: n / 10 * 5,
            ..Counters::default()
        };
        recorder.begin(&counters(0));
        for n in 1..=100_000 {
            recorder.note(&counters(n), 10 * n);
        }
        let (samples, victims) = recorder.finish();
        assert!(samples.len() > MOST / 2 && samples.len() <= MOST + 1, "{}", samples.len());
        let gaps: Vec<_> =
            samples.windows(2).map(|pair| pair[1].host_writes - pair[0].host_writes).collect();
        let (last, even) = gaps.split_last().expect("several");
        assert!(even.iter().all(|gap| *gap == even[0]) && *last <= even[0], "{gaps:?}");
        let last = samples.last().map(|sample| (sample.copies, sample.elapsed_ns));
        assert_eq!(last, Some((200_000, 1_000_000)));
        assert_eq!((victims[10], victims.iter().sum::<u64>()), (10_000, 10_000));
    }

    #[test]
    fn the_curve_of_erases_goes_from_the_least_to_the_most() {
        let erases: Vec<u32> = (0..500).rev().collect();
        let curve = erase_curve(&erases);
        assert_eq!((curve[0], curve[BLOCKS - 1], curve.len()), (0, 499, BLOCKS));
        assert!(curve.is_sorted() && erase_curve(&[]).is_empty());
    }
}
