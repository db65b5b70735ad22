//! Runs that are watched: an excerpt of each, and a page with several of them side by side.
//!
//! A run is recorded only for this question; a comparison records nothing. Whoever looks on changes no figure.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use serde::Deserialize;
use serde_json::Value;
use thermocline_live::{
    page,
    recorder::{Excerpt, Recorder},
};
use thermocline_policy::victim::Onlooker;
use thermocline_report::names;
use thermocline_sim::{Job, Look, SimError, Watch};
use thermocline_study::{
    Comparison,
    jobs::{self, Extras, Watchers},
    settings::{compare::CompareSettings, input::OneInput, run::SimulationArgs, table::Group},
};
use thermocline_units::split_list;

use crate::{
    ask::{pairs, usage},
    repeat::{self, Setting},
    work::{Eye, Work},
};

/// Bytes of changes that a page holds of each policy, before they are compressed.
const BYTES: usize = 12 << 20;

/// What is recorded of a run.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Part {
    /// Where it begins, as a share of the run.
    from: f64,
    /// How many blocks full of host writes.
    blocks: u32,
}

/// What a worker recorded.
#[derive(Deserialize)]
pub struct Recorded {
    value: Option<Value>,
    error: Option<String>,
}

/// Runs one policy, and records a part of the run.
pub fn run(settings: &[Setting], part: Part, work: &Work) -> Result<Value, SimError> {
    if !(0.0..=1.0).contains(&part.from) || part.blocks == 0 {
        return Err(SimError::Usage(
            "an excerpt begins at a share from 0 to 1, and has blocks".into(),
        ));
    }
    let is_apart = |Setting(name, _): &Setting| name == "victim" || name == "placement";
    if settings.iter().any(is_apart) {
        return Err(SimError::Usage(
            "‹victim› and ‹placement› are named with the policy where runs are watched, as cat(victim=greedy)".into(),
        ));
    }
    let known = pairs(settings).filter(|(name, _)| is_known(name));
    let settings = CompareSettings::of(known.chain([("no-oracle", None)])).map_err(usage)?;
    let cleaning = &settings.simulation.cleaning;
    let several = |texts: &[String]| texts.iter().flat_map(|text| split_list(text)).count() > 1;
    for (name, texts) in [("idle", &cleaning.idle), ("dead-data", &cleaning.dead_data)] {
        if several(texts) {
            let why =
                format!("‹{name}› has one value where runs are watched; leave out the others");
            return Err(SimError::Usage(why));
        }
    }
    let comparison = Comparison::of(&settings, work.context())?;
    let watchers = Watched { work, part, recorder: OnceLock::new() };
    let extras = Extras { watch: Some(&watchers), ..Extras::default() };
    let mut done = comparison.run(extras, work.context())?;
    let row = done.inputs.first_mut().and_then(|input| input.rows.pop());
    let row = row.ok_or_else(|| SimError::Usage("no policy ran; choose others".into()))?;
    let runs = row.runs.map_err(|refused| SimError::Failed(refused.error))?;
    let mut result = runs.first().map_or(Value::Null, |run| run.stable_json());
    if let Some(result) = result.as_object_mut() {
        // The onlooker's is in it.
        result.remove("memory");
    }
    let run = watchers.recorder.get().and_then(|recorder| recorder.finish(&row.policy, &result));
    run.ok_or_else(|| {
        SimError::Failed(format!(
            "{}: the run ended before the excerpt began; let it begin earlier",
            row.policy
        ))
    })
}

/// A page with the runs beside one another.
pub fn page(settings: &[Setting], part: Part, recorded: Vec<Recorded>) -> Result<String, SimError> {
    let mut runs = Vec::new();
    for Recorded { value, error } in recorded {
        if let Some(error) = error {
            return Err(SimError::Failed(error));
        }
        runs.extend(value);
    }
    let named = |name: &str| settings.iter().find(|Setting(it, _)| it == name)?.1.clone();
    let (trace, workload) = (named("trace"), named("workload").unwrap_or_default());
    let input = trace.as_ref().unwrap_or(&workload);
    let on = trace.as_deref().map_or(workload.as_str(), names::file);
    let policies = named("policies").unwrap_or_default();
    let title = format!("{} on {on}", split_list(&policies).join(" and "));
    let own = |name: &str, value: String| Setting(name.into(), Some(value));
    let shared = settings.iter().filter(|Setting(name, _)| is_known(name)).cloned();
    let from = format!("{}%", part.from * 100.0);
    let excerpt = [own("from", from), own("blocks", part.blocks.to_string())];
    let command = repeat::command("watch", &shared.chain(excerpt).collect::<Vec<_>>());
    Ok(page::replay(&title, input, &command, &runs).html)
}

/// Whether `thermocline watch` has a setting; the others are asked of a comparison alone.
fn is_known(name: &str) -> bool {
    let inputs = OneInput::table().iter().map(|field| field.info.name);
    let of_runs = SimulationArgs::table().iter().map(|field| field.info.name);
    name == "policies" || inputs.chain(of_runs).any(|known| known == name)
}

/// Records the run; there is one.
struct Watched<'a> {
    work: &'a Work,
    part: Part,
    recorder: OnceLock<Arc<Recorder>>,
}

impl Watchers for Watched<'_> {
    fn watch(&self, job: &Job<'_>) -> Box<dyn Watch> {
        let eye = self.work.eye();
        if self.recorder.get().is_some() {
            return Box::new(eye);
        }
        let block = job.device.profile.geometry.data_pages_per_block();
        let pages = u64::from(self.part.blocks) * u64::from(block);
        let excerpt = Excerpt::at(self.part.from, pages, jobs::known_pages(job), BYTES);
        let recorder = self.recorder.get_or_init(|| Arc::new(Recorder::new(excerpt)));
        Box::new(Looking { eye, recorder: Arc::clone(recorder) })
    }
}

/// Tells a page how far a run is, and records it.
struct Looking {
    eye: Eye,
    recorder: Arc<Recorder>,
}

impl fmt::Debug for Looking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Looking")
    }
}

impl Watch for Looking {
    fn stride(&self, pages: u64) -> usize {
        self.recorder.stride(pages)
    }

    fn look(&self, now: &Look<'_>) {
        self.eye.look(now);
        let p99 = now.write_response_ns(0.99);
        self.recorder.look(now.inspect, now.geometry, &now.counters, p99);
    }

    fn onlooker(&self) -> Option<Arc<dyn Onlooker>> {
        Some(self.recorder.onlooker())
    }
}
