//! Accuracy of an idle policy's predictions of idle time (thesis of Mylavarapu 2008, §4.1.1).

/// Predictions compared with the actual gaps. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Predictions {
    /// Number of predicted gaps between arrivals.
    pub made: u64,
    /// Number of gaps for which the prediction was right about whether a step fits.
    pub right: u64,
    /// Number of gaps that were shorter than predicted by a step or more, so that a request waits.
    pub too_long: u64,
    /// Number of steps that fit into all of these gaps.
    pub steps: u64,
    /// The part of these steps that was predicted.
    pub steps_foreseen: u64,
    /// Sum of the prediction errors.
    pub missed_ns: u128,
}

impl Predictions {
    /// Records a gap of length `gap` that was predicted as `predicted`. A step takes `step`.
    pub(crate) fn note(&mut self, predicted: u64, gap: u64, step: u64) {
        let fits = |time: u64| time.checked_div(step).unwrap_or(0);
        let (foreseen, came) = (fits(predicted), fits(gap));
        self.made += 1;
        self.right += u64::from((foreseen > 0) == (came > 0));
        self.too_long += u64::from(foreseen > came);
        self.steps += came;
        self.steps_foreseen += foreseen.min(came);
        // A prediction of 0 means less than a step, not zero.
        if predicted > 0 || gap >= step {
            self.missed_ns += u128::from(predicted.abs_diff(gap));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_is_right_if_it_says_whether_a_step_fits() {
        let mut predictions = Predictions::default();
        for (predicted, gap) in [(0, 9), (0, 35), (25, 35), (35, 25), (15, 3), (19, 10)] {
            predictions.note(predicted, gap, 10);
        }
        assert_eq!(
            predictions,
            Predictions {
                made: 6,
                right: 4,
                too_long: 2,
                steps: 3 + 3 + 2 + 1,
                steps_foreseen: 2 + 2 + 1,
                missed_ns: 35 + 10 + 10 + 12 + 9,
            }
        );
    }

    #[test]
    fn a_step_that_takes_no_time_fits_nowhere() {
        let mut predictions = Predictions::default();
        predictions.note(5, 5, 0);
        assert_eq!((predictions.right, predictions.steps), (1, 0));
    }
}
