//! Latency over load: where each curve bends, and where the device is overloaded.

use std::collections::BTreeMap;

use thermocline_chart::Point;
use thermocline_sim::metric;

use super::{Group, Study, Tried, knee};
use crate::figure;

/// The option that sets the load.
pub(super) const LOAD: &str = "load";
/// The figure of the curves.
pub(super) const TAIL: &str = "response_us.write.p999";

/// A curve: its name, its points, and the loads that are too high.
#[derive(Default)]
struct Curve {
    name: String,
    points: Vec<Point>,
    late: Vec<f64>,
}

/// A sentence for each curve of response times over loads; none where the load does not vary.
#[must_use]
pub fn knees(cells: &[Tried]) -> Vec<String> {
    let study = Study::of(cells);
    let Some(x) = study.axes.iter().position(|axis| axis.name == LOAD) else { return Vec::new() };
    let axis = &study.axes[x];
    let (Some(numbers), Some(tail)) = (&axis.numbers, metric::find(TAIL)) else {
        return Vec::new();
    };
    let mut curves: BTreeMap<Vec<usize>, Curve> = BTreeMap::new();
    for group in &study.groups {
        let Some(load) = numbers.get(group.at[x]) else { continue };
        let others = group.at.iter().enumerate().filter(|(at, _)| *at != x).map(|(_, at)| *at);
        let curve = curves.entry(others.collect()).or_default();
        curve.name = study.name(group, &[x]);
        if is_late(group) {
            curve.late.push(*load);
        } else if let Some(interval) = Study::interval(group, tail) {
            curve.points.push(Point::at(*load, interval.mean));
        }
    }
    let shown = |load: f64| {
        let at = numbers.iter().position(|number| *number == load);
        at.and_then(|at| axis.values.get(at)).cloned().unwrap_or_default()
    };
    let time = |us: f64| figure::show_number(tail.look.format, us);
    let sentence = |mut curve: Curve| {
        curve.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let name = if curve.name.is_empty() { String::new() } else { format!("{}: ", curve.name) };
        let points = &curve.points;
        let at = |x: f64| points.iter().find(|point| point.x == x);
        let bends = match (knee(points, false).and_then(at), points.first(), points.last()) {
            (Some(knee), ..) => format!(
                "the 99.9th percentile of writes bends at a load of {}, where it is {}",
                shown(knee.x),
                time(knee.y)
            ),
            (None, Some(first), Some(last)) => format!(
                "the 99.9th percentile of writes has no knee: {} at a load of {}, {} at {}",
                time(first.y),
                shown(first.x),
                time(last.y),
                shown(last.x)
            ),
            _ => "no load that the device bears".into(),
        };
        let late = curve.late.iter().copied().reduce(f64::min);
        let late = late.map_or_else(String::new, |at| format!("; overloaded from {}", shown(at)));
        format!("{name}{bends}{late}.")
    };
    curves.into_values().map(sentence).collect()
}

fn is_late(group: &Group<'_>) -> bool {
    group.results.iter().any(|result| result.is_overloaded())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_curve_has_its_knee_and_the_load_that_is_too_high() {
        let cell = |policy: &str, load: &str, tail: f64, late: bool| Tried {
            settings: [("policy", policy), ("load", load)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            result: json!({
                "response_us": { "write": { "p999": tail } },
                "lifetime": { "overloaded": late },
            })
            .into(),
        };
        let loads = ["30%", "50%", "70%", "90%", "110%"];
        let bent = [1000.0, 1100.0, 1500.0, 8000.0, 1e9];
        let mut cells: Vec<_> = loads
            .iter()
            .zip(bent)
            .map(|(load, tail)| cell("greedy", load, tail, *load == "110%"))
            .collect();
        cells.extend(
            loads.iter().enumerate().map(|(at, load)| cell("dac", load, 1000.0 + at as f64, false)),
        );
        let said = knees(&cells);
        assert_eq!(
            said,
            [
                "greedy: the 99.9th percentile of writes bends at a load of 70%, where it is 1.5 ms; \
                 overloaded from 110%.",
                "dac: the 99.9th percentile of writes has no knee: 1 ms at a load of 30%, 1.004 ms at 110%."
            ]
        );
        assert_eq!(knees(&cells[..1]), Vec::<String>::new(), "one load is no curve");
    }
}
