//! What a paper claims, one claim a cell or a group of cells.

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
    /// What it is about, for readers.
    pub title: String,
    /// Its name in the paper's words.
    pub says: Option<String>,
    /// The measure it is about.
    pub measure: String,
    /// Why the tolerance is what it is.
    pub because: Option<String>,
    /// Why nobody can reproduce it.
    pub unreachable: Option<String>,
    /// What is known of the cause.
    pub remark: Option<String>,
    /// Whether it is a question of ours: its verdict is shown and does not count.
    pub ours: bool,
    /// The claim of the file that it is a part of, counted from 0.
    pub part_of: usize,
    /// What it states.
    pub statement: Statement,
}

/// What a paper publishes: each kind is counted by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StatementKind {
    /// A printed number.
    Number,
    /// Which of several is the least, and which comes next.
    Order,
    /// How a measure goes along an axis.
    Trend,
}

/// What a claim states.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A number of a cell.
    Number {
        /// The cell.
        cell: Cell,
        /// What the paper printed; nothing where only the reference has a number.
        published: Option<(f64, Tolerance)>,
        /// Other cells along the axis of the direction, with what the paper printed.
        others: Option<Vec<(Cell, f64)>>,
        /// What an independent simulation found, and how near to it we have to be.
        reference: Option<(f64, Tolerance)>,
    },
    /// The least and the greatest number of some cells.
    Range {
        /// The cells.
        cells: Vec<Cell>,
        /// What the paper printed.
        published: [f64; 2],
        /// How near is near enough, at both ends.
        tolerance: Tolerance,
        /// What an independent simulation found.
        reference: Option<([f64; 2], Tolerance)>,
    },
    /// The mean of the numbers of some cells.
    Mean {
        /// The cells.
        cells: Vec<Cell>,
        /// What the paper printed.
        published: f64,
        /// How near is near enough.
        tolerance: Tolerance,
        /// What an independent simulation found.
        reference: Option<(f64, Tolerance)>,
    },
    /// The least first.
    Order {
        /// The cells in this order.
        cells: Vec<Cell>,
        /// How far neighbours may be out of order.
        tolerance: Tolerance,
    },
    /// How the numbers change from cell to cell.
    Trend {
        /// The cells in the order of the axis.
        cells: Vec<Cell>,
        /// The way they go.
        trend: Trend,
        /// How far one may step back, or, where it is flat, be from the mean.
        tolerance: Tolerance,
    },
}

/// The way a measure goes along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trend {
    /// Up.
    Rises,
    /// Down.
    Falls,
    /// Neither.
    Flat,
}

impl Claim {
    /// What kind of statement it is.
    pub const fn kind(&self) -> StatementKind {
        match self.statement {
            Statement::Order { .. } => StatementKind::Order,
            Statement::Trend { .. } => StatementKind::Trend,
            _ => StatementKind::Number,
        }
    }

    /// The cells it is about.
    pub fn cells(&self) -> &[Cell] {
        match &self.statement {
            Statement::Number { cell, .. } => std::slice::from_ref(cell),
            Statement::Range { cells, .. }
            | Statement::Mean { cells, .. }
            | Statement::Order { cells, .. }
            | Statement::Trend { cells, .. } => cells,
        }
    }

    /// All cells that have to be measured to judge it.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &Cell> {
        let others = match &self.statement {
            Statement::Number { others, .. } => others.as_deref().unwrap_or_default(),
            _ => &[],
        };
        self.cells().iter().chain(others.iter().map(|(cell, _)| cell))
    }
}
