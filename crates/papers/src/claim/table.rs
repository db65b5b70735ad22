//! Published numbers in a file: a single one, a row, a column or a table.

use toml::Value;

use crate::{
    axes::{Axes, Cell, Selection},
    error::Wrong,
};

/// Marks of a missing number.
const HOLE: [&str; 2] = ["-", "–"];

/// The axes of a table, by index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub rows: Option<usize>,
    pub columns: Option<usize>,
}

/// The numbers of the cells of a table, some of which may be missing.
#[derive(Clone, Debug)]
pub(super) struct Table {
    layout: Layout,
    numbers: Vec<(Option<usize>, Option<usize>, f64)>,
}

impl Table {
    pub fn parse(
        value: &Value,
        layout: Layout,
        axes: &Axes,
        selection: &Selection,
    ) -> Result<Self, Wrong> {
        let mut table = Self { layout, numbers: Vec::new() };
        match layout.rows {
            None => table.row(None, value, axes, selection)?,
            Some(rows) => {
                let axis = &axes.0[rows];
                let Value::Table(values) = value else {
                    let example = &axis.values[0].name;
                    return Err(Wrong::new(
                        format!("each value of the axis `{}` has numbers of its own", axis.name),
                        format!("write published.{example} = …, and so on"),
                    ));
                };
                for (name, value) in values {
                    let row = axis.position(name)?;
                    if !selection.0[rows].contains(&row) {
                        let what = format!("`{name}` is not among the values of `at`");
                        return Err(Wrong::new(what, "add it there, or leave the row out"));
                    }
                    table
                        .row(Some(row), value, axes, selection)
                        .map_err(|wrong| wrong.within(name))?;
                }
            }
        }
        Ok(table)
    }

    fn row(
        &mut self,
        row: Option<usize>,
        value: &Value,
        axes: &Axes,
        selection: &Selection,
    ) -> Result<(), Wrong> {
        let Some(columns) = self.layout.columns else {
            self.numbers.extend(number(value)?.map(|number| (row, None, number)));
            return Ok(());
        };
        let (name, selected) = (&axes.0[columns].name, &selection.0[columns]);
        let Value::Array(values) = value else {
            return Err(Wrong::new(
                "one number stands where there should be a list",
                format!("write a list, in the order of the axis `{name}`"),
            ));
        };
        if values.len() != selected.len() {
            return Err(Wrong::new(
                format!("{} numbers for {} values of `{name}`", values.len(), selected.len()),
                "write a number for each, or \"-\" where the paper has none",
            ));
        }
        for (column, value) in selected.iter().zip(values) {
            self.numbers.extend(number(value)?.map(|number| (row, Some(*column), number)));
        }
        Ok(())
    }

    /// The number of a cell.
    pub fn of(&self, cell: &Cell) -> Option<f64> {
        let at = |axis: Option<usize>| axis.map(|axis| cell.0[axis]);
        let place = (at(self.layout.rows), at(self.layout.columns));
        let found = self.numbers.iter().find(|(row, column, _)| (*row, *column) == place);
        found.map(|(.., number)| *number)
    }
}

fn number(value: &Value) -> Result<Option<f64>, Wrong> {
    match value {
        Value::Integer(number) => Ok(Some(*number as f64)),
        Value::Float(number) if number.is_finite() => Ok(Some(*number)),
        Value::String(text) if HOLE.contains(&text.as_str()) => Ok(None),
        other => Err(Wrong::new(
            format!("`{other}` is no number"),
            "write a number, or \"-\" where the paper has none",
        )),
    }
}
