//! The rules by which a measured value gets its verdict.

use super::{Claim, Statement, Trend};
use crate::{axes::Cell, verdict::Verdict};

/// What came of a claim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    /// What was measured: one number, the ends of a range, or those of all cells.
    pub measured: Vec<f64>,
    /// The verdict; none where there is only a reference.
    pub verdict: Option<Verdict>,
    /// Whether the reference was met, where there is one.
    pub reference_met: Option<bool>,
}

impl Claim {
    /// Judges by the mean of each cell, in the unit of the measure; none if a cell was not measured.
    /// `neutral` is the value of the measure that says that nothing is different.
    pub(crate) fn judge(
        &self,
        mean: impl Fn(&Cell) -> Option<f64>,
        neutral: Option<f64>,
    ) -> Option<Judged> {
        let all = |cells: &[Cell]| cells.iter().map(&mean).collect::<Option<Vec<_>>>();
        let same_side = |published: f64, measured: f64| {
            neutral.is_some_and(|neutral| side(published - neutral) == side(measured - neutral))
        };
        Some(match &self.statement {
            Statement::Number { cell, published, others, reference } => {
                let measured = mean(cell)?;
                let verdict = match published {
                    None => None,
                    Some((published, tolerance)) if tolerance.holds(*published, measured) => {
                        Some(Verdict::Reproduced)
                    }
                    Some((published, tolerance)) => {
                        let ordered = match others {
                            None => same_side(*published, measured),
                            Some(others) => {
                                let mut telling = Vec::new();
                                for (other, theirs) in others {
                                    // What the paper printed as nearly equal has no order.
                                    if tolerance.holds(*published, *theirs) {
                                        continue;
                                    }
                                    let ours = measured - mean(other)?;
                                    telling.push(side(published - theirs) == side(ours));
                                }
                                !telling.is_empty() && telling.iter().all(|holds| *holds)
                            }
                        };
                        Some(if ordered { Verdict::Direction } else { Verdict::Not })
                    }
                };
                let met = |(value, band): &(f64, _)| Tolerances::holds(band, *value, measured);
                let reference_met = reference.as_ref().map(met);
                Judged { measured: vec![measured], verdict, reference_met }
            }
            Statement::Range { cells, published, tolerance, reference } => {
                let values = all(cells)?;
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let ends = [least, greatest];
                let both = |holds: &dyn Fn(f64, f64) -> bool, theirs: &[f64; 2]| {
                    theirs.iter().zip(ends).all(|(theirs, ours)| holds(*theirs, ours))
                };
                let verdict = match () {
                    () if both(&|p, m| tolerance.holds(p, m), published) => Verdict::Reproduced,
                    () if both(&same_side, published) => Verdict::Direction,
                    () => Verdict::Not,
                };
                let met = |(range, band): &([f64; 2], crate::tolerance::Tolerance)| {
                    both(&|p, m| band.holds(p, m), range)
                };
                let reference_met = reference.as_ref().map(met);
                Judged { measured: ends.to_vec(), verdict: Some(verdict), reference_met }
            }
            Statement::Order { cells, tolerance } => {
                let measured = all(cells)?;
                let holds = measured.windows(2).all(|pair| {
                    pair[0] < pair[1] || !tolerance.is_exact() && tolerance.holds(pair[1], pair[0])
                });
                Judged { measured, verdict: Some(yes_or_no(holds)), reference_met: None }
            }
            Statement::Trend { cells, trend, tolerance } => {
                let measured = all(cells)?;
                let holds = match trend {
                    Trend::Flat => {
                        let mean = measured.iter().sum::<f64>() / measured.len() as f64;
                        measured.iter().all(|value| tolerance.holds(mean, *value))
                    }
                    Trend::Rises => goes(1.0, &measured, tolerance),
                    Trend::Falls => goes(-1.0, &measured, tolerance),
                };
                Judged { measured, verdict: Some(yes_or_no(holds)), reference_met: None }
            }
        })
    }
}

use crate::tolerance::Tolerance as Tolerances;

/// Whether no step goes back by more than the tolerance, and the last value is beyond the first.
fn goes(way: f64, values: &[f64], tolerance: &Tolerances) -> bool {
    let step = |pair: &[f64]| way * (pair[1] - pair[0]) >= 0.0 || tolerance.holds(pair[0], pair[1]);
    let ends = values.first().zip(values.last());
    values.windows(2).all(step) && ends.is_some_and(|(first, last)| way * (last - first) > 0.0)
}

/// -1, 0 or 1.
fn side(difference: f64) -> i8 {
    match difference {
        d if d > 0.0 => 1,
        d if d < 0.0 => -1,
        _ => 0,
    }
}

const fn yes_or_no(holds: bool) -> Verdict {
    if holds { Verdict::Reproduced } else { Verdict::Not }
}
