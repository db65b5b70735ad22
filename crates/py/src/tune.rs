//! A search whose candidates an optimizer in Python proposes.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use serde_json::json;
use thermocline_sim::SimError;
use thermocline_study::{
    settings::sweep::{Given, Swept},
    tune::{
        Candidate, Dimension, Sampler, Space, TuneSettings, aim, tune as tuned_by_itself, tune_by,
    },
};

use crate::{InMemory, Listener, errors::raised, memory::Named, work::done};

/// An object with `begin(space)`, `ask()` and `tell(policy, common, parameters, score)`.
struct Proposer {
    object: Py<PyAny>,
    /// The number of values of each choice: policies, common settings, and each policy's parameters.
    sizes: (Vec<usize>, Vec<Vec<usize>>),
    /// The object's exception.
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl Proposer {
    fn call<T>(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T, SimError> {
        Python::attach(|py| call(self.object.bind(py))).map_err(|error| {
            let text = error.to_string();
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            SimError::Failed(text)
        })
    }

    fn knows(&self, candidate: &Candidate) -> bool {
        let (common, policies) = &self.sizes;
        let within = |sizes: &Vec<usize>, chosen: &Vec<usize>| {
            sizes.len() == chosen.len() && sizes.iter().zip(chosen).all(|(size, at)| at < size)
        };
        let parameters = policies.get(candidate.policy);
        within(common, &candidate.common)
            && parameters.is_some_and(|sizes| within(sizes, &candidate.parameters))
    }
}

impl Sampler for Proposer {
    fn begin(&mut self, space: &Space, kept: &[usize], seed: u64) -> Result<(), SimError> {
        let sizes = |all: &[Dimension]| all.iter().map(|one| one.values.len()).collect();
        let policies = space.policies.iter().map(|choice| sizes(&choice.parameters)).collect();
        self.sizes = (sizes(&space.common), policies);
        let told = json!({
            "kept": kept, "seed": seed, "common": space.common, "policies": space.policies,
        });
        self.call(|object| object.call_method1("begin", (told.to_string(),)).map(drop))
    }

    fn ask(&mut self) -> Result<Candidate, SimError> {
        let (policy, common, parameters) =
            self.call(|object| object.call_method0("ask")?.extract())?;
        let candidate = Candidate { policy, common, parameters };
        if self.knows(&candidate) {
            Ok(candidate)
        } else {
            Err(SimError::Failed(format!("there is no candidate {candidate:?}")))
        }
    }

    fn tell(&mut self, candidate: &Candidate, score: Option<f64>) -> Result<(), SimError> {
        let Candidate { policy, common, parameters } = candidate.clone();
        let told = (policy, common, parameters, score);
        self.call(|object| object.call_method1("tell", told).map(drop))
    }
}

/// Searches with the candidates of `proposer`: what `thermocline tune --json` prints.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are the options of `tune`")]
pub fn tune(
    py: Python<'_>,
    axes: Vec<(String, Vec<String>)>,
    asked_aim: &str,
    numbers: (usize, f64, f64),
    no_parameters: bool,
    threads: usize,
    proposer: Option<Py<PyAny>>,
    traces: InMemory,
    listener: Listener,
) -> PyResult<String> {
    let wrong = |why: String| raised(SimError::Usage(why));
    let given = axes.into_iter().map(|(option, texts)| {
        Given::of(&option, texts, false).map_err(|why| wrong(format!("‹{option}›: {why}")))
    });
    let swept = Swept(given.collect::<PyResult<_>>()?);
    let aim = aim(asked_aim).map_err(wrong)?;
    let (budget, part, price) = numbers;
    let settings = TuneSettings { aim, budget, part, price, no_parameters, threads, swept };
    let broken = Arc::new(Mutex::new(None));
    let mut proposer = proposer.map(|object| Proposer {
        object,
        sizes: Default::default(),
        raised: Arc::clone(&broken),
    });
    let tuned = done(py, &Named::of(traces), listener.as_ref(), |context| {
        let tuned = match &mut proposer {
            Some(proposer) => tune_by(&settings, proposer, context)?,
            None => tuned_by_itself(&settings, context)?,
        };
        serde_json::to_string(&tuned).map_err(|e| SimError::Failed(e.to_string()))
    });
    let broken = broken.lock().unwrap_or_else(PoisonError::into_inner).take();
    match broken {
        Some(error) => Err(error),
        None => tuned,
    }
}
