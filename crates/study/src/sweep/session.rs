//! Cells of a grid and their results: from the store, or computed now.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use thermocline_sim::{SimError, result::StoredResult};
use thermocline_sweep::{Cell, Store, Work, digest::Contents, run_all};

use super::{digest_of, name_trace};
use crate::{
    Context, jobs,
    kept::{Kept, TOO_SMALL},
    run::Run,
    settings::{run::RunSpec, table::Group},
    simulation::{Executed, Inputs, Simulation},
    usage,
};

/// Results that this command asked for.
pub struct Session<'a> {
    store: &'a Store,
    inputs: &'a Inputs,
    threads: usize,
    context: Context<'a>,
    contents: Contents,
    /// The state of each cell, by its words.
    known: HashMap<String, Known>,
    news: Mutex<News>,
}

/// The state of a cell before it is run.
enum Known {
    /// Its digest.
    As(String),
    /// It cannot run.
    Not(String),
}

/// Results of cells that were run.
#[derive(Default)]
struct News {
    computed: usize,
    /// By digests.
    failures: HashMap<String, String>,
    notes: BTreeSet<String>,
}

/// A cell that must be run.
struct Task<'a> {
    cell: &'a Cell,
    digest: String,
}

impl<'a> Session<'a> {
    /// Knows only the store's results yet.
    pub fn new(store: &'a Store, inputs: &'a Inputs, threads: usize, context: Context<'a>) -> Self {
        Self {
            store,
            inputs,
            threads,
            context,
            contents: Contents::default(),
            known: HashMap::new(),
            news: Mutex::default(),
        }
    }

    /// Runs cells that the store does not have. A cell that fails does not stop the others; a common
    /// cause does.
    pub fn ensure(&mut self, cells: &[Cell]) -> Result<(), SimError> {
        let (mut tasks, mut jobs) = (Vec::<Task<'_>>::new(), Vec::new());
        let (mut planned, mut first_wrong) = (BTreeSet::new(), None);
        let mut wrong = 0;
        for cell in cells {
            let args = Self::settings(cell)?;
            let known = match self.understand(cell, args) {
                Ok((digest, job)) => {
                    let failed = self.news().failures.contains_key(&digest);
                    if !failed && !self.store.has(&digest) && planned.insert(digest.clone()) {
                        tasks.push(Task { cell, digest: digest.clone() });
                        jobs.push(job);
                    }
                    Known::As(digest)
                }
                Err(SimError::Interrupted) => {
                    return Err(SimError::Interrupted);
                }
                Err(failure) => {
                    wrong += 1;
                    let why = self.context.words(&failure);
                    first_wrong.get_or_insert(failure);
                    Known::Not(why)
                }
            };
            self.known.insert(cell.settings.shown(), known);
        }
        if let Some(failure) = first_wrong.filter(|_| wrong == cells.len()) {
            return Err(failure);
        }
        for cell in cells {
            if let Some(Known::Not(why)) = self.known.get(&cell.settings.shown()) {
                tell(cell, why, self.context);
            }
        }
        let work = Arc::new(Work::default());
        let bar = self.context.jobs(Arc::clone(&work));
        let take = |at: usize, ran: Result<Executed, SimError>| self.take(&tasks[at], ran);
        let ended = run_all(&jobs, self.threads, self.context.progress(), &work, take);
        drop(bar);
        ended
    }

    /// The settings as a run parses them; an invalid one is an error of the sweep.
    fn settings(cell: &Cell) -> Result<RunSpec, SimError> {
        RunSpec::of(cell.settings.given()).map_err(|error| {
            let of = if cell.name.is_empty() { String::new() } else { format!("{}: ", cell.name) };
            usage(format!("{of}{error}"))
        })
    }

    /// Whether a cell can be run, as far as known before its input is read.
    pub(super) fn understood(cell: &Cell, context: Context<'_>) -> Result<(), SimError> {
        let mut settings = Self::settings(cell)?;
        // Which device a trace has by default shows when it is read.
        settings.simulation.device.shape.device.get_or_insert_with(|| jobs::DEFAULT.into());
        Run::of(&settings, context).map(drop)
    }

    fn understand(
        &mut self,
        cell: &Cell,
        args: RunSpec,
    ) -> Result<(String, Simulation<'a>), SimError> {
        let job = Simulation::of(args, self.inputs, self.context)?;
        Ok((digest_of(&cell.settings, &mut self.contents, self.context)?, job))
    }

    /// Keeps what came of a cell.
    fn take(&self, task: &Task<'_>, ran: Result<Executed, SimError>) -> Result<(), SimError> {
        let failure = match ran {
            Ok(Executed { result, notes, .. }) => {
                let made_by = format!("thermocline run {}", task.cell.settings.shown());
                self.store.put(&task.digest, &made_by, &result)?;
                let mut news = self.news();
                news.computed += 1;
                news.notes.extend(notes);
                return Ok(());
            }
            Err(SimError::TooSmall(_)) => {
                let made_by = format!("thermocline run {}", task.cell.settings.shown());
                self.store.put(&task.digest, &made_by, &Kept::<StoredResult>::TOO_SMALL)?;
                self.news().computed += 1;
                return Ok(());
            }
            Err(failure) => failure,
        };
        if matches!(failure, SimError::Interrupted | SimError::Broken(_)) {
            return Err(failure);
        }
        let why = self.context.words(&failure);
        tell(task.cell, &why, self.context);
        self.news().failures.insert(task.digest.clone(), why);
        Ok(())
    }

    /// The result of a cell, or why there is none. The trace has its name in the request.
    pub fn result(&self, cell: &Cell) -> Result<StoredResult, String> {
        if let Some(why) = self.failure(cell) {
            return Err(why);
        }
        match self.kept_of(cell).ok_or("its result is not in the store any more")? {
            Kept::Excluded(_) => Err(TOO_SMALL.to_owned()),
            Kept::Done(mut result) => {
                name_trace(&mut result, cell);
                Ok(result)
            }
        }
    }

    /// Whether a cell was left out, because its volume is too small.
    pub fn is_left_out(&self, cell: &Cell) -> bool {
        matches!(self.kept_of(cell), Some(Kept::Excluded(_)))
    }

    fn kept_of(&self, cell: &Cell) -> Option<Kept<StoredResult>> {
        self.store.get(self.digest(cell)?)
    }

    /// Why a cell has no result.
    pub fn failure(&self, cell: &Cell) -> Option<String> {
        match self.known.get(&cell.settings.shown())? {
            Known::Not(why) => Some(why.clone()),
            Known::As(digest) => self.news().failures.get(digest).cloned(),
        }
    }

    fn digest(&self, cell: &Cell) -> Option<&str> {
        match self.known.get(&cell.settings.shown())? {
            Known::As(digest) => Some(digest),
            Known::Not(_) => None,
        }
    }

    /// The number of these cells with a result.
    pub fn kept(&self, cells: &[Cell]) -> usize {
        let kept = |cell: &&Cell| self.digest(cell).is_some_and(|digest| self.store.has(digest));
        cells.iter().filter(kept).count()
    }

    /// The store.
    pub fn store(&self) -> &Store {
        self.store
    }

    /// The number of cells computed by this command.
    pub fn computed(&self) -> usize {
        self.news().computed
    }

    /// Caveats of the computed cells, each once.
    pub fn notes(&self) -> Vec<String> {
        self.news().notes.iter().cloned().collect()
    }

    fn news(&self) -> std::sync::MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says at once that a cell failed.
fn tell(cell: &Cell, why: &str, context: Context<'_>) {
    match cell.name.as_str() {
        "" => context.failure(why),
        name => context.failure(&format!("{name}: {why}")),
    }
}
