//! Draws figures as SVG.

use thermocline_chart::{Chart, Kind, Legend, Panel, Plot, Point, Series, draw};

use crate::{axes::Cell, claim::Statement, experiment::Experiment, figure::Figure, report::Report};

/// A drawn figure.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Its content.
    pub chart: Chart,
    /// The drawing with its legend.
    pub svg: String,
    /// Whether it contains numbers of the paper.
    pub has_published: bool,
}

impl Drawing {
    /// Draws all figures of an experiment that have data.
    ///
    /// # Errors
    /// Those of the plotting crate.
    pub fn all(experiment: &Experiment, report: &Report) -> Result<Vec<Self>, String> {
        let mut drawings = Vec::new();
        for figure in &experiment.figures {
            let plot = plot(figure, experiment, report);
            if plot.panels.iter().all(|panel| panel.series.iter().all(|s| s.ours.is_empty())) {
                continue;
            }
            let theirs = plot.panels.iter().flat_map(|panel| &panel.series);
            drawings.push(Self {
                has_published: theirs.clone().any(|series| !series.theirs.is_empty()),
                svg: draw(&plot, Legend::Drawn)?.svg,
                chart: Chart {
                    name: figure.name.clone(),
                    title: figure.title.clone(),
                    about: String::new(),
                    plot,
                },
            });
        }
        Ok(drawings)
    }
}

/// The content of a figure.
fn plot(figure: &Figure, experiment: &Experiment, report: &Report) -> Plot {
    let axes = &experiment.axes.0;
    let x_values: Vec<_> =
        figure.values(figure.x).iter().map(|value| &axes[figure.x].values[*value]).collect();
    let numeric = x_values.iter().all(|value| value.x.is_some());
    let bars = figure.kind == crate::figure::Kind::Bars;
    let categories = numeric && !bars;
    let categories =
        (!categories).then(|| x_values.iter().map(|value| value.title.clone()).collect::<Vec<_>>());
    let x_of = |cell: &Cell| {
        let value = cell.0[figure.x];
        let position = figure.values(figure.x).iter().position(|v| *v == value)?;
        match &categories {
            None => axes[figure.x].values[value].x,
            Some(_) => Some(position as f64),
        }
    };
    let ours = |cell: &Cell| {
        let found = report.cells.iter().find(|known| known.at == *cell)?;
        found.measured.get(&figure.measure).map(|stat| stat.mean)
    };
    let theirs = |cell: &Cell| {
        experiment.claims.iter().filter(|claim| claim.measure == figure.measure).find_map(|claim| {
            match &claim.statement {
                Statement::Number { cell: known, published: Some((number, _)), .. }
                    if known == cell =>
                {
                    Some(*number)
                }
                _ => None,
            }
        })
    };
    let cells = figure.cells();
    let of_axis = |axis: Option<usize>| match axis {
        None => vec![(None, String::new())],
        Some(axis) => figure
            .values(axis)
            .iter()
            .map(|value| (Some((axis, *value)), axes[axis].values[*value].title.clone()))
            .collect(),
    };
    let is = |cell: &Cell, at: Option<(usize, usize)>| {
        at.is_none_or(|(axis, value)| cell.0[axis] == value)
    };
    let panels = of_axis(figure.panel).into_iter().map(|(panel, title)| Panel {
        title,
        series: of_axis(figure.series)
            .into_iter()
            .map(|(series, name)| {
                let points = |y: &dyn Fn(&Cell) -> Option<f64>| {
                    let here = cells.iter().filter(|cell| is(cell, panel) && is(cell, series));
                    let mut points: Vec<_> =
                        here.filter_map(|cell| Some(Point::at(x_of(cell)?, y(cell)?))).collect();
                    points.sort_by(|a, b| a.x.total_cmp(&b.x));
                    points
                };
                Series { theirs: points(&theirs), ..Series::new(name, points(&ours)) }
            })
            .collect(),
    });
    let kind = if bars { Kind::Bars } else { Kind::Lines };
    Plot {
        panels: panels.collect(),
        categories,
        y_log: figure.y_log,
        overlaid: true,
        ..Plot::new(kind, &figure.x_title, &figure.y_title, Vec::new())
    }
}
