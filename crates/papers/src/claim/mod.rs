//! Claims of a paper, each about a cell or a group of cells.

mod expand;
mod judge;
mod table;

use serde::{Deserialize, Serialize};

use crate::{axes::Cell, tolerance::Tolerance};

pub(crate) use expand::{Scope, expand};

/// A claim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name in the records: `table-4/erasures/random,greedy`.
    pub id: String,
    /// Its subject, for readers.
    pub title: String,
    /// Its name in the paper.
    pub says: Option<String>,
    /// The measure.
    pub measure: String,
    /// The reason for the tolerance.
    pub because: Option<String>,
    /// Why it cannot be reproduced.
    pub unreachable: Option<String>,
    /// Known facts about the cause of a deviation.
    pub remark: Option<String>,
    /// Whether it is our own question. Its verdict is shown and does not count.
    pub ours: bool,
    /// The index of its claim in the file.
    pub part_of: usize,
    /// The statement.
    pub statement: Statement,
}

/// The kinds of published statements, which are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StatementKind {
    /// A printed number.
    Number,
    /// Which of several values is the lowest, and which comes next.
    Order,
    /// How a measure changes along an axis.
    Trend,
}

/// The statement of a claim.
#[derive(Clone, Debug)]
pub enum Statement {
    /// The number of a cell.
    Number {
        /// The cell.
        cell: Cell,
        /// The published number; `None` if only the reference has one.
        published: Option<(f64, Tolerance)>,
        /// Other cells along the axis of the direction, with the published numbers.
        others: Option<Vec<(Cell, f64)>>,
        /// The result of an independent simulation, with the required accuracy.
        reference: Option<(f64, Tolerance)>,
    },
    /// The lowest and the highest number of some cells.
    Range {
        /// The cells.
        cells: Vec<Cell>,
        /// The published numbers.
        published: [f64; 2],
        /// The tolerance at both ends.
        tolerance: Tolerance,
        /// The result of an independent simulation.
        reference: Option<([f64; 2], Tolerance)>,
    },
    /// The mean of the numbers of some cells.
    Mean {
        /// The cells.
        cells: Vec<Cell>,
        /// The published number.
        published: f64,
        /// The tolerance.
        tolerance: Tolerance,
        /// The result of an independent simulation.
        reference: Option<(f64, Tolerance)>,
    },
    /// An order, the lowest first.
    Order {
        /// The cells in this order.
        cells: Vec<Cell>,
        /// By how much neighbours may be out of order.
        tolerance: Tolerance,
    },
    /// How the numbers change from cell to cell.
    Trend {
        /// The cells in the order of the axis.
        cells: Vec<Cell>,
        /// The direction.
        trend: Trend,
        /// By how much a value may step back or, for a flat trend, differ from the mean.
        tolerance: Tolerance,
    },
}

/// The direction in which a measure changes along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trend {
    /// Up.
    Rises,
    /// Down.
    Falls,
    /// Constant.
    Flat,
}

impl Claim {
    /// The kind of the statement.
    pub const fn kind(&self) -> StatementKind {
        match self.statement {
            Statement::Order { .. } => StatementKind::Order,
            Statement::Trend { .. } => StatementKind::Trend,
            _ => StatementKind::Number,
        }
    }

    /// The cells of the statement.
    pub fn cells(&self) -> &[Cell] {
        match &self.statement {
            Statement::Number { cell, .. } => std::slice::from_ref(cell),
            Statement::Range { cells, .. }
            | Statement::Mean { cells, .. }
            | Statement::Order { cells, .. }
            | Statement::Trend { cells, .. } => cells,
        }
    }

    /// All cells that must be measured to judge the claim.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &Cell> {
        let others = match &self.statement {
            Statement::Number { others, .. } => others.as_deref().unwrap_or_default(),
            _ => &[],
        };
        self.cells().iter().chain(others.iter().map(|(cell, _)| cell))
    }
}
