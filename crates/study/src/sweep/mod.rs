//! A grid of settings: its cells, their digests and results.
//!
//! [`plan`] lists the cells of a sweep, [`execute`] runs one of them from its words alone, on any machine;
//! both identify a cell by the same digest. A [`Session`] runs all cells on this machine, with a store.

mod asked;
mod search;
mod session;

use std::path::Path;

use thermocline_sim::{SimError, history::History, result::StoredResult};
use thermocline_sweep::{Cell, Grid, Job as _, Setting, Settings, Store, digest::Contents};

pub use self::{
    asked::{Asked, SEED},
    search::{Outcome, search},
    session::Session,
};
pub use crate::simulation::{Executed, Inputs};
use crate::{
    Context,
    kept::Kept,
    settings::{run::RunSpec, sweep::SweepSettings, table::Group},
    simulation::Simulation,
};

/// The cells of a sweep, made when they are asked for: of each only its digest is kept.
pub struct Plan {
    asked: Asked,
    grid: Grid,
    digests: Vec<Result<String, String>>,
}

impl Plan {
    /// A plan made earlier from the same settings, without reading the inputs again.
    ///
    /// # Errors
    /// What is wrong with all cells.
    pub fn again(
        settings: &SweepSettings,
        digests: Vec<Result<String, String>>,
    ) -> Result<Self, SimError> {
        let asked = Asked::of(settings)?;
        Ok(Self { grid: asked.whole(), asked, digests })
    }

    /// The digest of each cell, or why it cannot run.
    pub fn digests(&self) -> &[Result<String, String>] {
        &self.digests
    }

    /// The number of cells.
    #[must_use]
    pub fn count(&self) -> usize {
        self.digests.len()
    }

    /// A cell, by its place in the grid; the seeds turn fastest.
    #[must_use]
    pub fn cell(&self, at: usize) -> Cell {
        let mut cells = self.asked.without_foreign(vec![self.grid.cell(at)]);
        let Some(cell) = cells.pop() else { unreachable!("it was put there") };
        cell
    }

    /// The digest of a cell.
    ///
    /// # Errors
    /// Why it cannot run.
    pub fn digest(&self, at: usize) -> Result<&str, &str> {
        self.digests[at].as_deref().map_err(String::as_str)
    }

    /// Every option that some cell sets, the first columns of a table.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        self.asked.options()
    }

    /// The course of a cell, if the store has it.
    #[must_use]
    pub fn history(&self, at: usize, store: &Store) -> Option<History> {
        store.history(self.digest(at).ok()?)
    }

    /// The result of a cell, if the store has it. The trace has its name in the request.
    #[must_use]
    pub fn result(&self, at: usize, store: &Store) -> Option<StoredResult> {
        match store.get(self.digest(at).ok()?)? {
            Kept::Excluded(_) => None,
            Kept::Done(mut result) => {
                name_trace(&mut result, &self.cell(at));
                Some(result)
            }
        }
    }
}

/// Plans every cell of a sweep without running any. `known` has digests of traces that are not here, by name.
///
/// # Errors
/// What is wrong with all of them.
pub fn plan(
    settings: &SweepSettings,
    known: &[(String, String)],
    context: Context<'_>,
) -> Result<Plan, SimError> {
    let mut contents = Contents::default();
    for (name, digest) in known {
        contents.know(Path::new(name), digest);
    }
    let asked = Asked::of(settings)?;
    let mut plan = Plan { grid: asked.whole(), asked, digests: Vec::new() };
    let mut first_wrong = None;
    // Seeds turn fastest: what differs by its seed alone is understood once.
    let mut understood = Vec::new();
    for at in 0..plan.grid.count() {
        context.check()?;
        let cell = plan.cell(at);
        let but_seed = cell.settings.0.iter().filter(|setting| setting.option != SEED).cloned();
        let but_seed: Vec<_> = but_seed.collect();
        let known =
            if but_seed == understood { Ok(()) } else { Session::understood(&cell, context) };
        if known.is_ok() {
            understood = but_seed;
        }
        let digest = known.and_then(|()| digest_of(&cell.settings, &mut contents, context));
        if matches!(digest, Err(SimError::Interrupted)) {
            return Err(SimError::Interrupted);
        }
        plan.digests.push(digest.map_err(|error| {
            let why = context.words(&error);
            first_wrong.get_or_insert(error);
            why
        }));
    }
    match first_wrong.filter(|_| plan.digests.iter().all(Result::is_err)) {
        Some(wrong) => Err(wrong),
        None => Ok(plan),
    }
}

/// Runs one simulation, with its history or without. What `inputs` keeps is not read again; `version` distinguishes
/// its contents from others of the same name.
///
/// # Errors
/// Why there is no result.
pub fn execute(
    settings: &Settings,
    inputs: &Inputs,
    version: &str,
    history: bool,
    context: Context<'_>,
) -> Result<Executed, SimError> {
    let settings = RunSpec::of(settings.given())?;
    let simulation = Simulation::of_version(settings, version, inputs, context)?;
    let simulation = simulation.with_history(history);
    let input = simulation.prepare()?;
    simulation.run(&input)
}

/// A result of the store has the trace's name of the run that made it.
fn name_trace(result: &mut StoredResult, cell: &Cell) {
    if let Some(name) = cell.settings.value("trace") {
        result.name_trace(&name);
    }
}

/// The digest of a result: its settings in canonical form, and the contents of its trace, in a file or in memory.
fn digest_of(
    settings: &Settings,
    contents: &mut Contents,
    context: Context<'_>,
) -> Result<String, SimError> {
    let mut spec = RunSpec::of(settings.given())?;
    let in_memory = spec.one.input.trace.take_if(|trace| {
        context.traces().is_some_and(|traces| traces.has(&trace.to_string_lossy()))
    });
    let mut all: Vec<_> =
        spec.given().into_iter().map(|(name, value)| Setting::new(name, value)).collect();
    if let (Some(trace), Some(traces)) = (in_memory, context.traces()) {
        let reading = spec.simulation.reading.options();
        let digest = traces.digest(&trace.to_string_lossy(), &reading);
        let gone = || SimError::Input(format!("{}: it is not there any more", trace.display()));
        all.push(Setting::new("trace-in-memory", digest.ok_or_else(gone)??));
    }
    contents.of_job(&Settings(all), context.progress())
}
