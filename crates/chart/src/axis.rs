//! An axis: where a value stands, and where the numbers beside it are.

use std::ops::Range;

use plotters::coord::{
    ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter},
    types::RangedCoordf64,
};

use crate::show;

/// The fewest ticks that show a scale.
const FEWEST: usize = 3;

/// Ticks of a logarithmic axis of few decades.
const WITHIN_A_DECADE: [f64; 3] = [1.0, 2.0, 5.0];

/// An axis as the plotting crate wants it.
pub(crate) struct Axis {
    inner: RangedCoordf64,
    /// The places that have a name; what suits the range where there are none.
    named: Option<Vec<f64>>,
}

impl Axis {
    pub(crate) fn new((low, high): (f64, f64), named: Option<Vec<f64>>) -> Self {
        Self { inner: RangedCoordf64::from(low..high), named }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.inner.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.named.clone().unwrap_or_else(|| self.inner.key_points(hint))
    }

    fn range(&self) -> Range<f64> {
        self.inner.range()
    }
}

impl ValueFormatter<f64> for Axis {}

/// Where a value stands on an axis: a logarithm where that is wanted.
pub(crate) fn place(value: f64, log: bool) -> f64 {
    if log { value.max(f64::MIN_POSITIVE).log10() } else { value }
}

/// Places of the ticks of a logarithmic axis between two places.
pub(crate) fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = high.floor() - low.ceil();
    let step = ((decades / 7.0).ceil() as i32).max(1);
    let powers = (low.floor() as i32..=high.ceil() as i32).filter(|power| power % step == 0);
    let within: &[f64] = if decades < 2.0 { &WITHIN_A_DECADE } else { &WITHIN_A_DECADE[..1] };
    let all = powers.flat_map(|power| within.iter().map(move |x| f64::from(power) + x.log10()));
    let found: Vec<f64> = all.filter(|place| (low..=high).contains(place)).collect();
    if found.len() < FEWEST { even_ticks(low, high) } else { found }
}

/// Places of even steps of numbers, for a part of a decade.
fn even_ticks(low: f64, high: f64) -> Vec<f64> {
    let (from, to) = (10_f64.powf(low), 10_f64.powf(high));
    let wanted = (to - from) / 4.0;
    let power = 10_f64.powf(wanted.log10().floor());
    let step = WITHIN_A_DECADE.into_iter().rev().map(|x| x * power).find(|step| *step <= wanted);
    let step = step.unwrap_or(power);
    let first = (from / step).ceil() as i64;
    let all = (first..first + 12).map(|n| (n as f64 * step).log10());
    all.filter(|place| (low..=high).contains(place)).collect()
}

/// Those of the ticks that have room, powers of ten first: `gap` is the least distance of two.
pub(crate) fn apart(ticks: Vec<f64>, gap: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let (powers, others): (Vec<f64>, Vec<f64>) =
        ticks.into_iter().partition(|place| (place - place.round()).abs() < 1e-9);
    let mut kept: Vec<f64> = Vec::new();
    for place in powers.into_iter().chain(others) {
        if kept.iter().all(|other| (place - other).abs() >= gap(place, *other)) {
            kept.push(place);
        }
    }
    kept.sort_by(f64::total_cmp);
    kept
}

/// A number beside an axis: `0.8`, where a table has `0.800`.
pub(crate) fn tick(value: f64) -> String {
    if value.abs() >= 1e7 || (value != 0.0 && value.abs() < 1e-3) {
        return format!("{value:.0e}").replace('e', "·10^");
    }
    let text = show::number(value);
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_a_logarithmic_axis_are_round() {
        let ticks = |low: f64, high: f64| -> Vec<f64> {
            let places = log_ticks(low.log10(), high.log10());
            places.into_iter().map(|place| 10_f64.powf(place).round()).collect()
        };
        assert_eq!(ticks(1.0, 60.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        assert_eq!(ticks(9.0, 20_000.0), [10.0, 100.0, 1000.0, 10_000.0]);
        assert!(ticks(1.0, 1e30).len() < 10);
        let near = |low: f64, high: f64| -> Vec<String> {
            let places = log_ticks(low.log10(), high.log10());
            places.into_iter().map(|place| tick(10_f64.powf(place))).collect()
        };
        assert_eq!(near(0.98, 1.75), ["1", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"]);
        assert_eq!(
            near(1.04, 1.06),
            ["1.040", "1.045", "1.050", "1.055", "1.060"].map(|t| t.trim_end_matches('0'))
        );
        assert_eq!(
            near(300.0, 480.0),
            ["320", "340", "360", "380", "400", "420", "440", "460", "480"]
        );
        let near = [0.0, 0.2, 0.5, 1.0].to_vec();
        assert_eq!(apart(near, |_, _| 0.3), [0.0, 0.5, 1.0]);
    }
}
