//! What came of experiments, for people and for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    axes::Cell, claim::StatementKind, record::Change, show, statistics::Stat, verdict::Verdict,
};

/// What came of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Its paper.
    pub paper: String,
    /// Its name.
    pub experiment: String,
    /// What it is.
    pub title: String,
    /// Where in the paper it stands.
    pub source: String,
    /// What stands in for an input that is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stand_in: Option<String>,
    /// With how many seeds each cell was run.
    pub seeds: u32,
    /// What came of the claims.
    pub claims: Vec<ClaimReport>,
    /// What was measured, by name.
    pub measures: BTreeMap<String, String>,
    /// Every cell that was run, and its measures.
    pub cells: Vec<CellReport>,
    /// Recorded claims that are not made any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Whether every measure of every cell is shown.
    #[serde(skip)]
    pub(crate) surveys: bool,
}

/// What came of a claim.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimReport {
    /// Its name in the record.
    pub id: String,
    /// The cells it is about.
    pub title: String,
    /// Its name in the paper's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Whether it is a number, an order or a trend.
    pub kind: StatementKind,
    /// Whether it is a question of ours, which does not count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ours: bool,
    /// The claim of the file that it is a part of.
    #[serde(skip)]
    pub(crate) part_of: usize,
    /// What is measured, for readers.
    pub measure: String,
    /// Its unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What the paper printed: a number, the ends of a range, or in words.
    pub published: Published,
    /// How near is near enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// What an independent simulation found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// What was measured: a number, the ends of a range, or all numbers of an order.
    pub measured: Vec<Stat>,
    /// The verdict; none where there is nothing but a reference.
    pub verdict: Option<Verdict>,
    /// What the verdict would be of what nobody can reproduce.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Verdict>,
    /// Why nobody can, what is known of the cause, or why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The verdict as it was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Verdict>,
    /// How it stands to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// The measure under other readings of the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingReport>,
}

/// What a paper printed.
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

/// What an independent simulation found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// A number, or the ends of a range.
    pub value: Vec<f64>,
    /// How near to it we have to be.
    pub band: String,
    /// Whether we are; none if nothing was measured.
    pub met: Option<bool>,
}

/// A claim under another reading of the text.
#[derive(Clone, Debug, Serialize)]
pub struct ReadingReport {
    /// The reading.
    pub name: String,
    /// What was measured.
    pub measured: Vec<Stat>,
    /// The verdict.
    pub verdict: Option<Verdict>,
}

/// A cell and what was measured there.
#[derive(Clone, Debug, Serialize)]
pub struct CellReport {
    /// The value of each axis.
    pub cell: BTreeMap<String, String>,
    /// What readers call it.
    pub title: String,
    /// Its measures; none of those whose input is not there.
    pub measured: BTreeMap<String, Stat>,
    #[serde(skip)]
    pub(crate) at: Cell,
}

impl Report {
    /// What was measured of every cell, where all of it is wanted: a header, and a row a cell.
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
    /// What came of each published claim of the file as a whole: the worst of its cells.
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

    /// The published number that is missed by most, and by how much of it.
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
    /// By which share of the published number the measured one misses it; of a range, at its worse end.
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

    /// What was measured, without deviations.
    pub(crate) fn means(&self) -> Vec<f64> {
        self.measured.iter().map(|stat| stat.mean).collect()
    }

    /// The least and the greatest of a number under all readings.
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

    /// How many readings come to the same verdict, of how many.
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

/// What came of statements of one kind, or of all.
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
    /// Without their input.
    pub skipped: usize,
    /// Reproducible by nobody.
    pub unreachable: usize,
}

impl Tally {
    /// How many could be judged.
    #[must_use]
    pub const fn judged(&self) -> usize {
        self.reproduced + self.tie + self.direction + self.not
    }

    /// How many there are, by verdict, the best first.
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

/// What came of published statements. Questions of ours are counted by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All claims: one for each number, pair and cell.
    #[serde(flatten)]
    pub all: Tally,
    /// Printed numbers.
    pub numbers: Tally,
    /// Orders. One counts once, by the worst of its cells.
    pub orders: Tally,
    /// Trends. One counts once, by the worst of its cells.
    pub trends: Tally,
    /// Questions of ours, one for each number, pair and cell.
    pub ours: Tally,
    /// References that were met.
    pub references_met: usize,
    /// References that were missed.
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
