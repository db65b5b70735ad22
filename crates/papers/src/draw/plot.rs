//! What is in a figure.

/// A figure.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// Side by side, on the same axes.
    pub panels: Vec<Panel>,
    /// Bars, or lines.
    pub bars: bool,
    /// The names of 0, 1, 2 … on the x-axis; nothing where it has numbers.
    pub categories: Option<Vec<String>>,
    pub x_title: String,
    pub y_title: String,
    pub y_log: bool,
}

/// One of several plots.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub title: String,
    pub series: Vec<Series>,
}

/// One line, or the bars of one colour.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub name: String,
    /// What was measured.
    pub ours: Vec<Point>,
    /// What was printed.
    pub theirs: Vec<Point>,
}

/// A point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
}

/// How much of the axis stays free beyond the points.
const MARGIN: f64 = 0.06;
/// Where the least is above this part of the greatest, an axis need not begin at 0.
const FAR_FROM_NOTHING: f64 = 0.6;

impl Plot {
    /// All points.
    pub fn points(&self) -> impl Iterator<Item = Point> {
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        series.flat_map(|series| series.ours.iter().chain(&series.theirs).copied())
    }

    /// The ends of the x-axis.
    pub fn x_range(&self) -> (f64, f64) {
        if let Some(categories) = &self.categories {
            return (-0.5, categories.len() as f64 - 0.5);
        }
        let (least, greatest) = ends(self.points().map(|point| point.x));
        let margin = match greatest - least {
            0.0 => 1.0,
            span => span * MARGIN,
        };
        (least - margin, greatest + margin)
    }

    /// The ends of the y-axis.
    pub fn y_range(&self) -> (f64, f64) {
        if self.y_log {
            let positive = self.points().map(|point| point.y).filter(|y| *y > 0.0);
            let (least, greatest) = ends(positive);
            return (least / 1.3, greatest * 1.3);
        }
        let (least, greatest) = ends(self.points().map(|point| point.y));
        let near = self.bars || least < greatest * FAR_FROM_NOTHING;
        let (low, high) =
            if near { (least.min(0.0), greatest.max(0.0)) } else { (least, greatest) };
        let margin = match high - low {
            0.0 => 1.0,
            span => span * MARGIN,
        };
        let below = if near && low == 0.0 { 0.0 } else { margin };
        let above = if near && high == 0.0 { 0.0 } else { margin };
        (low - below, high + above)
    }
}

/// The least and the greatest; of nothing, something to draw axes with.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .fold(None, |ends: Option<(f64, f64)>, value| {
            let (least, greatest) = ends.unwrap_or((value, value));
            Some((least.min(value), greatest.max(value)))
        })
        .unwrap_or((1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(values: &[f64], bars: bool, y_log: bool) -> Plot {
        let point = |(i, y): (usize, &f64)| Point { x: i as f64, y: *y };
        let ours = values.iter().enumerate().map(point).collect();
        let series = vec![Series { name: String::new(), ours, theirs: Vec::new() }];
        Plot {
            panels: vec![Panel { title: String::new(), series }],
            bars,
            categories: None,
            x_title: String::new(),
            y_title: String::new(),
            y_log,
        }
    }

    #[test]
    fn an_axis_begins_at_nothing_unless_all_is_far_from_it() {
        assert_eq!(plot(&[10.0, 100.0], false, false).y_range().0, 0.0);
        assert!(plot(&[90.0, 100.0], false, false).y_range().0 > 80.0);
        assert_eq!(plot(&[90.0, 100.0], true, false).y_range().0, 0.0);
        let negative = plot(&[-5.0, -1.0], true, false).y_range();
        assert!(negative.0 < -5.0 && negative.1 == 0.0, "{negative:?}");
        let log = plot(&[0.0, 10.0, 1000.0], false, true).y_range();
        assert!(log.0 > 5.0 && log.1 > 1000.0, "{log:?}");
    }

    #[test]
    fn there_is_an_axis_for_one_point_and_for_none() {
        for values in [&[][..], &[0.0], &[5.0]] {
            let plot = plot(values, false, false);
            let ((a, b), (c, d)) = (plot.x_range(), plot.y_range());
            assert!(a < b && c < d, "{values:?}");
        }
    }
}
