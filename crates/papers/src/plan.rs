//! The runs needed by some experiments, without duplicates.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    axes::Cell,
    error::{PaperError, Wrong},
    experiment::{Experiment, Reading},
    settings::Settings,
};

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its settings.
    pub settings: Settings,
    /// The first file and cell that need it, for messages.
    pub wanted_by: String,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Its result.
    Done(Value),
    /// An input is missing; why.
    Missing(String),
}

/// The runs of some experiments, with equal ones merged.
pub struct Plan<'a> {
    pub(crate) experiments: Vec<Planned<'a>>,
    runs: Vec<Run>,
}

/// An experiment and its runs.
pub(crate) struct Planned<'a> {
    pub experiment: &'a Experiment,
    /// Runs by the experiment's own interpretation.
    pub base: Cells,
    /// Runs by each other interpretation.
    pub readings: Vec<(&'a Reading, Cells)>,
}

/// The indices of the runs of each cell, one a seed.
pub(crate) type Cells = BTreeMap<Cell, Vec<usize>>;

impl<'a> Plan<'a> {
    /// Plans experiments, with or without their other interpretations.
    pub fn of(experiments: impl IntoIterator<Item = &'a Experiment>, readings: bool) -> Self {
        let mut plan = Self { experiments: Vec::new(), runs: Vec::new() };
        let mut known = BTreeMap::new();
        for experiment in experiments {
            let claimed = claimed(experiment);
            let mut all = claimed.clone();
            all.extend(drawn(experiment));
            if experiment.is_survey() {
                all.extend(experiment.cells());
            }
            all.sort();
            all.dedup();
            let base = plan.cells(experiment, None, &all, &mut known);
            let others = if readings { &experiment.readings[..] } else { &[] };
            let readings = others.iter().map(|reading| {
                (reading, plan.cells(experiment, Some(reading), &claimed, &mut known))
            });
            let readings = readings.collect();
            plan.experiments.push(Planned { experiment, base, readings });
        }
        plan
    }

    fn cells(
        &mut self,
        experiment: &Experiment,
        reading: Option<&Reading>,
        cells: &[Cell],
        known: &mut BTreeMap<Settings, usize>,
    ) -> Cells {
        let mut planned = Cells::new();
        for cell in cells {
            let runs = experiment.runs(cell, reading).map(|(seed, settings)| {
                *known.entry(settings).or_insert_with_key(|settings| {
                    let mut wanted_by = vec![experiment.axes.name(cell, &[])];
                    wanted_by.extend(reading.map(|reading| format!("reading {}", reading.name)));
                    wanted_by.extend((experiment.seeds() > 1).then(|| format!("seed {seed}")));
                    wanted_by.retain(|part| !part.is_empty());
                    let wanted_by = format!("{} ({})", experiment.file, wanted_by.join("; "));
                    self.runs.push(Run { settings: settings.clone(), wanted_by });
                    self.runs.len() - 1
                })
            });
            let runs = runs.collect();
            planned.insert(cell.clone(), runs);
        }
        planned
    }

    /// The runs to execute.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }
}

/// The cells needed by claims, and those they are compared with.
fn claimed(experiment: &Experiment) -> Vec<Cell> {
    let mut cells = Vec::new();
    for claim in &experiment.claims {
        let measure = experiment.measure(&claim.measure);
        for cell in claim.needs() {
            cells.push(cell.clone());
            cells.extend(measure.other(cell));
        }
    }
    cells.sort();
    cells.dedup();
    cells
}

/// The cells needed by figures, and those they are compared with.
fn drawn(experiment: &Experiment) -> Vec<Cell> {
    let mut cells = Vec::new();
    for figure in &experiment.figures {
        let measure = experiment.measure(&figure.measure);
        let shown = figure.cells().into_iter().filter(|cell| experiment.has(cell));
        for cell in shown {
            let other = measure.other(&cell);
            // A cell whose comparison does not exist has no value.
            if other.as_ref().is_none_or(|other| experiment.has(other)) {
                cells.extend(other);
                cells.push(cell);
            }
        }
    }
    cells
}

impl Planned<'_> {
    /// A measure of a cell for each seed, or why there is none.
    pub fn values(
        &self,
        cells: &Cells,
        outcomes: &[Outcome],
        measure: &str,
        cell: &Cell,
    ) -> Result<Result<Vec<f64>, String>, PaperError> {
        let measure = self.experiment.measure(measure);
        let Some(runs) = cells.get(cell) else { return Ok(Err("it was not run".into())) };
        let other = measure.other(cell);
        let others = other.as_ref().and_then(|other| cells.get(other));
        let mut values = Vec::new();
        for (seed, run) in runs.iter().enumerate() {
            let theirs = others.map(|others| &outcomes[others[seed]]);
            let (ours, theirs) = match (&outcomes[*run], theirs) {
                (Outcome::Missing(why), _) | (_, Some(Outcome::Missing(why))) => {
                    return Ok(Err(why.clone()));
                }
                (Outcome::Done(ours), None) => (ours, None),
                (Outcome::Done(ours), Some(Outcome::Done(theirs))) => (ours, Some(theirs)),
            };
            let value = measure.value(ours, theirs);
            let value = value.and_then(|value| match value.is_finite() {
                true => Ok(value),
                false => Err(Wrong::new("it is not finite", "correct the expression")),
            });
            values.push(value.map_err(|wrong| {
                wrong
                    .within(&self.experiment.axes.name(cell, &[]))
                    .within(&format!("measure {}", measure.name))
                    .of(&self.experiment.file)
            })?);
        }
        Ok(Ok(values))
    }
}
