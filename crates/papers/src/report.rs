//! Results of experiments, for people and for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    axes::Cell, claim::StatementKind, record::Change, show, statistics::Stat, verdict::Verdict,
};

/// The result of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Its paper.
    pub paper: String,
    /// Its name.
    pub experiment: String,
    /// Its title.
    pub title: String,
    /// Where it is in the paper.
    pub source: String,
    /// The replacement of an input that is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<String>,
    /// Number of seeds a cell.
    pub seeds: u32,
    /// The results of the claims.
    pub claims: Vec<ClaimReport>,
    /// The measures, by name.
    pub measures: BTreeMap<String, String>,
    /// Every cell that was run, with its measures.
    pub cells: Vec<CellReport>,
    /// Recorded claims that no longer exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Whether every measure of every cell is shown.
    #[serde(skip)]
    pub(crate) surveys: bool,
}

/// The result of a claim.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimReport {
    /// Its name in the record.
    pub id: String,
    /// Its cells.
    pub title: String,
    /// Its name in the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// The kind of statement.
    pub kind: StatementKind,
    /// Whether it is our own question, which does not count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ours: bool,
    /// The index of its claim in the file.
    #[serde(skip)]
    pub(crate) part_of: usize,
    /// The measure, for readers.
    pub measure: String,
    /// Its unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The published value: a number, the ends of a range, or words.
    pub published: Published,
    /// The tolerance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<String>,
    /// The reason for the tolerance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The result of an independent simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// The measured values: a number, the ends of a range, or all numbers of an order.
    pub measured: Vec<Stat>,
    /// The verdict; `None` if there is only a reference.
    pub verdict: Option<Verdict>,
    /// The verdict that a claim which cannot be reproduced would otherwise have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Verdict>,
    /// Why it cannot be reproduced, what is known of the cause, or why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The accepted verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Verdict>,
    /// How it differs from the accepted verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// The measure under other interpretations of the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingReport>,
}

/// The published value of a paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Published {
    /// Nothing.
    Nothing,
    /// A number.
    Number(f64),
    /// The ends of a range.
    Range([f64; 2]),
    /// An order or a trend.
    Words(String),
}

/// The result of an independent simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// A number, or the ends of a range.
    pub value: Vec<f64>,
    /// The required accuracy.
    pub band: String,
    /// Whether it was met; `None` if nothing was measured.
    pub met: Option<bool>,
}

/// A claim under another interpretation of the text.
#[derive(Clone, Debug, Serialize)]
pub struct ReadingReport {
    /// The interpretation.
    pub name: String,
    /// The measured values.
    pub measured: Vec<Stat>,
    /// The verdict.
    pub verdict: Option<Verdict>,
}

/// A cell and its measured values.
#[derive(Clone, Debug, Serialize)]
pub struct CellReport {
    /// The value of each axis.
    pub cell: BTreeMap<String, String>,
    /// Its title for readers.
    pub title: String,
    /// Its measures, without those whose input is missing.
    pub measured: BTreeMap<String, Stat>,
    #[serde(skip)]
    pub(crate) at: Cell,
}

impl Report {
    /// The measured values of every cell if all are wanted: a header, and a row a cell.
    #[must_use]
    pub fn survey(&self) -> Option<(Vec<String>, Vec<Vec<String>>)> {
        if !self.surveys {
            return None;
        }
        let header = std::iter::once(String::new()).chain(self.measures.values().cloned());
        let rows = self.cells.iter().map(|cell| {
            let shown = self.measures.keys().map(|name| {
                cell.measured.get(name).map_or_else(|| show::NONE.into(), |stat| stat.show())
            });
            std::iter::once(cell.title.clone()).chain(shown).collect()
        });
        Some((header.collect(), rows.collect()))
    }
}

impl Report {
    /// The verdict of each published claim of the file as a whole: the worst of its cells.
    fn statements(&self) -> impl Iterator<Item = (StatementKind, Verdict)> + '_ {
        let counted = || self.claims.iter().filter(|claim| !claim.ours);
        let parts: std::collections::BTreeSet<_> = counted().map(|claim| claim.part_of).collect();
        parts.into_iter().filter_map(move |part| {
            let of = counted().filter(move |claim| claim.part_of == part);
            let verdicts = || of.clone().filter_map(|claim| claim.verdict);
            let judged = verdicts().filter(|verdict| verdict.is_judged()).max();
            Some((of.clone().next()?.kind, judged.or_else(|| verdicts().max())?))
        })
    }

    /// The published number with the largest relative deviation, and that deviation.
    #[must_use]
    pub fn worst(&self) -> Option<(&ClaimReport, f64)> {
        let counted = self.claims.iter().filter(|claim| {
            let judged = claim.verdict.is_some_and(Verdict::is_judged);
            judged && !claim.ours && claim.kind == StatementKind::Number
        });
        let misses = counted.filter_map(|claim| Some((claim, claim.miss()?)));
        misses.max_by(|(_, one), (_, other)| one.abs().total_cmp(&other.abs()))
    }
}

impl ClaimReport {
    /// Relative deviation of the measured number from the published one; for a range, at its worse
    /// end.
    fn miss(&self) -> Option<f64> {
        let published = match &self.published {
            Published::Number(value) => vec![*value],
            Published::Range(ends) => ends.to_vec(),
            Published::Nothing | Published::Words(_) => return None,
        };
        let pairs =
            published.iter().zip(&self.measured).filter(|(published, _)| **published != 0.0);
        let misses = pairs.map(|(published, stat)| (stat.mean - published) / published.abs());
        misses.max_by(|one, other| one.abs().total_cmp(&other.abs()))
    }

    /// The measured values without deviations.
    pub(crate) fn means(&self) -> Vec<f64> {
        self.measured.iter().map(|stat| stat.mean).collect()
    }

    /// The lowest and the highest value of a number under all interpretations.
    #[must_use]
    pub fn sensitivity(&self) -> Option<[f64; 2]> {
        let [own] = self.measured[..] else { return None };
        if self.readings.is_empty() {
            return None;
        }
        let others = self.readings.iter().filter_map(|reading| reading.measured.first());
        let all = others.map(|stat| stat.mean).chain([own.mean]);
        Some(all.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, greatest], value| {
            [least.min(value), greatest.max(value)]
        }))
    }

    /// The number of interpretations with the same verdict, and the number of all.
    #[must_use]
    pub fn agreeing(&self) -> Option<(usize, usize)> {
        let own = self.otherwise.or(self.verdict)?;
        let same = self.readings.iter().filter(|reading| reading.verdict == Some(own)).count();
        (!self.readings.is_empty()).then_some((same, self.readings.len()))
    }

    /// Whether the reference was missed.
    #[must_use]
    pub fn misses_reference(&self) -> bool {
        self.reference.as_ref().is_some_and(|reference| reference.met == Some(false))
    }
}

/// Verdicts of statements of one kind, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Within the tolerance; in order.
    pub reproduced: usize,
    /// Equal, or out of order within the tolerance.
    pub tie: usize,
    /// Right in order or sign.
    pub direction: usize,
    /// Neither.
    pub not: usize,
    /// Without input.
    pub skipped: usize,
    /// Cannot be reproduced.
    pub unreachable: usize,
}

impl Tally {
    /// Number of judged statements.
    #[must_use]
    pub const fn judged(&self) -> usize {
        self.reproduced + self.tie + self.direction + self.not
    }

    /// Number of statements by verdict, the best first.
    #[must_use]
    pub const fn by_verdict(&self) -> [usize; Verdict::ALL.len()] {
        [self.reproduced, self.tie, self.direction, self.not, self.skipped, self.unreachable]
    }

    const fn count(&mut self, verdict: Verdict) {
        *match verdict {
            Verdict::Reproduced => &mut self.reproduced,
            Verdict::Tie => &mut self.tie,
            Verdict::Direction => &mut self.direction,
            Verdict::Not => &mut self.not,
            Verdict::Skipped => &mut self.skipped,
            Verdict::Unreachable => &mut self.unreachable,
        } += 1;
    }
}

/// Verdicts of published statements. Our own questions are counted separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All claims: one for each number, pair and cell.
    #[serde(flatten)]
    pub all: Tally,
    /// Printed numbers.
    pub numbers: Tally,
    /// Orders. An order counts once, by the worst of its cells.
    pub orders: Tally,
    /// Trends. A trend counts once, by the worst of its cells.
    pub trends: Tally,
    /// Our own questions, one for each number, pair and cell.
    pub ours: Tally,
    /// Number of references met.
    pub references_met: usize,
    /// Number of references missed.
    pub references_missed: usize,
}

impl Counts {
    /// Counts the statements of some experiments.
    pub fn of<'a>(reports: impl IntoIterator<Item = &'a Report>) -> Self {
        let mut counts = Self::default();
        reports.into_iter().for_each(|report| counts.add(report));
        counts
    }

    fn add(&mut self, report: &Report) {
        for claim in &report.claims {
            match claim.reference.as_ref().and_then(|reference| reference.met) {
                Some(true) => self.references_met += 1,
                Some(false) => self.references_missed += 1,
                None => {}
            }
            let Some(verdict) = claim.verdict else { continue };
            if claim.ours {
                self.ours.count(verdict);
                continue;
            }
            self.all.count(verdict);
            if claim.kind == StatementKind::Number {
                self.numbers.count(verdict);
            }
        }
        for (kind, verdict) in report.statements() {
            match kind {
                StatementKind::Number => {}
                StatementKind::Order => self.orders.count(verdict),
                StatementKind::Trend => self.trends.count(verdict),
            }
        }
    }
}
