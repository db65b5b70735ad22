//! The next measurement: the workload under which the remaining models differ most.

use thermocline_sim::{Fill, Progress, SimError, Workload, compare_each};
use thermocline_trace::generate::PatternSpec;
use thermocline_units::format_size;

use crate::{
    MeasuredRun, Model, Ranked, RunInput,
    curve::Curve,
    model::{Drives, LEAST_PAGES},
};

/// Maximum number of models to distinguish.
const MODELS: usize = 4;
/// Capacities that the host writes.
const CAPACITIES: u64 = 4;
/// Minimum relative difference between models for a useful measurement.
const LEAST: f64 = 0.03;
/// Bytes of the requests that fill zones.
const ZONE_REQUEST: u64 = 512 << 10;

/// A measurement that would distinguish models.
#[derive(Clone, Debug)]
pub struct Next {
    /// The workload.
    pub workload: String,
    /// Bytes of a request, if not a page.
    pub request_bytes: Option<u64>,
    /// How to fill the drive before.
    pub state: &'static str,
    /// Number of capacities to write.
    pub capacities: u64,
    /// Write amplification predicted by each model in the last quarter, without the overhead.
    pub predicted: Vec<(String, f64)>,
    /// Relative range of the predictions: the largest over the lowest, minus 1.
    pub differs: f64,
}

/// Measurements that distinguish the models that are as good as the best, the best measurement
/// first, and the number of simulations used.
pub(crate) fn measurements(
    ranking: &[Ranked],
    drives: &Drives,
    threads: usize,
    progress: &Progress,
) -> Result<(Vec<Next>, usize), SimError> {
    let models = left(ranking);
    if models.len() < 2 {
        return Ok((Vec::new(), 0));
    }
    let runs: Vec<_> = workloads(&ranking[0].fit.model, drives)
        .into_iter()
        .filter_map(|one| {
            let (text, request) = one;
            Some((run(&text, request, drives)?, text, request))
        })
        .collect();
    let mut jobs = Vec::new();
    let mut places = Vec::new();
    for (at, (run, ..)) in runs.iter().enumerate() {
        for (number, (_, model)) in models.iter().enumerate() {
            if let Some(job) = drives.job(model, run, Fill::Logical) {
                jobs.push(job);
                places.push((at, number));
            }
        }
    }
    let outcomes = compare_each(&jobs, false, threads, progress)?;
    let mut found: Vec<Next> = runs
        .iter()
        .map(|(_, text, request)| Next {
            workload: text.clone(),
            request_bytes: *request,
            state: "sequential",
            capacities: CAPACITIES,
            predicted: Vec::new(),
            differs: 0.0,
        })
        .collect();
    for ((at, number), outcome) in places.into_iter().zip(outcomes) {
        if let (Ok(_), Some(history)) = (&outcome.result, &outcome.history) {
            let curve = Curve::simulated(history, drives.page_bytes());
            found[at].predicted.push((models[number].0.clone(), curve.last_quarter()));
        }
    }
    for one in &mut found {
        let values = one.predicted.iter().map(|(_, value)| *value);
        let (least, most) = values.fold((f64::MAX, 0.0_f64), |(l, m), v| (l.min(v), m.max(v)));
        one.differs = if one.predicted.len() > 1 { most / least - 1.0 } else { 0.0 };
    }
    found.retain(|one| one.differs >= LEAST);
    found.sort_by(|a, b| b.differs.total_cmp(&a.differs));
    Ok((found, jobs.len()))
}

/// The models that are not distinguished: families, or else numbers of superblocks.
fn left(ranking: &[Ranked]) -> Vec<(String, Model)> {
    let as_good = ranking.iter().filter(|one| one.as_good).take(MODELS);
    let families: Vec<_> =
        as_good.map(|one| (one.fit.model.family.name.clone(), one.fit.model.clone())).collect();
    if families.len() > 1 {
        return families;
    }
    let best = &ranking[0];
    let (Some(least), Some(most)) = (best.superblocks.iter().min(), best.superblocks.iter().max())
    else {
        return families;
    };
    let model =
        |n: u32| (format!("{n} superblocks"), Model { superblocks: n, ..best.fit.model.clone() });
    if most >= &(2 * least) { vec![model(*least), model(*most)] } else { families }
}

/// Workloads that distinguish models: hot traffic, parts of the capacity, zones of the size of
/// superblocks.
fn workloads(model: &Model, drives: &Drives) -> Vec<(String, Option<u64>)> {
    let flash = drives.exported_bytes as f64 * (1.0 + model.over_provisioning);
    let superblock = (flash / f64::from(model.superblocks)) as u64;
    let zones = |open: u32, bytes: u64| {
        let bytes = bytes.next_power_of_two();
        let pages = bytes as f64 / drives.page_bytes();
        let fits = pages >= f64::from(LEAST_PAGES) / 4.0
            && bytes > ZONE_REQUEST
            && 2 * u64::from(open) * bytes <= drives.exported_bytes;
        fits.then(|| (format!("zones:{open}/{}", format_size(bytes)), Some(ZONE_REQUEST)))
    };
    let plain =
        ["uniform", "zipf:0.8", "zipf:0.99", "zipf:1.2", "hot-cold:90/10", "hot-cold:80/20"];
    let plain = plain.map(|text| (text.to_owned(), None));
    let of_zones = [zones(1, superblock / 4), zones(1, superblock), zones(4, 4 * superblock)];
    plain.into_iter().chain(of_zones.into_iter().flatten()).collect()
}

fn run(text: &str, request: Option<u64>, drives: &Drives) -> Option<MeasuredRun> {
    let total = CAPACITIES * drives.exported_bytes;
    let workload = Workload {
        spec: text.parse::<PatternSpec>().ok()?,
        bytes: Some(total),
        request_bytes: request,
        interarrival_ns: None,
        read_share: 0.0,
    };
    Some(MeasuredRun {
        name: text.to_owned(),
        curve: Curve::default(),
        bytes_per_second: None,
        input: RunInput::Workload(workload),
        state: Some(Fill::Logical),
        used: None,
    })
}
