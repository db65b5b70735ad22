//! The description of a chart.

use crate::{axis, table::Table};

/// How a plot shows its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line a series.
    Lines,
    /// A group of upright bars for each category.
    Bars,
    /// A lying bar for each category, a colour a series; dots where the axis is logarithmic, for a length from
    /// nothing would say nothing.
    Ranks,
    /// Dots.
    Dots,
    /// Cells coloured by their [`z`](Point::z); both axes have numbers, and each point is the middle of a cell.
    Heat,
}

/// The description of a chart.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Side by side, on the same axes.
    pub panels: Vec<Panel>,
    /// The kind of the chart.
    pub kind: Kind,
    /// The names of 0, 1, 2 … on the x-axis (of [`Kind::Ranks`] on the y-axis); nothing where it has numbers.
    pub categories: Option<Vec<String>>,
    /// The names of 0, 1, 2 … on the y-axis of [`Kind::Heat`]; nothing where it has numbers.
    pub levels: Option<Vec<String>>,
    /// Under the x-axis.
    pub x_title: String,
    /// The title of the y-axis; for [`Kind::Ranks`] the title of the categories.
    pub y_title: String,
    /// The meaning of cells' colours.
    pub z_title: String,
    /// Whether the x-axis is logarithmic.
    pub x_log: bool,
    /// Whether the y-axis is.
    pub y_log: bool,
    /// Lines across.
    pub guides: Vec<Guide>,
    /// Whether lines may coincide, as those of published numbers do: the first is the widest then, so that all are
    /// visible.
    pub overlaid: bool,
    /// Values that the axis or the colours include beside the points: those of neighbouring plots.
    pub within: Option<[f64; 2]>,
    /// Figures of each category that only the table has.
    pub also: Vec<Column>,
}

/// A column of a table: a figure of each category, where it has one.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Its name, with its unit.
    pub name: String,
    /// In the order of the categories.
    pub values: Vec<Option<f64>>,
}

/// One of several plots.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Above it.
    pub title: String,
    /// Its series.
    pub series: Vec<Series>,
}

/// One line, or the bars of one colour.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// The number of its colour, if it is not its index among the series.
    pub colour: Option<usize>,
    /// Measured points.
    pub ours: Vec<Point>,
    /// Published points.
    pub theirs: Vec<Point>,
}

/// A point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Where it stands; of [`Kind::Ranks`] the number of the category.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// The error of `y`.
    pub half: f64,
    /// The third dimension of a cell.
    pub z: f64,
}

/// A line across all panels, with a name.
#[derive(Clone, Debug)]
pub enum Guide {
    /// Where x has this value; of [`Kind::Ranks`], where the bars' values are this.
    Upright(f64, String),
    /// Where y has.
    Level(f64, String),
}

/// The free share of the axis beyond the points.
const MARGIN: f64 = 0.06;
/// If the least value is above this part of the greatest, an axis need not begin at 0.
const FAR_FROM_NOTHING: f64 = 0.6;

impl Point {
    /// A point, exactly known.
    #[must_use]
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }
}

impl Series {
    /// A series of measured points.
    #[must_use]
    pub fn new(name: impl Into<String>, ours: Vec<Point>) -> Self {
        Self { name: name.into(), ours, ..Self::default() }
    }
}

impl Plot {
    /// A plot of one panel.
    #[must_use]
    pub fn new(kind: Kind, x_title: &str, y_title: &str, series: Vec<Series>) -> Self {
        Self {
            panels: vec![Panel { title: String::new(), series }],
            kind,
            categories: None,
            levels: None,
            x_title: x_title.into(),
            y_title: y_title.into(),
            z_title: String::new(),
            x_log: false,
            y_log: false,
            guides: Vec::new(),
            within: None,
            overlaid: false,
            also: Vec::new(),
        }
    }

    /// All points.
    pub fn points(&self) -> impl Iterator<Item = Point> {
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        series.flat_map(|series| series.ours.iter().chain(&series.theirs).copied())
    }

    /// Whether there is nothing to see.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points().next().is_none()
    }

    /// The numbers behind it.
    #[must_use]
    pub fn table(&self) -> Table {
        Table::of(self)
    }

    /// The ends of the x-axis, as places on it.
    pub(crate) fn x_range(&self) -> (f64, f64) {
        if let Some(categories) = self.categories.as_ref().filter(|_| self.kind != Kind::Ranks) {
            return (-0.5, categories.len() as f64 - 0.5);
        }
        if self.kind == Kind::Ranks {
            return self.values(self.x_log);
        }
        let guides = self.guides.iter().filter_map(|guide| match guide {
            Guide::Upright(x, _) => Some(*x),
            Guide::Level(..) => None,
        });
        let all = self.points().map(|point| point.x).chain(guides);
        let visible = all.filter(|x| !self.x_log || *x > 0.0).map(|x| axis::place(x, self.x_log));
        let (least, greatest) = ends(visible);
        if self.kind == Kind::Heat {
            let half = (greatest - least) / (self.columns().len().max(2) - 1) as f64 / 2.0;
            let half = if half > 0.0 { half } else { 0.5 };
            return (least - half, greatest + half);
        }
        let margin = match greatest - least {
            0.0 => 1.0,
            span => span * MARGIN,
        };
        // Time and the like begin at nothing, not before.
        let low = if least == 0.0 && !self.x_log && self.kind == Kind::Lines && self.dense() {
            0.0
        } else {
            least - margin
        };
        (low, greatest + margin)
    }

    /// The ends of the y-axis, as places on it.
    pub(crate) fn y_range(&self) -> (f64, f64) {
        if self.kind == Kind::Ranks {
            let names = self.categories.as_ref().map_or(1, Vec::len);
            // The names of guides stand above the bars.
            let above = if self.guides.is_empty() { 0.5 } else { -0.5 };
            return (-0.5, names as f64 - above);
        }
        if let Some(levels) = &self.levels {
            return (-0.5, levels.len() as f64 - 0.5);
        }
        if self.kind == Kind::Heat {
            let (least, greatest) = ends(self.points().map(|p| axis::place(p.y, self.y_log)));
            let half = (greatest - least) / (self.rows().len().max(2) - 1) as f64 / 2.0;
            let half = if half > 0.0 { half } else { 0.5 };
            return (least - half, greatest + half);
        }
        self.values(self.y_log)
    }

    /// The ends of the axis on which lengths are.
    fn values(&self, log: bool) -> (f64, f64) {
        let guides = self.guides.iter().filter_map(|guide| match guide {
            Guide::Upright(x, _) if self.kind == Kind::Ranks => Some(*x),
            Guide::Level(y, _) if self.kind != Kind::Ranks => Some(*y),
            _ => None,
        });
        let points = self.points().flat_map(|point| [point.y - point.half, point.y + point.half]);
        let all = points.chain(guides).chain(self.within.into_iter().flatten());
        if log {
            let positive = all.filter(|y| *y > 0.0);
            let (least, greatest) = ends(positive);
            return ((least / 1.3).log10(), (greatest * 1.3).log10());
        }
        let (least, greatest) = ends(all);
        let lengths = matches!(self.kind, Kind::Bars | Kind::Ranks);
        let near = lengths || least < greatest * FAR_FROM_NOTHING;
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

    /// Whether there are enough points to leave their dots out.
    pub(crate) fn dense(&self) -> bool {
        const MANY: usize = 24;
        self.panels.iter().flat_map(|panel| &panel.series).any(|series| series.ours.len() > MANY)
    }

    /// All x there are, in order.
    pub(crate) fn columns(&self) -> Vec<f64> {
        distinct(self.points().map(|point| point.x))
    }

    /// All y there are, in order.
    pub(crate) fn rows(&self) -> Vec<f64> {
        distinct(self.points().map(|point| point.y))
    }
}

fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
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
        let point = |(i, y): (usize, &f64)| Point::at(i as f64, *y);
        let ours = values.iter().enumerate().map(point).collect();
        let kind = if bars { Kind::Bars } else { Kind::Lines };
        Plot { y_log, ..Plot::new(kind, "", "", vec![Series::new("", ours)]) }
    }

    #[test]
    fn an_axis_begins_at_nothing_unless_all_is_far_from_it() {
        assert_eq!(plot(&[10.0, 100.0], false, false).y_range().0, 0.0);
        assert!(plot(&[90.0, 100.0], false, false).y_range().0 > 80.0);
        assert_eq!(plot(&[90.0, 100.0], true, false).y_range().0, 0.0);
        let negative = plot(&[-5.0, -1.0], true, false).y_range();
        assert!(negative.0 < -5.0 && negative.1 == 0.0, "{negative:?}");
        let log = plot(&[0.0, 10.0, 1000.0], false, true).y_range();
        assert!(log.0 > 0.7 && log.1 > 3.0, "{log:?}");
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
