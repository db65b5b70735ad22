//! Papers' experiments as data: runs, measures, claims and verdicts.
//!
//! A paper is a folder of TOML files ([`Paper::read`]); `papers/README.md` describes the format. A
//! [`Plan`] lists the runs that its experiments need, each once. The caller executes them and
//! returns JSON results, and [`Plan::judge`] gives every claim its verdict. This crate does not
//! know what a run is: settings are names with values, results are JSON.

mod axes;
mod claim;
mod draw;
mod error;
mod experiment;
mod expression;
mod figure;
mod judging;
mod measure;
pub mod page;
mod paper;
mod plan;
mod raw;
mod record;
mod report;
mod settings;
mod statistics;
mod tolerance;
mod verdict;

pub use thermocline_chart::show;

pub use axes::{Axes, Axis, AxisValue, Cell};
pub use claim::{Claim, Statement, StatementKind, Trend};
pub use draw::Drawing;
pub use error::PaperError;
pub use experiment::{Experiment, Reading};
pub use figure::{Figure, Kind};
pub use measure::{Measure, Relation};
pub use paper::{File, INFO_FILE, Info, Paper, RECORD_FILE};
pub use plan::{Outcome, Plan, Run};
pub use record::{Accepted, Change, Record};
pub use report::{
    CellReport, ClaimReport, Counts, Published, ReadingReport, Reference, Report, Tally,
};
pub use settings::{Setting, Settings, Text};
pub use statistics::Stat;
pub use tolerance::Tolerance;
pub use verdict::Verdict;
