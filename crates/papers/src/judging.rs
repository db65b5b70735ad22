//! Judges every claim by the results of the runs.

use std::collections::BTreeMap;

use crate::{
    axes::Cell,
    claim::{Claim, Statement, Trend},
    error::PaperError,
    experiment::Experiment,
    plan::{Cells, Outcome, Plan, Planned},
    record::{Change, Record},
    report::{CellReport, ClaimReport, Published, ReadingReport, Reference, Report},
    statistics::Stat,
    verdict::Verdict,
};

impl Plan<'_> {
    /// Judges all experiments by the outcomes of the runs, which are in the order of
    /// [`Plan::runs`].
    ///
    /// # Errors
    /// [`PaperError`] if a measure does not fit the results.
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
            surveys: experiment.is_survey(),
        };
        report.gone = record.gone(&report).map(str::to_owned).collect();
        Ok(report)
    }

    /// The measured values of every cell, as far as available.
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
                // Cells compared with a cell that is not needed are not needed either.
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
            kind: claim.kind(),
            ours: claim.ours,
            part_of: claim.part_of,
            measure: measure.title.clone(),
            unit: measure.unit.clone(),
            published,
            tolerance,
            because: claim.because.clone(),
            reference,
            measured: Vec::new(),
            verdict: None,
            otherwise: None,
            why: claim.unreachable.clone().or_else(|| claim.remark.clone()),
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

    /// Judges a claim by the runs of these cells, or returns why it was skipped.
    fn judged(
        &self,
        claim: &Claim,
        cells: &Cells,
        outcomes: &[Outcome],
    ) -> Result<Result<Judged, String>, PaperError> {
        let mut stats: BTreeMap<&Cell, Stat> = BTreeMap::new();
        for cell in claim.needs() {
            match self.values(cells, outcomes, &claim.measure, cell)? {
                Ok(values) => {
                    stats.insert(cell, Stat::of(&values));
                }
                Err(why) if claim.cells().contains(cell) => return Ok(Err(why)),
                // Only the direction would have needed it.
                Err(_) => {}
            }
        }
        let neutral = self.experiment.measure(&claim.measure).neutral();
        let mean = |cell: &Cell| stats.get(cell).map(|stat| stat.mean);
        let Some(judged) = claim.judge(mean, neutral) else {
            return Ok(Err("a cell was not measured".into()));
        };
        // The ends of a range are values of cells.
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

/// The statement of a claim for readers: published values, tolerance, reference.
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
        Statement::Mean { published, tolerance, reference: found, .. } => (
            Published::Number(*published),
            Some(tolerance.text().to_owned()),
            found.as_ref().map(|(mean, band)| reference(vec![*mean], band.text())),
        ),
        Statement::Order { cells, tolerance } => {
            let names: Vec<_> =
                cells.iter().map(|cell| differing(experiment, cells, cell)).collect();
            let tolerance = toleranced(tolerance.is_exact(), tolerance.text());
            (Published::Words(names.join(" < ")), tolerance, None)
        }
        Statement::Trend { trend, tolerance, .. } => {
            let words = match trend {
                Trend::Rises => "rises",
                Trend::Falls => "falls",
                Trend::Flat => "stays",
            };
            let tolerance = toleranced(tolerance.is_exact(), tolerance.text());
            (Published::Words(words.into()), tolerance, None)
        }
    }
}

/// The name of a cell among others.
fn differing(experiment: &Experiment, cells: &[Cell], cell: &Cell) -> String {
    let same = |axis: &usize| cells.iter().all(|other| other.0[*axis] == cell.0[*axis]);
    let but: Vec<_> = (0..cell.0.len()).filter(same).collect();
    experiment.axes.title(cell, &but)
}
