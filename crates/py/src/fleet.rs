//! Fleets: a part of the volumes run, and parts summed up.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use thermocline_sim::{SimError, result::StoredResult};
use thermocline_study::{
    fleet::Fleet,
    in_results,
    settings::{compare::CompareSettings, table::Group},
};
use thermocline_sweep::{
    Setting, Settings,
    fleet::{Sample, summarize},
};

use crate::{
    InMemory, Listener, Words,
    errors::InputError,
    given,
    memory::Named,
    sweep::Pairs,
    table::{Rows, Table},
    work::done,
    wrong,
};

/// The first columns of a fleet's table.
const ASKED: [&str; 4] = ["trace", "volume", "policy", "seed"];

/// A policy on a volume: its write amplification with each seed, the pages written, and the erases behind it.
type Told = (Vec<f64>, u64, u64);

/// The results of a part of a fleet.
#[derive(Serialize, Deserialize)]
struct Part {
    /// Settings, then a result or why there is none.
    rows: Vec<(Pairs, Option<StoredResult>, Option<String>)>,
    /// The policies, and whether they can be chosen.
    policies: Vec<(String, bool)>,
    /// The volumes, and each policy on them.
    samples: Vec<(String, Vec<Told>)>,
    failed: usize,
}

/// Runs policies on every volume of a part, each as a device, as JSON. Its volumes are of the traces `names`,
/// where the paths of `words` are others.
#[pyfunction]
pub fn fleet(
    py: Python<'_>,
    words: Words,
    names: HashMap<PathBuf, String>,
    traces: InMemory,
    listener: Listener,
) -> PyResult<String> {
    let mut settings = CompareSettings::of(given(&words)).map_err(wrong)?;
    // Whoever passes volumes one by one has chosen them.
    settings.many.which.min_volume.get_or_insert(0);
    done(py, &Named::of(traces), listener.as_ref(), |context| {
        let mut rows = Vec::new();
        let ended = Fleet::of(&settings, context)?.run(context, |settings, result| {
            let pair = |s: &Setting| (s.option.clone(), s.value.clone());
            let mut pairs: Pairs = settings.0.iter().map(pair).collect();
            for (_, value) in pairs.iter_mut().filter(|(option, _)| option == ASKED[0]) {
                let name = value.as_ref().and_then(|path| names.get(&PathBuf::from(path)));
                *value = name.cloned().or_else(|| value.take());
            }
            let (result, error) = match result {
                Ok(mut result) => {
                    let asked = pairs.first().and_then(|(_, name)| name.clone());
                    if let Some(name) = asked {
                        let volume = pairs.get(1).and_then(|(_, volume)| volume.clone());
                        let volume = in_results("volume", &volume.unwrap_or_default());
                        result.name_trace(&format!("{name} {volume}"));
                    }
                    (Some(result), None)
                }
                Err(error) => (None, Some(error)),
            };
            rows.push((pairs, result, error));
            Ok::<_, SimError>(())
        })?;
        let of = |sample: Sample| (sample.write_amplification, sample.pages, sample.erases);
        let samples = ended.samples.into_iter();
        let samples = samples.map(|(name, all)| (name, all.into_iter().map(of).collect()));
        let (policies, failed) = (ended.policies, ended.failed);
        let part = Part { rows, policies, samples: samples.collect(), failed };
        serde_json::to_string(&part).map_err(|e| SimError::Failed(e.to_string()))
    })
}

/// Parts of a fleet, summed up: of each volume and policy a few numbers stay.
#[pyclass(frozen, module = "thermocline._native")]
#[derive(Default)]
pub struct Summing(Mutex<Sums>);

#[derive(Default)]
struct Sums {
    policies: Vec<(String, bool)>,
    /// The volumes of each part, by its number.
    parts: Vec<Vec<(String, Vec<Sample>)>>,
    failed: usize,
}

#[pymethods]
impl Summing {
    /// Of this many parts.
    #[new]
    fn new(parts: usize) -> Self {
        let sums = Sums::default();
        Self(Mutex::new(Sums { parts: (0..parts).map(|_| Vec::new()).collect(), ..sums }))
    }

    /// Adds a part, by its number. Its rows.
    fn add(&self, part: usize, told: &str) -> PyResult<Table> {
        let told: Part =
            serde_json::from_str(told).map_err(|e| InputError::new_err(e.to_string()))?;
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sums.policies.is_empty() {
            sums.policies = told.policies;
        } else {
            let both = sums.policies.iter_mut().zip(told.policies);
            both.for_each(|(one, (_, possible))| one.1 &= possible);
        }
        let of =
            |(write_amplification, pages, erases)| Sample { write_amplification, pages, erases };
        let samples = told.samples.into_iter();
        let samples = samples.map(|(name, all)| (name, all.into_iter().map(of).collect()));
        if let Some(place) = sums.parts.get_mut(part) {
            *place = samples.collect();
        }
        sums.failed += told.failed;
        let count = told.rows.len();
        let all = told.rows;
        let rows: Arc<Rows> = Arc::new(move |at| {
            let (pairs, result, error) = all[at].clone();
            let settings =
                pairs.into_iter().map(|(option, value)| Setting { option, value }).collect();
            (String::new(), Settings(settings), result.ok_or(error.unwrap_or_default()))
        });
        Ok(Table::new(ASKED.map(str::to_owned).into(), false, (0..count).collect(), rows))
    }

    /// Of each policy what `thermocline compare --per-volume --json` prints; and how many volumes failed.
    fn summaries(&self) -> PyResult<(String, usize)> {
        let sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let volumes: Vec<_> = sums.parts.iter().flatten().cloned().collect();
        let summaries = summarize(&sums.policies, &volumes);
        let told = serde_json::to_string(&summaries);
        Ok((told.map_err(|e| InputError::new_err(e.to_string()))?, sums.failed))
    }
}
