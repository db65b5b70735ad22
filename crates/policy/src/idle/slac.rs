//! SLAC: cleaning in predicted slack (thesis of Mylavarapu 2008, §4.1, Figure 5).
//!
//! The slack between this request and the next is predicted from the last gaps between arrivals. If
//! they are alike, the prediction is their mean, else the last gap. It is 0 where requests arrive
//! faster than a fold takes. As many folds as fit into it are done, without checking for waiting
//! requests.
//!
//! The printed mean, `D_avg − |s_1 − s_n| / (n − 1)`, only ever falls and must be a misprint. The
//! running mean is used instead. Until there are enough gaps, the mean is over those available.
//!
//! As printed, the first request after an isolated gap starts as many folds as would have fitted
//! into *that* gap, and a burst behind it waits for all of them. `preempt=yes` checks the queue
//! between two folds.

use alloc::{boxed::Box, collections::VecDeque};

use super::{Idle, IdleEntry, Leisure};
use crate::{PolicyInfo, Ticks, choice, params, params::within};

choice! {
    /// The mean of the last gaps that is the prediction.
    pub enum Mean {
        /// All gaps have equal weight.
        Running = "running",
        /// The last gap counts n times, the one before n - 1 times, the oldest once (§6.1: tried
        /// and rejected).
        Weighted = "weighted",
    }
}

params! {
    /// Parameters of SLAC.
    pub struct Params {
        /// Gaps between requests that are remembered (the thesis' n).
        samples: u32 = 4,
        /// Mean deviation of the gaps below which they are alike (ε).
        epsilon: Ticks = Ticks(5_000_000),
        /// Which mean of them: all alike, or recent ones more.
        mean: Mean = Mean::Running,
        /// Whether a request that waits ends it. The thesis does not look.
        preempt: bool = false,
        /// Page-mapped: free blocks in each bank that are enough; auto: one more than the high
        /// watermark, and a sixteenth of the spare space.
        free: Option<u32> = None,
        /// NFTL: dead pages that make a pair of blocks worth folding (d_Th); auto: the pages of a
        /// block.
        dead: Option<u32> = None,
        /// NFTL: percentage of free blocks below which any pair is folded, those with most dead pages
        /// first; 0, as in the thesis: never.
        short: u32 = 0,
    }
}

/// The predictor.
pub struct Slac {
    params: Params,
    gaps: VecDeque<u64>,
    sum: u64,
    last: Option<u64>,
}

impl Slac {
    /// A predictor that has seen no requests.
    #[must_use]
    pub fn new(params: Params) -> Self {
        Self { gaps: VecDeque::with_capacity(params.samples as usize), params, sum: 0, last: None }
    }

    /// The predicted slack in nanoseconds, if a step takes `step`; 0 if it is not worth using.
    #[must_use]
    pub fn predict(&self, step: u64) -> u64 {
        let Some(&gap) = self.gaps.back() else { return 0 };
        if gap < step {
            return 0;
        }
        let count = self.gaps.len() as u64;
        let mean = match self.params.mean {
            Mean::Running => self.sum / count,
            Mean::Weighted => {
                let weighted = (1..).zip(&self.gaps).map(|(weight, gap)| weight * u128::from(*gap));
                let weights = u128::from(count * (count + 1) / 2);
                (weighted.sum::<u128>() / weights) as u64
            }
        };
        let deviation: u64 = self.gaps.iter().map(|gap| gap.abs_diff(mean)).sum::<u64>() / count;
        if deviation < self.params.epsilon.0 { mean } else { gap }
    }
}

impl Idle for Slac {
    fn arrived(&mut self, time: u64) {
        if let Some(last) = self.last.replace(time) {
            if self.gaps.len() == self.params.samples as usize {
                self.sum -= self.gaps.pop_front().unwrap_or(0);
            }
            let gap = time.saturating_sub(last);
            self.gaps.push_back(gap);
            self.sum += gap;
        }
    }

    fn leisure(&self, step: u64) -> Leisure {
        let steps = self.predict(step).checked_div(step).unwrap_or(0);
        Leisure { after: 0, steps, yields: self.params.preempt }
    }

    fn predicted(&self, step: u64) -> Option<u64> {
        (!self.gaps.is_empty()).then(|| self.predict(step))
    }

    fn enough_free(&self) -> Option<u32> {
        self.params.free
    }

    fn least_dead(&self) -> Option<u32> {
        self.params.dead
    }

    fn short_percent(&self) -> u32 {
        self.params.short
    }
}

pub(super) const ENTRY: IdleEntry = IdleEntry {
    info: PolicyInfo {
        name: "slac",
        aliases: &[],
        source: "Mylavarapu 2008, §4.1: application slack time aware garbage collection",
        summary: "predicts the time to the next request and cleans as much as fits into it; a burst \
                  after a lone gap waits for all of it, unless preempt=yes",
        params: Params::info,
    },
    build: |args| {
        let params = Params::read(args)?;
        within("samples", params.samples, 1..=1024)?;
        within("short", params.short, 0..=100)?;
        Ok(Box::new(Slac::new(params)))
    },
};

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Microseconds.
    const FOLD: u64 = 20_128;

    fn predictions(gaps: &[u64]) -> Vec<u64> {
        predictions_with(Params::default(), gaps)
    }

    fn predictions_with(params: Params, gaps: &[u64]) -> Vec<u64> {
        let mut slac = Slac::new(params);
        let mut time = 0;
        slac.arrived(time);
        gaps.iter()
            .map(|gap| {
                time += gap * 1000;
                slac.arrived(time);
                slac.predict(FOLD * 1000) / 1000
            })
            .collect()
    }

    #[test]
    fn alike_gaps_predict_their_mean_and_others_the_last() {
        // Vector 5b of the specification.
        assert_eq!(
            predictions(&[30_000, 31_000, 30_500, 30_200, 200, 300, 90_000, 30_000]),
            [30_000, 30_500, 30_500, 30_425, 0, 0, 90_000, 30_000]
        );
    }

    #[test]
    fn a_weighted_mean_follows_the_last_gaps_sooner() {
        let params = Params { mean: Mean::Weighted, samples: 3, ..Params::default() };
        // (1 · 30,000 + 2 · 36,000) / 3; (30,000 + 72,000 + 90,000) / 6; then the oldest gap is
        // dropped.
        assert_eq!(
            predictions_with(params, &[30_000, 36_000, 30_000, 42_000, 90_000]),
            [30_000, 34_000, 32_000, 37_000, 90_000]
        );
    }

    #[test]
    fn a_gap_of_just_a_fold_is_enough_and_a_deviation_of_just_epsilon_is_too_much() {
        assert_eq!(predictions(&[FOLD]), [FOLD]);
        assert_eq!(predictions(&[FOLD - 1]), [0]);
        // Mean 35,000, deviation 5,000: the prediction is the last gap.
        assert_eq!(predictions(&[30_000, 40_000]), [30_000, 40_000]);
        assert_eq!(predictions(&[30_000, 39_998]), [30_000, 34_999]);
    }

    #[test]
    fn as_many_steps_as_fit_and_none_before_the_first_gap() {
        let mut slac = Slac::new(Params::default());
        slac.arrived(7);
        assert_eq!(slac.leisure(10).steps, 0);
        slac.arrived(7 + 39);
        assert_eq!(slac.leisure(10), Leisure { after: 0, steps: 3, yields: false });
        assert_eq!(slac.leisure(0).steps, 0);
    }

    #[test]
    fn a_prediction_begins_with_the_first_gap_and_may_be_that_there_is_no_slack() {
        let mut slac = Slac::new(Params::default());
        slac.arrived(7);
        assert_eq!(slac.predicted(10), None);
        slac.arrived(7 + 9);
        assert_eq!(slac.predicted(10), Some(0));
        slac.arrived(7 + 9 + 30);
        assert_eq!(slac.predicted(10), Some((9 + 30) / 2));
    }
}
