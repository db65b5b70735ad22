//! The accepted verdicts: `verdicts.toml`.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Deserialize;

use crate::{
    error::{PaperError, parse},
    experiment::QUICK,
    report::{ClaimReport, Report},
    verdict::Verdict,
};

const HEAD: &str = "\
# What came of every claim when it was last accepted, and what was measured then.
# `thermocline reproduce ‹accept›` writes this file.

";

/// The verdicts of a paper's claims, by id.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Record(BTreeMap<String, Accepted>);

/// An accepted verdict.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// The verdict.
    pub verdict: Verdict,
    /// The values measured at that time.
    pub measured: Vec<f64>,
}

impl Record {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// [`PaperError`], with the line.
    pub fn read(file: &str, text: &str) -> Result<Self, PaperError> {
        parse(file, text)
    }

    /// The accepted verdict of a claim.
    pub(crate) fn of(&self, id: &str) -> Option<&Accepted> {
        self.0.get(id)
    }

    /// Recorded claims of an experiment that no longer exist.
    pub(crate) fn gone<'a>(&'a self, report: &'a Report) -> impl Iterator<Item = &'a str> {
        let made = |id: &str| report.claims.iter().any(|claim| claim.id == id);
        self.0
            .keys()
            .map(String::as_str)
            .filter(|id| experiment(id) == report.experiment)
            .filter(move |id| !made(id))
    }

    /// The record updated with the reports of some experiments. Skipped claims keep their entry.
    /// Experiments that the paper no longer has are removed.
    #[must_use]
    pub fn with(&self, reports: &[Report], experiments: &[&str]) -> Self {
        let ran = |name: &str| reports.iter().any(|report| report.experiment == name);
        let kept = |id: &String| {
            let name = experiment(id);
            experiments.contains(&name.strip_suffix(QUICK).unwrap_or(name)) && !ran(name)
        };
        let mut all: BTreeMap<_, _> = self.0.clone();
        all.retain(|id, _| kept(id));
        for claim in reports.iter().flat_map(|report| &report.claims) {
            let accepted = match claim.verdict {
                None => continue,
                Some(Verdict::Skipped) => self.of(&claim.id).cloned(),
                Some(verdict) => Some(Accepted { verdict, measured: claim.means() }),
            };
            all.extend(accepted.map(|accepted| (claim.id.clone(), accepted)));
        }
        Self(all)
    }

    /// The text of the file.
    #[must_use]
    pub fn write(&self) -> String {
        let mut text = HEAD.to_owned();
        for (id, Accepted { verdict, measured }) in &self.0 {
            let measured: Vec<_> = measured.iter().map(|value| rounded(*value)).collect();
            let id = toml::Value::String(id.clone());
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{id} = {{ verdict = \"{}\", measured = [{}] }}",
                verdict.name(),
                measured.join(", ")
            );
        }
        text
    }
}

/// The experiment of a claim.
fn experiment(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

/// Six significant digits: enough to show a change, and few enough to be equal on all machines.
fn rounded(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let value: f64 = scientific.parse().unwrap_or(value);
    let text = value.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

/// How a claim differs from its accepted verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It was not recorded.
    New,
    /// The verdict is better than the accepted one.
    Better,
    /// The verdict is worse than the accepted one.
    Worse,
    /// The verdict is the same, but the measured value differs.
    Moved,
}

impl Change {
    /// The change of a claim relative to this record.
    pub(crate) fn of(claim: &ClaimReport, record: &Record) -> Option<Self> {
        let now = claim.verdict?;
        match record.of(&claim.id) {
            None if now == Verdict::Skipped => None,
            None => Some(Self::New),
            Some(then) if now.is_worse_than(then.verdict) => Some(Self::Worse),
            Some(then) if then.verdict.is_worse_than(now) => Some(Self::Better),
            Some(then) if now != Verdict::Skipped && !then.is_near(&claim.means()) => {
                Some(Self::Moved)
            }
            Some(_) => None,
        }
    }
}

impl Accepted {
    /// Whether these values equal the recorded ones up to their rounding.
    fn is_near(&self, now: &[f64]) -> bool {
        let near = |(now, then): (&f64, &f64)| (now - then).abs() <= 1e-5 * then.abs();
        now.len() == self.measured.len() && now.iter().zip(&self.measured).all(near)
    }
}
