//! The files as written. `papers/README.md` explains each field.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Table, Value};

use crate::{figure::Kind, measure::Relation};

/// Values of some axes, by name.
pub(crate) type At = BTreeMap<String, OneOrMany>;

/// One name or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    /// All names.
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}

/// How an experiment is run in the quick tests.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Quick {
    /// Unchanged, or not at all.
    Whole(bool),
    /// With these settings overriding all others.
    Shorter(Table),
}

/// An experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Experiment {
    pub title: String,
    pub source: String,
    pub about: String,
    pub stand_in: Option<String>,
    pub quick: Option<Quick>,
    #[serde(default)]
    pub run: Table,
    #[serde(default)]
    pub axis: Vec<Axis>,
    #[serde(default)]
    pub without: Vec<At>,
    #[serde(default)]
    pub measure: BTreeMap<String, Measure>,
    #[serde(default)]
    pub claim: Vec<Claim>,
    #[serde(default)]
    pub reading: Vec<Reading>,
    #[serde(default)]
    pub figure: Vec<Figure>,
    #[serde(default)]
    pub survey: bool,
    #[serde(default)]
    pub ours: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Axis {
    pub name: String,
    pub title: Option<String>,
    /// Each has a `name` and optionally a `title` and an `x`. All other fields are settings.
    pub values: Vec<Table>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    pub title: String,
    pub of: String,
    pub or: Option<f64>,
    pub against: Option<BTreeMap<String, String>>,
    #[serde(rename = "as")]
    pub relation: Option<Relation>,
    pub unit: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Claim {
    pub name: Option<String>,
    pub says: Option<String>,
    pub measure: String,
    #[serde(default)]
    pub at: At,
    // For a number or a table of them.
    pub rows: Option<String>,
    pub columns: Option<String>,
    pub published: Option<Value>,
    pub direction: Option<String>,
    pub reference: Option<Value>,
    // For a range or a mean over some axes.
    pub over: Option<OneOrMany>,
    pub published_range: Option<[f64; 2]>,
    pub reference_range: Option<[f64; 2]>,
    pub published_mean: Option<f64>,
    pub reference_mean: Option<f64>,
    // For an order or a trend.
    pub along: Option<String>,
    pub order: Option<Vec<String>>,
    pub trend: Option<crate::claim::Trend>,
    // For all kinds.
    pub tolerance: Option<String>,
    pub because: Option<String>,
    pub band: Option<String>,
    pub unreachable: Option<String>,
    pub remark: Option<String>,
    #[serde(default)]
    pub ours: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reading {
    pub name: String,
    pub about: String,
    pub set: Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Figure {
    pub name: String,
    pub title: String,
    pub kind: Kind,
    pub x: String,
    pub series: Option<String>,
    pub panel: Option<String>,
    #[serde(default)]
    pub at: At,
    pub measure: String,
    pub x_title: Option<String>,
    pub y_title: Option<String>,
    #[serde(default)]
    pub y_log: bool,
}

/// `paper.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paper {
    pub name: String,
    pub title: String,
    pub authors: String,
    pub year: i64,
    #[serde(default)]
    pub venue: String,
    pub about: String,
    #[serde(default)]
    pub today: String,
    #[serde(default)]
    pub ours: bool,
}
