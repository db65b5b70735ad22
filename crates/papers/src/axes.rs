//! Axes, their product, and subsets of it.

use crate::{
    error::Wrong,
    raw::{self, At},
    settings::{self, Settings},
};

/// A parameter that is varied.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name in the file.
    pub name: String,
    /// Its title for readers.
    pub title: String,
    /// Its values, in the order of the file.
    pub values: Vec<AxisValue>,
}

/// A value of an axis.
#[derive(Clone, Debug)]
pub struct AxisValue {
    /// Its name in the file.
    pub name: String,
    /// Its title for readers.
    pub title: String,
    /// Its position on a figure's x-axis.
    pub x: Option<f64>,
    /// The settings for this value.
    pub settings: Settings,
}

impl Axis {
    pub(crate) fn of(raw: raw::Axis, folder: &str) -> Result<Self, Wrong> {
        let raw::Axis { name, title, values } = raw;
        if values.is_empty() {
            return Err(Wrong::new("it has no values", "give it one at least").within(&name));
        }
        let mut checked: Vec<AxisValue> = Vec::new();
        for table in values {
            let value = AxisValue::of(table, folder).map_err(|wrong| wrong.within(&name))?;
            if checked.iter().any(|other| other.name == value.name) {
                let what = format!("two values are called `{}`", value.name);
                return Err(Wrong::new(what, "give each a name of its own").within(&name));
            }
            checked.push(value);
        }
        Ok(Self { title: title.unwrap_or_else(|| name.clone()), name, values: checked })
    }

    /// The index of a value.
    pub(crate) fn position(&self, value: &str) -> Result<usize, Wrong> {
        self.values.iter().position(|other| other.name == value).ok_or_else(|| {
            let known = self.values.iter().map(|value| value.name.as_str());
            Wrong::unknown("value", value, known).within(&self.name)
        })
    }
}

impl AxisValue {
    fn of(mut table: toml::Table, folder: &str) -> Result<Self, Wrong> {
        let mut text = |field: &str| match table.remove(field) {
            None => Ok(None),
            Some(toml::Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Wrong::new(format!("`{field}` is not a string"), "put it in quotes")),
        };
        let name = text("name")?
            .ok_or_else(|| Wrong::new("a value has no `name`", "give each value a name"))?;
        let title = text("title").map_err(|wrong| wrong.within(&name))?;
        let x = match table.remove("x") {
            None => None,
            Some(toml::Value::Integer(x)) => Some(x as f64),
            Some(toml::Value::Float(x)) if x.is_finite() => Some(x),
            Some(_) => return Err(Wrong::new("`x` is no number", "write one").within(&name)),
        };
        let settings = settings::of_table(&table, folder).map_err(|wrong| wrong.within(&name))?;
        Ok(Self { title: title.unwrap_or_else(|| name.clone()), name, x, settings })
    }
}

/// One value of each axis, by index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell(pub Vec<usize>);

impl Cell {
    /// The cell with another value on one axis.
    #[must_use]
    pub fn with(&self, axis: usize, value: usize) -> Self {
        let mut other = self.clone();
        other.0[axis] = value;
        other
    }
}

/// All axes of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Axes(pub Vec<Axis>);

impl Axes {
    pub(crate) fn of(raw: Vec<raw::Axis>, folder: &str) -> Result<Self, Wrong> {
        let mut axes: Vec<Axis> = Vec::new();
        for axis in raw {
            let axis = Axis::of(axis, folder).map_err(|wrong| wrong.within("axis"))?;
            if axes.iter().any(|other| other.name == axis.name) {
                let what = format!("two axes are called `{}`", axis.name);
                return Err(Wrong::new(what, "give each a name of its own"));
            }
            axes.push(axis);
        }
        Ok(Self(axes))
    }

    /// The index of an axis.
    pub(crate) fn position(&self, name: &str) -> Result<usize, Wrong> {
        self.0.iter().position(|axis| axis.name == name).ok_or_else(|| {
            Wrong::unknown("axis", name, self.0.iter().map(|axis| axis.name.as_str()))
        })
    }

    /// The selected values of every axis; all values of axes that are not named.
    pub(crate) fn select(&self, at: &At) -> Result<Selection, Wrong> {
        let mut selected: Vec<Vec<usize>> =
            self.0.iter().map(|axis| (0..axis.values.len()).collect()).collect();
        for (name, values) in at {
            let axis = self.position(name)?;
            let positions = values.names().iter().map(|value| self.0[axis].position(value));
            selected[axis] = positions.collect::<Result<_, _>>()?;
            if selected[axis].is_empty() {
                return Err(Wrong::new("no value is named", "name one").within(name));
            }
        }
        Ok(Selection(selected))
    }

    /// The name of a cell, made of its values: `random, greedy`. Axes with one value are omitted.
    pub(crate) fn name(&self, cell: &Cell, but: &[usize]) -> String {
        self.values(cell, but).map(|value| value.name.as_str()).collect::<Vec<_>>().join(",")
    }

    /// The title of a cell, made of the titles of its values.
    pub(crate) fn title(&self, cell: &Cell, but: &[usize]) -> String {
        self.values(cell, but).map(|value| value.title.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn values<'a>(
        &'a self,
        cell: &'a Cell,
        but: &'a [usize],
    ) -> impl Iterator<Item = &'a AxisValue> {
        self.0
            .iter()
            .zip(&cell.0)
            .enumerate()
            .filter(|(at, (axis, _))| axis.values.len() > 1 && !but.contains(at))
            .map(|(_, (axis, value))| &axis.values[*value])
    }
}

/// Some values of each axis, by index, in the order in which they were named.
#[derive(Clone, Debug)]
pub(crate) struct Selection(pub Vec<Vec<usize>>);

impl Selection {
    /// All cells, in which the last axis varies fastest. Of the axes in `but` only the first value
    /// is used.
    pub fn cells(&self, but: &[usize]) -> Vec<Cell> {
        let mut cells = vec![Cell(Vec::new())];
        for (axis, values) in self.0.iter().enumerate() {
            let values = if but.contains(&axis) { &values[..1] } else { &values[..] };
            cells = cells
                .iter()
                .flat_map(|cell| {
                    values.iter().map(|value| {
                        let mut longer = cell.clone();
                        longer.0.push(*value);
                        longer
                    })
                })
                .collect();
        }
        cells
    }

    /// Whether the selection contains a cell.
    pub fn holds(&self, cell: &Cell) -> bool {
        self.0.iter().zip(&cell.0).all(|(values, value)| values.contains(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes() -> Axes {
        let axis = |name: &str, values: &[&str]| raw::Axis {
            name: name.into(),
            title: None,
            values: values
                .iter()
                .map(|value| toml::Table::from_iter([("name".to_owned(), (*value).into())]))
                .collect(),
        };
        Axes::of(vec![axis("a", &["1", "2"]), axis("b", &["x", "y", "z"])], "p").expect("axes")
    }

    fn at(text: &str) -> At {
        toml::from_str(text).expect(text)
    }

    #[test]
    fn cells_are_the_product_of_the_axes() {
        let axes = axes();
        let all = axes.select(&at("")).expect("all").cells(&[]);
        let names: Vec<_> = all.iter().map(|cell| axes.name(cell, &[])).collect();
        assert_eq!(names, ["1,x", "1,y", "1,z", "2,x", "2,y", "2,z"]);
        let first = axes.select(&at("")).expect("all").cells(&[1]);
        let names: Vec<_> = first.iter().map(|cell| axes.name(cell, &[1])).collect();
        assert_eq!(names, ["1", "2"]);
    }

    #[test]
    fn a_selection_keeps_the_order_it_was_named_in() {
        let axes = axes();
        let some = axes.select(&at("b = [\"z\", \"x\"]\na = \"2\"")).expect("some");
        let names: Vec<_> = some.cells(&[]).iter().map(|cell| axes.name(cell, &[])).collect();
        assert_eq!(names, ["2,z", "2,x"]);
        assert!(some.holds(&Cell(vec![1, 0])) && !some.holds(&Cell(vec![1, 1])));
    }

    #[test]
    fn names_that_are_not_there_are_told_with_those_that_are() {
        let told = |text| axes().select(&at(text)).expect_err(text).of("f").to_string();
        assert_eq!(told("c = \"1\""), "f: there is no axis `c`; take a or b");
        assert_eq!(told("b = \"w\""), "f: b: there is no value `w`; take x, y or z");
    }

    #[test]
    fn a_product_without_axes_is_one_cell() {
        let axes = Axes::default();
        assert_eq!(axes.select(&At::new()).expect("all").cells(&[]), [Cell(Vec::new())]);
    }
}
