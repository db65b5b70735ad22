//! What came of experiments, for people and for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    axes::Cell,
    claim::{Claim, Statement},
    error::PaperError,
    experiment::Experiment,
    plan::{Cells, Outcome, Plan, Planned},
    record::{Change, Record},
    show,
    statistics::Stat,
    verdict::Verdict,
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
}

/// What came of a claim.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimReport {
    /// Its name in the record.
    pub id: String,
    /// The cells it is about.
    pub title: String,
    /// The same in the paper's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
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
    /// Why nobody can, or why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The verdict as it was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Verdict>,
    /// How it stands to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// The same under other readings of the text.
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

impl Plan<'_> {
    /// Judges all experiments by what came of the runs, which stand in the order of
    /// [`Plan::runs`].
    ///
    /// # Errors
    /// [`PaperError`] if a measure does not suit the results.
    pub fn judge<'r>(
        &self,
        outcomes: &[Outcome],
        record: impl Fn(&str) -> &'r Record,
    ) -> Result<Vec<Report>, PaperError> {
        self.experiments
            .iter()
            .map(|planned| planned.report(outcomes, record(&planned.experiment.paper)))
            .collect()
    }
}

impl Planned<'_> {
    fn report(&self, outcomes: &[Outcome], record: &Record) -> Result<Report, PaperError> {
        let experiment = self.experiment;
        let claims = experiment.claims.iter().map(|claim| self.claim(claim, outcomes, record));
        let claims = claims.collect::<Result<_, _>>()?;
        let mut report = Report {
            paper: experiment.paper.clone(),
            experiment: experiment.name.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            stand_in: experiment.stand_in.clone(),
            seeds: experiment.seeds(),
            claims,
            measures: experiment
                .measures
                .iter()
                .map(|measure| (measure.name.clone(), measure.shown()))
                .collect(),
            cells: self.cells(outcomes)?,
            gone: Vec::new(),
        };
        report.gone = record.gone(&report).map(str::to_owned).collect();
        Ok(report)
    }

    /// What is measured of every cell, as far as there is something.
    fn cells(&self, outcomes: &[Outcome]) -> Result<Vec<CellReport>, PaperError> {
        let experiment = self.experiment;
        let used = |name: &str| {
            experiment.is_survey()
                || experiment.claims.iter().any(|claim| claim.measure == name)
                || experiment.figures.iter().any(|figure| figure.measure == name)
        };
        let mut cells = Vec::new();
        for at in self.base.keys() {
            let mut measured = BTreeMap::new();
            for measure in experiment.measures.iter().filter(|measure| used(&measure.name)) {
                // What is compared with a cell that nobody needs is not needed either.
                let comparable =
                    measure.other(at).is_none_or(|other| self.base.contains_key(&other));
                if comparable
                    && let Ok(values) = self.values(&self.base, outcomes, &measure.name, at)?
                {
                    measured.insert(measure.name.clone(), Stat::of(&values));
                }
            }
            let names = experiment.axes.0.iter().zip(&at.0);
            let cell = names.map(|(axis, v)| (axis.name.clone(), axis.values[*v].name.clone()));
            cells.push(CellReport {
                cell: cell.collect(),
                title: experiment.axes.title(at, &[]),
                measured,
                at: at.clone(),
            });
        }
        Ok(cells)
    }

    fn claim(
        &self,
        claim: &Claim,
        outcomes: &[Outcome],
        record: &Record,
    ) -> Result<ClaimReport, PaperError> {
        let experiment = self.experiment;
        let measure = experiment.measure(&claim.measure);
        let base = self.judged(claim, &self.base, outcomes)?;
        let mut readings = Vec::new();
        for (reading, cells) in &self.readings {
            if let Ok(judged) = self.judged(claim, cells, outcomes)? {
                let Judged { measured, verdict, .. } = judged;
                readings.push(ReadingReport { name: reading.name.clone(), measured, verdict });
            }
        }
        let (published, tolerance, reference) = stated(claim, experiment);
        let mut report = ClaimReport {
            id: claim.id.clone(),
            title: claim.title.clone(),
            says: claim.says.clone(),
            measure: measure.title.clone(),
            unit: measure.unit.clone(),
            published,
            tolerance,
            because: claim.because.clone(),
            reference,
            measured: Vec::new(),
            verdict: None,
            otherwise: None,
            why: claim.unreachable.clone(),
            accepted: record.of(&claim.id).map(|accepted| accepted.verdict),
            change: None,
            readings,
        };
        match base {
            Ok(judged) => {
                report.measured = judged.measured;
                report.verdict = judged.verdict;
                if let Some(reference) = &mut report.reference {
                    reference.met = judged.reference_met;
                }
                if claim.unreachable.is_some() {
                    report.otherwise = report.verdict.replace(Verdict::Unreachable);
                }
            }
            Err(why) => {
                report.verdict = Some(Verdict::Skipped);
                report.why = Some(why);
            }
        }
        report.change = Change::of(&report, record);
        Ok(report)
    }

    /// A claim by the runs of these cells; or why it was skipped.
    fn judged(
        &self,
        claim: &Claim,
        cells: &Cells,
        outcomes: &[Outcome],
    ) -> Result<Result<Judged, String>, PaperError> {
        let mut stats: BTreeMap<&Cell, Stat> = BTreeMap::new();
        for cell in claim.needs() {
            match self.values(cells, outcomes, &claim.measure, cell)? {
                Ok(values) => stats.insert(cell, Stat::of(&values)),
                Err(why) => return Ok(Err(why)),
            };
        }
        let neutral = self.experiment.measure(&claim.measure).neutral();
        let mean = |cell: &Cell| stats.get(cell).map(|stat| stat.mean);
        let Some(judged) = claim.judge(mean, neutral) else {
            return Ok(Err("a cell was not measured".into()));
        };
        // The ends of a range are those of cells.
        let stat = |mean: &f64| {
            let cell = claim.cells().iter().filter_map(|cell| stats.get(cell));
            cell.copied().find(|s| s.mean == *mean).unwrap_or(Stat { mean: *mean, sd: None })
        };
        Ok(Ok(Judged {
            measured: judged.measured.iter().map(stat).collect(),
            verdict: judged.verdict,
            reference_met: judged.reference_met,
        }))
    }
}

struct Judged {
    measured: Vec<Stat>,
    verdict: Option<Verdict>,
    reference_met: Option<bool>,
}

/// What a claim states, for readers: what was printed, its tolerance, the reference.
fn stated(
    claim: &Claim,
    experiment: &Experiment,
) -> (Published, Option<String>, Option<Reference>) {
    let reference = |value: Vec<f64>, band: &str| Reference { value, band: band.into(), met: None };
    let toleranced = |exact: bool, text: &str| (!exact).then(|| text.to_owned());
    match &claim.statement {
        Statement::Number { published, reference: found, .. } => (
            published.as_ref().map_or(Published::Nothing, |(number, _)| Published::Number(*number)),
            published.as_ref().map(|(_, tolerance)| tolerance.text().to_owned()),
            found.as_ref().map(|(number, band)| reference(vec![*number], band.text())),
        ),
        Statement::Range { published, tolerance, reference: found, .. } => (
            Published::Range(*published),
            Some(tolerance.text().to_owned()),
            found.as_ref().map(|(range, band)| reference(range.to_vec(), band.text())),
        ),
        Statement::Order { cells, tolerance } => {
            let names: Vec<_> =
                cells.iter().map(|cell| differing(experiment, cells, cell)).collect();
            let tolerance = toleranced(tolerance.is_exact(), tolerance.text());
            (Published::Words(names.join(" < ")), tolerance, None)
        }
        Statement::Trend { trend, tolerance, .. } => {
            let words = match trend {
                crate::claim::Trend::Rises => "rises",
                crate::claim::Trend::Falls => "falls",
                crate::claim::Trend::Flat => "stays",
            };
            let tolerance = toleranced(tolerance.is_exact(), tolerance.text());
            (Published::Words(words.into()), tolerance, None)
        }
    }
}

/// What a cell is called among some.
fn differing(experiment: &Experiment, cells: &[Cell], cell: &Cell) -> String {
    let same = |axis: &usize| cells.iter().all(|other| other.0[*axis] == cell.0[*axis]);
    let but: Vec<_> = (0..cell.0.len()).filter(same).collect();
    experiment.axes.title(cell, &but)
}

impl Report {
    /// What was measured of every cell, where nothing is claimed: a header, and a row a cell.
    #[must_use]
    pub fn survey(&self) -> Option<(Vec<String>, Vec<Vec<String>>)> {
        if !self.claims.is_empty() {
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

impl ClaimReport {
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

/// How many claims came to which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Within the tolerance.
    pub reproduced: usize,
    /// Right in order or sign.
    pub direction: usize,
    /// Neither.
    pub not: usize,
    /// Without their input.
    pub skipped: usize,
    /// Reproducible by nobody.
    pub unreachable: usize,
    /// References that were met.
    pub references_met: usize,
    /// References that were missed.
    pub references_missed: usize,
}

impl Counts {
    /// Counts the claims of some experiments.
    pub fn of<'a>(reports: impl IntoIterator<Item = &'a Report>) -> Self {
        let mut counts = Self::default();
        for claim in reports.into_iter().flat_map(|report| &report.claims) {
            match claim.verdict {
                Some(Verdict::Reproduced) => counts.reproduced += 1,
                Some(Verdict::Direction) => counts.direction += 1,
                Some(Verdict::Not) => counts.not += 1,
                Some(Verdict::Skipped) => counts.skipped += 1,
                Some(Verdict::Unreachable) => counts.unreachable += 1,
                None => {}
            }
            match claim.reference.as_ref().and_then(|reference| reference.met) {
                Some(true) => counts.references_met += 1,
                Some(false) => counts.references_missed += 1,
                None => {}
            }
        }
        counts
    }
}
