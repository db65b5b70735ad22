//! The rules that give a measured value its verdict.

use super::{Claim, Statement, Trend};
use crate::{axes::Cell, tolerance::Tolerance, verdict::Verdict};

/// The outcome of a claim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    /// The measured values: one number, the ends of a range, or those of all cells.
    pub measured: Vec<f64>,
    /// The verdict; `None` if there is only a reference.
    pub verdict: Option<Verdict>,
    /// Whether the reference was met, if there is one.
    pub reference_met: Option<bool>,
}

impl Claim {
    /// Judges by the mean of each cell, in the unit of the measure. `None` if a cell was not
    /// measured. `neutral` is the value of the measure that means no difference.
    pub(crate) fn judge(
        &self,
        mean: impl Fn(&Cell) -> Option<f64>,
        neutral: Option<f64>,
    ) -> Option<Judged> {
        let values = self.cells().iter().map(&mean).collect::<Option<Vec<_>>>()?;
        let sides = |published: f64, measured: f64| {
            neutral.map(|neutral| (side(published - neutral), side(measured - neutral)))
        };
        let same_side =
            |published, measured| sides(published, measured).is_some_and(|(p, m)| p == m);
        // A saving is not reproduced by a loss, however close the two values are.
        let holds = |tolerance: &Tolerance, published, measured| {
            tolerance.holds(published, measured)
                && sides(published, measured).is_none_or(|(p, m)| p * m >= 0)
        };
        Some(match &self.statement {
            Statement::Number { published, others, reference, .. } => {
                let measured = values[0];
                let verdict = published.as_ref().map(|(published, tolerance)| {
                    let ordered = || match others {
                        None => same_side(*published, measured),
                        Some(others) => keeps_order(*published, measured, others, tolerance, &mean),
                    };
                    match holds(tolerance, *published, measured) {
                        true => Verdict::Reproduced,
                        false if ordered() => Verdict::Direction,
                        false => Verdict::Not,
                    }
                });
                let reference = reference.as_ref();
                let reference_met = reference.map(|(value, band)| band.holds(*value, measured));
                Judged { measured: values, verdict, reference_met }
            }
            Statement::Range { published, tolerance, reference, .. } => {
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let both = |theirs: &[f64; 2], holds: &dyn Fn(f64, f64) -> bool| {
                    holds(theirs[0], least) && holds(theirs[1], greatest)
                };
                let verdict = match both(published, &|p, m| holds(tolerance, p, m)) {
                    true => Verdict::Reproduced,
                    false if both(published, &same_side) => Verdict::Direction,
                    false => Verdict::Not,
                };
                let reference = reference.as_ref();
                let reference_met =
                    reference.map(|(range, band)| both(range, &|r, m| band.holds(r, m)));
                Judged { measured: vec![least, greatest], verdict: Some(verdict), reference_met }
            }
            Statement::Mean { published, tolerance, reference, .. } => {
                let measured = values.iter().sum::<f64>() / values.len() as f64;
                let verdict = match holds(tolerance, *published, measured) {
                    true => Verdict::Reproduced,
                    false if same_side(*published, measured) => Verdict::Direction,
                    false => Verdict::Not,
                };
                let reference = reference.as_ref();
                let reference_met = reference.map(|(mean, band)| band.holds(*mean, measured));
                Judged { measured: vec![measured], verdict: Some(verdict), reference_met }
            }
            Statement::Order { tolerance, .. } => {
                let near =
                    |pair: &[f64]| !tolerance.is_exact() && tolerance.holds(pair[1], pair[0]);
                let strict = values.windows(2).all(|pair| pair[0] < pair[1]);
                let loose = values.windows(2).all(|pair| pair[0] < pair[1] || near(pair));
                let verdict = in_order(strict, loose);
                Judged { measured: values, verdict: Some(verdict), reference_met: None }
            }
            Statement::Trend { trend, tolerance, .. } => {
                let goes =
                    |way| in_order(goes(way, &values, None), goes(way, &values, Some(tolerance)));
                let verdict = match trend {
                    Trend::Rises => goes(1.0),
                    Trend::Falls => goes(-1.0),
                    Trend::Flat => {
                        let mean = values.iter().sum::<f64>() / values.len() as f64;
                        let flat = values.iter().all(|value| tolerance.holds(mean, *value));
                        in_order(flat, flat)
                    }
                };
                Judged { measured: values, verdict: Some(verdict), reference_met: None }
            }
        })
    }
}

/// Whether a value is on the same side of others as the published value of theirs. Values published
/// as nearly equal have no order, nor have values that were not measured.
fn keeps_order(
    published: f64,
    measured: f64,
    others: &[(Cell, f64)],
    tolerance: &Tolerance,
    mean: impl Fn(&Cell) -> Option<f64>,
) -> bool {
    let mut telling = others
        .iter()
        .filter(|(_, theirs)| !tolerance.holds(published, *theirs))
        .filter_map(|(other, theirs)| Some((theirs, mean(other)?)))
        .map(|(theirs, ours)| side(published - theirs) == side(measured - ours))
        .peekable();
    telling.peek().is_some() && telling.all(|holds| holds)
}

/// Whether no step goes back by more than the tolerance, and the last value is beyond the first.
fn goes(way: f64, values: &[f64], tolerance: Option<&Tolerance>) -> bool {
    let near = |pair: &[f64]| tolerance.is_some_and(|by| by.holds(pair[0], pair[1]));
    let step = |pair: &[f64]| way * (pair[1] - pair[0]) >= 0.0 || near(pair);
    let ends = values.first().zip(values.last());
    values.windows(2).all(step) && ends.is_some_and(|(first, last)| way * (last - first) > 0.0)
}

/// The sign: -1, 0 or 1.
fn side(difference: f64) -> i8 {
    match difference {
        d if d > 0.0 => 1,
        d if d < 0.0 => -1,
        _ => 0,
    }
}

/// The verdict of an order that holds strictly, or only within the tolerance.
const fn in_order(strict: bool, loose: bool) -> Verdict {
    match (strict, loose) {
        (true, _) => Verdict::Reproduced,
        (false, true) => Verdict::Tie,
        (false, false) => Verdict::Not,
    }
}
