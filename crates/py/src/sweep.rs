//! Sweeps: the cells of a grid, single runs, stored results.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use pyo3::{exceptions::PyIndexError, prelude::*};
use serde_json::json;
use thermocline_sim::{SimError, history::History, result::StoredResult};
use thermocline_study::{
    settings::sweep::{Given, SweepSettings, Swept},
    sweep::{self, Asked, Inputs, Session, search as search_all},
};
use thermocline_sweep::{Condition, Setting, Settings, Store};

use crate::{
    InMemory, Listener, columns_of,
    errors::raised,
    memory::Named,
    table::{Rows, Table},
    work::done,
};

/// An option and its value; none for a flag.
pub type Pairs = Vec<(String, Option<String>)>;

/// Traces that cells of this process have read last.
static INPUTS: LazyLock<Inputs> = LazyLock::new(|| Inputs::that_stay_of(2));

/// Options and their values, and the number of seeds.
type Axes = (Vec<(String, Vec<String>)>, u64);

/// Of each cell its digest, or why it cannot be run.
type Digests = Vec<(Option<String>, Option<String>)>;

/// The cells of a grid. Each is made when it is asked for.
#[pyclass(frozen, module = "thermocline._native")]
pub struct Plan(Arc<sweep::Plan>, Axes);

fn settings((axes, seeds): &Axes) -> PyResult<SweepSettings> {
    let given = axes.iter().map(|(option, texts)| {
        Given::of(option, texts.clone(), false)
            .map_err(|why| raised(SimError::Usage(format!("‹{option}›: {why}"))))
    });
    let swept = Swept(given.collect::<PyResult<_>>()?);
    Ok(SweepSettings { file: None, seeds: *seeds, until: None, tolerance: None, swept })
}

impl Plan {
    fn check(&self, at: usize) -> PyResult<()> {
        if at < self.0.count() { Ok(()) } else { Err(PyIndexError::new_err(at)) }
    }
}

#[pymethods]
impl Plan {
    /// A plan that was made before.
    #[staticmethod]
    fn again(axes: Axes, digests: Digests) -> PyResult<Self> {
        let known = |(digest, why): (Option<String>, Option<String>)| {
            digest.ok_or_else(|| why.unwrap_or_default())
        };
        let digests = digests.into_iter().map(known).collect();
        let plan = sweep::Plan::again(&settings(&axes)?, digests).map_err(raised)?;
        Ok(Self(Arc::new(plan), axes))
    }

    /// Its cells go along to other processes; traces do not.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Axes, Digests))> {
        let plan = slf.get();
        let one = |digest: &Result<String, String>| match digest {
            Ok(digest) => (Some(digest.clone()), None),
            Err(why) => (None, Some(why.clone())),
        };
        let digests = plan.0.digests().iter().map(one).collect();
        Ok((slf.get_type().getattr("again")?, (plan.1.clone(), digests)))
    }

    /// How many cells there are.
    fn __len__(&self) -> usize {
        self.0.count()
    }

    /// The name and the settings of a cell.
    fn cell(&self, at: usize) -> PyResult<(String, Pairs)> {
        self.check(at)?;
        let cell = self.0.cell(at);
        Ok((cell.name, cell.settings.0.into_iter().map(|s| (s.option, s.value)).collect()))
    }

    /// The digest of a cell, or why it cannot be run.
    fn digest(&self, at: usize) -> PyResult<(Option<&str>, Option<&str>)> {
        self.check(at)?;
        Ok(match self.0.digest(at) {
            Ok(digest) => (Some(digest), None),
            Err(why) => (None, Some(why)),
        })
    }

    /// The result of a cell that the store has, as JSON.
    fn result(&self, py: Python<'_>, at: usize, folder: PathBuf) -> PyResult<Option<String>> {
        self.check(at)?;
        let result = || Ok(self.0.result(at, &Store::open(&folder)?).map(|r| r.to_string()));
        py.detach(result).map_err(raised)
    }

    /// How the run of a cell went, as JSON, if the store has it.
    fn history(&self, py: Python<'_>, at: usize, folder: PathBuf) -> PyResult<Option<String>> {
        self.check(at)?;
        let history = || Ok(self.0.history(at, &Store::open(&folder)?));
        let history = py.detach(history).map_err(raised)?;
        Ok(history.map(|history| columns_of(&history).to_string()))
    }

    /// Rows of cells: what the store has, or why there is nothing (`errors`, by digest).
    fn table(
        &self,
        folder: PathBuf,
        errors: HashMap<String, String>,
        cells: Vec<usize>,
        digests: bool,
    ) -> PyResult<Table> {
        cells.iter().try_for_each(|at| self.check(*at))?;
        let store = Store::open(&folder).map_err(raised)?;
        let plan = Arc::clone(&self.0);
        let rows: Arc<Rows> = Arc::new(move |at| {
            let digest = plan.digest(at);
            let result = match digest {
                Err(why) => Err(why.to_owned()),
                Ok(digest) => plan.result(at, &store).ok_or_else(|| {
                    let lost = || "its result is not in the store".to_owned();
                    errors.get(digest).cloned().unwrap_or_else(lost)
                }),
            };
            (digest.unwrap_or_default().to_owned(), plan.cell(at).settings, result)
        });
        Ok(Table::new(self.0.options(), digests, cells, rows))
    }
}

/// The cells of a grid. `known` are digests of traces that are elsewhere, by name.
#[pyfunction]
pub fn plan(
    py: Python<'_>,
    axes: Vec<(String, Vec<String>)>,
    seeds: u64,
    known: Vec<(String, String)>,
    traces: InMemory,
    listener: Listener,
) -> PyResult<Plan> {
    let axes = (axes, seeds);
    let settings = settings(&axes)?;
    done(py, &Named::of(traces), listener.as_ref(), |context| {
        Ok(Plan(Arc::new(sweep::plan(&settings, &known, context)?), axes))
    })
}

fn settings_of(pairs: Pairs) -> Settings {
    Settings(pairs.into_iter().map(|(option, value)| Setting { option, value }).collect())
}

/// What came of a cell: its result as JSON, notes on it, and its history as JSON, if it was asked for.
type Ran = (String, Vec<String>, Option<String>);

/// Runs a cell. `version` tells traces of one name apart.
#[pyfunction]
pub fn execute(
    py: Python<'_>,
    pairs: Pairs,
    version: &str,
    history: bool,
    traces: InMemory,
    listener: Listener,
) -> PyResult<Ran> {
    let settings = settings_of(pairs);
    done(py, &Named::of(traces), listener.as_ref(), |context| {
        let done = sweep::execute(&settings, &INPUTS, version, history, context)?;
        let history = done.history.map(|history| json!(history).to_string());
        Ok((done.result.to_string(), done.notes, history))
    })
}

/// Searches for the values from which a condition holds, with what the store has: sentences, the value of each
/// combination of the other settings, and the cells that were tried, as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's side names them")]
pub fn search(
    py: Python<'_>,
    axes: Vec<(String, Vec<String>)>,
    seeds: u64,
    until: &str,
    tolerance: Option<String>,
    folder: PathBuf,
    traces: InMemory,
    listener: Listener,
) -> PyResult<String> {
    let wrong = |why: String| raised(SimError::Usage(format!("‹until›: {why}")));
    let condition = Condition::parse(until).map_err(wrong)?;
    let settings = SweepSettings { tolerance, until: Some(condition), ..settings(&(axes, seeds))? };
    done(py, &Named::of(traces), listener.as_ref(), |context| {
        let (asked, store) = (Asked::of(&settings)?, Store::open(&folder)?);
        let mut session = Session::new(&store, &INPUTS, 0, context);
        let Some(condition) = &settings.until else { unreachable!("it was put there") };
        let found = search_all(condition, &asked, &mut session).map_err(|(error, _)| error)?;
        let tried = found.tried.iter().map(|cell| {
            let pairs = cell.settings.0.iter();
            let settings: serde_json::Map<_, _> = pairs
                .map(|s| {
                    (s.option.clone(), s.value.clone().unwrap_or_else(|| "true".into()).into())
                })
                .collect();
            match session.result(cell) {
                Ok(result) => json!({ "name": cell.name, "settings": settings, "result": result }),
                Err(why) => json!({ "name": cell.name, "settings": settings, "error": why }),
            }
        });
        Ok(json!({
            "sentences": found.searched.sentences,
            "found": found.searched.knees,
            "complete": found.complete,
            "tried": tried.collect::<Vec<_>>(),
            "computed": session.computed(),
            "notes": session.notes(),
        })
        .to_string())
    })
}

/// Whether a store has a result, and its history if that is asked for, and they are whole.
#[pyfunction]
pub fn has(py: Python<'_>, folder: PathBuf, digest: &str, history: bool) -> PyResult<bool> {
    py.detach(|| {
        let store = Store::open(&folder)?;
        Ok(store.has(digest) && (!history || store.history(digest).is_some()))
    })
    .map_err(raised)
}

/// Keeps a result, behind its history, if there is one.
#[pyfunction]
pub fn keep(
    py: Python<'_>,
    folder: PathBuf,
    digest: &str,
    pairs: Pairs,
    result: &str,
    history: Option<&str>,
) -> PyResult<()> {
    let settings = settings_of(pairs);
    py.detach(|| {
        let failed = |error: serde_json::Error| SimError::Failed(error.to_string());
        let result: StoredResult = serde_json::from_str(result).map_err(failed)?;
        let history: Option<History> =
            history.map(serde_json::from_str).transpose().map_err(failed)?;
        let made_by = format!("thermocline run {}", settings.shown());
        let store = Store::open(&folder)?;
        if let Some(history) = history {
            store.put_history(digest, &made_by, &history)?;
        }
        store.put(digest, &made_by, &result)
    })
    .map_err(raised)
}
