//! The definition of a figure, checked against its experiment.

use serde::Deserialize;

use crate::{
    axes::{Cell, Selection},
    claim::Scope,
    error::Wrong,
    raw,
};

/// The kind of chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One line for each series.
    Lines,
    /// A group of bars for every value of the x-axis.
    Bars,
}

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its name: that of the file, prefixed with the paper's.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The kind of chart.
    pub kind: Kind,
    /// The measure.
    pub measure: String,
    /// Title of the x-axis.
    pub x_title: String,
    /// Title of the y-axis.
    pub y_title: String,
    /// Whether the y-axis is logarithmic.
    pub y_log: bool,
    /// The axes, by index.
    pub(crate) x: usize,
    pub(crate) series: Option<usize>,
    pub(crate) panel: Option<usize>,
    selection: Selection,
}

impl Figure {
    pub(crate) fn of(raw: raw::Figure, scope: &Scope<'_>) -> Result<Self, Wrong> {
        let axis = |field: &str, name: &str| {
            scope.axes.position(name).map_err(|wrong| wrong.within(field))
        };
        let maybe = |field: &str, name: &Option<String>| {
            name.as_deref().map(|name| axis(field, name)).transpose()
        };
        let x = axis("x", &raw.x)?;
        let (series, panel) = (maybe("series", &raw.series)?, maybe("panel", &raw.panel)?);
        let selection = scope.axes.select(&raw.at).map_err(|wrong| wrong.within("at"))?;
        let Some(measure) = scope.measures.iter().find(|m| m.name == raw.measure) else {
            let known = scope.measures.iter().map(|measure| measure.name.as_str());
            return Err(Wrong::unknown("measure", &raw.measure, known));
        };
        if Some(x) == series || Some(x) == panel || (series.is_some() && series == panel) {
            return Err(Wrong::new("two of x, series and panel are the same axis", "part them"));
        }
        for (at, values) in selection.0.iter().enumerate() {
            let shown = at == x || Some(at) == series || Some(at) == panel;
            if !shown && values.len() > 1 {
                let name = &scope.axes.0[at].name;
                return Err(Wrong::new(
                    format!("it does not say which value of `{name}` it shows"),
                    "name one in `at`, or make the axis `series` or `panel`",
                ));
            }
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if raw.name.is_empty() || !raw.name.chars().all(fits) {
            let what = format!("`{}` is no name for a file", raw.name);
            return Err(Wrong::new(what, "write letters, digits, - and _"));
        }
        let unit = measure.unit.as_ref().map_or(String::new(), |unit| format!(" ({unit})"));
        Ok(Self {
            name: raw.name,
            title: raw.title,
            kind: raw.kind,
            x_title: raw.x_title.unwrap_or_else(|| scope.axes.0[x].title.clone()),
            y_title: raw.y_title.unwrap_or_else(|| measure.title.clone() + &unit),
            measure: raw.measure,
            y_log: raw.y_log,
            x,
            series,
            panel,
            selection,
        })
    }

    /// All cells that it shows, including those left out of the experiment.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        self.selection.cells(&[])
    }

    /// The values of an axis that it shows, by index.
    pub(crate) fn values(&self, axis: usize) -> &[usize] {
        &self.selection.0[axis]
    }
}
