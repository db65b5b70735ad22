//! A grid of settings, and its cells in order.

use crate::{Setting, Settings};

/// A varied setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// The setting of each of its values.
    pub values: Vec<Setting>,
}

/// Axes, and settings common to all cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// The axes; the last one varies fastest.
    pub axes: Vec<Axis>,
    /// The common settings.
    pub fixed: Vec<Setting>,
}

/// One simulation of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its settings.
    pub settings: Settings,
    /// Its varied settings: `policy greedy, over-provisioning 7%`.
    pub name: String,
}

impl Grid {
    /// All cells, in the order of the axes.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        (0..self.count()).map(|at| self.cell(at)).collect()
    }

    /// The number of cells.
    #[must_use]
    pub fn count(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// The cell of a place in that order.
    #[must_use]
    pub fn cell(&self, mut at: usize) -> Cell {
        let mut chosen = Vec::new();
        for axis in self.axes.iter().rev() {
            chosen.push((axis, &axis.values[at % axis.values.len()]));
            at /= axis.values.len();
        }
        chosen.reverse();
        let varied = chosen.iter().filter(|(axis, _)| axis.values.len() > 1);
        let named = varied.map(|(_, setting)| {
            format!("{} {}", setting.option, setting.value.as_deref().unwrap_or_default())
        });
        let name = named.collect::<Vec<_>>().join(", ");
        let settings = chosen.iter().map(|(_, setting)| (*setting).clone());
        Cell { settings: Settings(settings.chain(self.fixed.iter().cloned()).collect()), name }
    }

    /// Every option that is set in some cell, in order.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        for setting in self.axes.iter().flat_map(|axis| &axis.values).chain(&self.fixed) {
            if !options.contains(&setting.option) {
                options.push(setting.option.clone());
            }
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_axis_turns_fastest() {
        let axis = |name: &str, values: &[&str]| Axis {
            name: name.into(),
            values: values.iter().map(|value| Setting::new(name, *value)).collect(),
        };
        let grid = Grid {
            axes: vec![axis("policy", &["greedy", "cat"]), axis("banks", &["1", "2", "4"])],
            fixed: vec![Setting::flag("check")],
        };
        let cells = grid.cells();
        let names: Vec<_> = cells.iter().map(|cell| cell.name.as_str()).collect();
        assert_eq!(names[..2], ["policy greedy, banks 1", "policy greedy, banks 2"]);
        assert_eq!((names.len(), names[5]), (6, "policy cat, banks 4"));
        assert_eq!(cells[0].settings.shown(), "--policy greedy --banks 1 --check");
        assert_eq!(grid.options(), ["policy", "banks", "check"]);
        assert_eq!(Grid::default().cells().len(), 1);
    }
}
