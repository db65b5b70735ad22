//! The numbers behind a chart, as rows and columns.

use crate::plot::{Kind, Plot, Point, Series};

/// A table: the numbers of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The names of the columns, with units.
    pub header: Vec<String>,
    /// Cells; an empty one has no number.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The numbers behind a plot.
    pub(crate) fn of(plot: &Plot) -> Self {
        match plot.kind {
            Kind::Lines | Kind::Bars => Self::by_x(plot),
            Kind::Ranks | Kind::Dots => Self::by_point(plot),
            Kind::Heat => Self::by_cell(plot),
        }
    }

    /// Where a point of [`Plot`] stands in it: row and column. What fills a whole row has column 0.
    pub(crate) fn place(plot: &Plot, panel: usize, series: usize, point: &Point) -> (usize, usize) {
        let before = || plot.panels[..panel].iter();
        match plot.kind {
            Kind::Lines | Kind::Bars => {
                let skipped: usize = before().map(|panel| columns(&panel.series).len()).sum();
                let row = columns(&plot.panels[panel].series).iter().position(|x| *x == point.x);
                let first = 1 + usize::from(plot.panels.len() > 1);
                let here = &plot.panels[panel].series[..series];
                let wide: usize = here.iter().map(width).sum();
                (skipped + row.unwrap_or(0), first + wide)
            }
            Kind::Ranks | Kind::Dots => {
                let all = before().flat_map(|panel| &panel.series);
                let others = all.chain(&plot.panels[panel].series[..series]);
                let skipped: usize = others.map(|series| series.ours.len()).sum();
                let ours = &plot.panels[panel].series[series].ours;
                let at = ours.iter().position(|other| other == point);
                (skipped + at.unwrap_or(0), 0)
            }
            Kind::Heat => {
                let at = |all: Vec<f64>, value: f64| all.iter().position(|x| *x == value);
                let skipped = plot.rows().len() * panel;
                let row = at(plot.rows(), point.y).unwrap_or(0);
                let first = 1 + usize::from(plot.panels.len() > 1);
                (skipped + row, first + at(plot.columns(), point.x).unwrap_or(0))
            }
        }
    }

    /// A row for each x, a column for each series.
    fn by_x(plot: &Plot) -> Self {
        let several = plot.panels.len() > 1;
        let mut header = vec![plot.x_title.clone()];
        if several {
            header.insert(0, "panel".into());
        }
        for series in plot.panels.first().map_or(&[][..], |panel| &panel.series) {
            header.push(named(&series.name, &plot.y_title));
            if is_spread(series) {
                header.push(format!("± {}", series.name));
            }
            if !series.theirs.is_empty() {
                header.push(format!("{}, published", series.name).trim_start_matches(", ").into());
            }
        }
        let mut rows = Vec::new();
        for panel in &plot.panels {
            for x in columns(&panel.series) {
                let mut row = vec![plot.x_name(x)];
                if several {
                    row.insert(0, panel.title.clone());
                }
                for series in &panel.series {
                    let of = |points: &[Point]| points.iter().find(|p| p.x == x).copied();
                    let ours = of(&series.ours);
                    row.push(ours.map_or_else(String::new, |point| exactly(point.y)));
                    if is_spread(series) {
                        row.push(ours.map_or_else(String::new, |point| exactly(point.half)));
                    }
                    if !series.theirs.is_empty() {
                        let theirs = of(&series.theirs);
                        row.push(theirs.map_or_else(String::new, |point| exactly(point.y)));
                    }
                }
                rows.push(row);
            }
        }
        Self { header, rows }
    }

    /// A row for each point.
    fn by_point(plot: &Plot) -> Self {
        let ranks = plot.kind == Kind::Ranks;
        let spread = plot.panels.iter().flat_map(|panel| &panel.series).any(is_spread);
        let mut header = match ranks {
            true => vec![plot.y_title.clone(), plot.x_title.clone()],
            false => vec!["series".into(), plot.x_title.clone(), plot.y_title.clone()],
        };
        if spread {
            header.push("± 95 %".into());
        }
        header.extend(plot.also.iter().map(|column| column.name.clone()));
        let mut rows = Vec::new();
        for (series, point) in plot
            .panels
            .iter()
            .flat_map(|panel| &panel.series)
            .flat_map(|series| series.ours.iter().map(move |point| (series, point)))
        {
            let mut row = match ranks {
                true => vec![plot.x_name(point.x), exactly(point.y)],
                false => vec![series.name.clone(), exactly(point.x), exactly(point.y)],
            };
            if spread {
                row.push(exactly(point.half));
            }
            let also = plot.also.iter().map(|column| column.values.get(point.x as usize));
            row.extend(
                also.map(|value| value.copied().flatten().map_or_else(String::new, exactly)),
            );
            rows.push(row);
        }
        Self { header, rows }
    }

    /// A row for each y, a column for each x.
    fn by_cell(plot: &Plot) -> Self {
        let (columns, values) = (plot.columns(), plot.rows());
        let several = plot.panels.len() > 1;
        let mut header = vec![format!("{} \\ {}", plot.y_title, plot.x_title)];
        header.extend(columns.iter().map(|x| plot.x_name(*x)));
        if several {
            header.insert(0, "panel".into());
        }
        let mut rows = Vec::new();
        for panel in &plot.panels {
            let points = || panel.series.iter().flat_map(|series| &series.ours);
            for y in &values {
                let name = plot.levels.as_ref().and_then(|names| names.get(*y as usize));
                let mut row = vec![name.cloned().unwrap_or_else(|| exactly(*y))];
                if several {
                    row.insert(0, panel.title.clone());
                }
                let at = |x: &f64| points().find(|p| p.x == *x && p.y == *y);
                row.extend(
                    columns.iter().map(|x| at(x).map_or_else(String::new, |p| exactly(p.z))),
                );
                rows.push(row);
            }
        }
        Self { header, rows }
    }

    /// As CSV.
    #[must_use]
    pub fn csv(&self) -> String {
        let row = |cells: &Vec<String>| -> String {
            let cells: Vec<_> = cells.iter().map(|cell| quoted(cell)).collect();
            cells.join(",") + "\n"
        };
        row(&self.header) + &self.rows.iter().map(row).collect::<String>()
    }
}

impl Plot {
    /// The name of an x in a table.
    fn x_name(&self, x: f64) -> String {
        let name = self.categories.as_ref().and_then(|names| names.get(x as usize));
        name.cloned().unwrap_or_else(|| exactly(x))
    }
}

/// Six digits: enough to draw from, and no more than anybody measures.
fn exactly(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { String::new() };
    }
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    rounded.to_string()
}

fn named(name: &str, title: &str) -> String {
    if name.is_empty() { title.to_owned() } else { name.to_owned() }
}

/// Columns a series takes.
fn width(series: &Series) -> usize {
    1 + usize::from(is_spread(series)) + usize::from(!series.theirs.is_empty())
}

fn is_spread(series: &Series) -> bool {
    series.ours.iter().any(|point| point.half > 0.0)
}

fn columns(series: &[Series]) -> Vec<f64> {
    let mut all: Vec<f64> =
        series.iter().flat_map(|s| s.ours.iter().chain(&s.theirs)).map(|point| point.x).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// A cell of CSV. A text that a spreadsheet would take for a formula gets a leading quote.
fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_finds_its_cell() {
        let series = |name: &str, ours: &[(f64, f64)], half: f64| {
            let points = ours.iter().map(|(x, y)| Point { half, ..Point::at(*x, *y) });
            Series::new(name, points.collect())
        };
        let lines = vec![
            series("a,=", &[(0.0, 1.0), (2.0, 3.0)], 0.5),
            series("b", &[(1.0, 2.0), (2.0, 4.0)], 0.0),
        ];
        let plot = Plot::new(Kind::Lines, "x, s", "y", lines);
        let table = plot.table();
        assert_eq!(table.csv(), "\"x, s\",\"a,=\",\"± a,=\",b\n0,1,0.5,\n1,,,2\n2,3,0.5,4\n");
        for (at, series) in plot.panels[0].series.iter().enumerate() {
            for point in &series.ours {
                let (row, column) = Table::place(&plot, 0, at, point);
                assert_eq!(table.rows[row][column], exactly(point.y));
            }
        }
        assert_eq!((quoted("=1+2"), quoted("-3.5")), ("'=1+2".into(), "-3.5".into()));
        assert_eq!((exactly(1.0 / 3.0), exactly(1e9)), ("0.333333".into(), "1000000000".into()));
    }
}
