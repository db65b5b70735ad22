//! Values taken from the results of runs.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    axes::{Axes, Cell},
    error::Wrong,
    expression::{Expression, NoValue},
    raw,
};

/// How a cell is compared with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// 1 - ours / theirs.
    Reduction,
    /// ours / theirs.
    Ratio,
    /// ours - theirs.
    Difference,
}

impl Relation {
    /// The value that means no difference.
    pub const fn neutral(self) -> f64 {
        match self {
            Self::Reduction | Self::Difference => 0.0,
            Self::Ratio => 1.0,
        }
    }
}

/// A measure.
#[derive(Clone, Debug)]
pub struct Measure {
    /// Its name in the file.
    pub name: String,
    /// Its title for readers.
    pub title: String,
    /// The unit of its numbers.
    pub unit: Option<String>,
    of: Expression,
    text: String,
    or: Option<f64>,
    against: Option<Against>,
}

#[derive(Clone, Debug)]
struct Against {
    /// Axes, each with a fixed value, by index.
    fixed: Vec<(usize, usize)>,
    relation: Relation,
}

impl Measure {
    pub(crate) fn of(name: &str, raw: raw::Measure, axes: &Axes) -> Result<Self, Wrong> {
        let raw::Measure { title, of, or, against, relation, unit } = raw;
        let expression = Expression::parse(&of).map_err(|wrong| wrong.within("of"))?;
        let against = match (against, relation) {
            (None, None) => None,
            (Some(at), Some(relation)) => {
                let fixed = at.iter().map(|(axis, value)| {
                    let axis = axes.position(axis)?;
                    Ok((axis, axes.0[axis].position(value)?))
                });
                let fixed = fixed.collect::<Result<_, Wrong>>().map_err(|w| w.within("against"))?;
                Some(Against { fixed, relation })
            }
            _ => {
                return Err(Wrong::new(
                    "`against` and `as` stand together, and one is missing",
                    "say with which cell to compare, and how: as = \"reduction\", \"ratio\" or \
                     \"difference\"",
                ));
            }
        };
        Ok(Self { name: name.into(), title, unit, of: expression, text: of, or, against })
    }

    /// Its title with its unit.
    pub(crate) fn shown(&self) -> String {
        let unit = self.unit.as_ref().map_or(String::new(), |unit| format!(" ({unit})"));
        self.title.clone() + &unit
    }

    /// The cell that a cell is compared with.
    pub(crate) fn other(&self, cell: &Cell) -> Option<Cell> {
        let against = self.against.as_ref()?;
        Some(
            against.fixed.iter().fold(cell.clone(), |cell, (axis, value)| cell.with(*axis, *value)),
        )
    }

    /// The value that means no difference, for measures that compare.
    pub(crate) fn neutral(&self) -> Option<f64> {
        let neutral = self.against.as_ref()?.relation.neutral();
        Some(neutral * self.scale())
    }

    /// The value for one run, and for the run it is compared with, in the unit.
    pub(crate) fn value(&self, ours: &Value, theirs: Option<&Value>) -> Result<f64, Wrong> {
        let ours = self.alone(ours)?;
        let value = match (&self.against, theirs) {
            (Some(against), Some(theirs)) => {
                let theirs = self.alone(theirs)?;
                match against.relation {
                    Relation::Difference => ours - theirs,
                    Relation::Reduction | Relation::Ratio if theirs == 0.0 => {
                        self.or.ok_or_else(|| {
                            Wrong::new(
                                "the cell it is compared with has 0",
                                "compare with another cell, or say what it is instead: or = 0",
                            )
                        })?
                    }
                    Relation::Reduction => 1.0 - ours / theirs,
                    Relation::Ratio => ours / theirs,
                }
            }
            _ => ours,
        };
        Ok(value * self.scale())
    }

    fn alone(&self, result: &Value) -> Result<f64, Wrong> {
        match (self.of.value(result), self.or) {
            (Ok(value), _) => Ok(value),
            (Err(NoValue::Missing(_)), Some(or)) => Ok(or),
            (Err(NoValue::Missing(what)), None) => Err(Wrong::new(
                format!("`{}` has no value: {what}", self.text),
                "correct the key, or say what it is where it is missing: or = 0",
            )),
            (Err(NoValue::Wrong(what)), _) => {
                Err(Wrong::new(format!("`{}`: {what}", self.text), "correct the expression"))
            }
        }
    }

    /// Shares are shown and published in per cent.
    fn scale(&self) -> f64 {
        if self.unit.as_deref() == Some("%") { 100.0 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn measure(text: &str) -> Result<Measure, Wrong> {
        let axes = toml::from_str::<raw::Experiment>(
            "title=''\nsource=''\nabout=''\n[[axis]]\nname='p'\nvalues=[{name='a'},{name='b'}]",
        );
        let axes = Axes::of(axes.expect("an experiment").axis, "f").expect("axes");
        Measure::of("m", toml::from_str(text).expect(text), &axes)
    }

    fn value(text: &str, ours: f64, theirs: f64) -> Result<f64, Wrong> {
        let of = |n: f64| json!({ "n": n });
        measure(text)?.value(&of(ours), Some(&of(theirs)))
    }

    const AGAINST: &str = "title=''\nof='n'\nagainst={p='a'}\n";

    #[test]
    fn cells_are_compared_as_the_file_says() {
        let of = |relation: &str| value(&format!("{AGAINST}as='{relation}'"), 30.0, 40.0);
        assert_eq!(of("reduction"), Ok(0.25));
        assert_eq!(of("ratio"), Ok(0.75));
        assert_eq!(of("difference"), Ok(-10.0));
        let percent = value(&format!("{AGAINST}as='reduction'\nunit='%'"), 30.0, 40.0);
        assert_eq!(percent, Ok(25.0));
        assert_eq!(value("title=''\nof='n'\nunit='blocks'", 30.0, 40.0), Ok(30.0));
    }

    #[test]
    fn the_other_cell_differs_in_what_is_named_only() {
        let measure = measure(&format!("{AGAINST}as='ratio'")).expect("a measure");
        assert_eq!(measure.other(&Cell(vec![1])), Some(Cell(vec![0])));
        assert_eq!(measure.neutral(), Some(1.0));
    }

    #[test]
    fn a_missing_key_is_an_error_unless_the_file_has_a_default() {
        let empty = json!({});
        let without = measure("title=''\nof='n'").expect("a measure");
        assert!(without.value(&empty, None).is_err());
        let with = measure("title=''\nof='n'\nor=0").expect("a measure");
        assert_eq!(with.value(&empty, None), Ok(0.0));
        assert!(value(&format!("{AGAINST}as='ratio'"), 1.0, 0.0).is_err());
        assert_eq!(value(&format!("{AGAINST}as='ratio'\nor=7"), 1.0, 0.0), Ok(7.0));
    }

    #[test]
    fn comparing_takes_a_cell_and_a_way() {
        assert!(measure("title=''\nof='n'\nas='ratio'").is_err());
        assert!(measure(AGAINST).is_err());
        assert!(measure("title=''\nof='n'\nagainst={q='a'}\nas='ratio'").is_err());
    }
}
