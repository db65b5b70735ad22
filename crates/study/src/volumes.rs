//! Volumes of traces as separate traces: each trace is split once, and `TRACE --volume NAME` names a part.

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use thermocline_policy::placement::sees_future;
use thermocline_sim::{SimError, result::StoredResult};
use thermocline_sweep::{
    Cell, Setting, Volume, Volumes,
    fleet::{Sample, summarize},
};
use thermocline_trace::{
    Source, TraceError,
    read::{self, ReadOptions, Reader},
};

use crate::{
    Context, Counted, Traces,
    fleet::Done,
    in_results, jobs, notes, opening,
    settings::{
        compare::WhichVolumes,
        reading::ReadingArgs,
        run::RunSpec,
        sweep::{Given, Swept},
        table::Group,
        transform::TransformArgs,
    },
    sweep::SEED,
    usage,
};

/// The option that names a trace.
const TRACE: &str = "trace";
/// The option that names a device.
const DEVICE: &str = "device";

/// Traces that were taken apart.
#[derive(Default)]
pub struct PerVolume {
    which: WhichVolumes,
    known: Mutex<Vec<Known>>,
}

#[derive(Clone)]
struct Known {
    path: String,
    /// How it was read.
    reading: String,
    volumes: Arc<Volumes>,
    /// The kind of device that it was recorded on.
    device: Option<&'static str>,
}

impl PerVolume {
    /// Of these volumes.
    #[must_use]
    pub fn of(which: WhichVolumes) -> Self {
        Self { which, ..Self::default() }
    }

    /// Each cell once for each volume of its trace, on the device that this was recorded on where none is named.
    ///
    /// # Errors
    /// Why a trace cannot be read; cells without one.
    pub fn cells(&self, cells: Vec<Cell>, context: Context<'_>) -> Result<Vec<Cell>, SimError> {
        let (mut all, mut said) = (Vec::new(), BTreeSet::new());
        for cell in cells {
            let asked = RunSpec::of(cell.settings.given())?;
            let Some(path) = asked.one.input.trace.as_deref() else {
                return Err(usage("‹per-volume› is for traces; leave out ‹workload›"));
            };
            if !asked.simulation.transforms.volume.is_empty() {
                return Err(usage("‹per-volume› takes every volume; leave out ‹volume›"));
            }
            let options = asked.simulation.reading.options();
            let known = self.split(path, &options, context)?;
            let named = asked.simulation.device.shape.device.is_some();
            let device = known.device.filter(|_| !named);
            said.extend(device.map(|device| notes::of_device(&path.to_string_lossy(), device)));
            for volume in self.chosen(&known) {
                let name = name_of(path, &volume.name);
                let mut one = cell.clone();
                let traces = one.settings.0.iter_mut().filter(|setting| setting.option == TRACE);
                traces.for_each(|setting| *setting = Setting::new(TRACE, name.clone()));
                one.settings.0.extend(device.map(|device| Setting::new(DEVICE, device)));
                one.name = format!("volume {}, {}", volume.name, cell.name);
                all.push(one);
            }
        }
        said.iter().for_each(|note| context.note(note));
        Ok(all)
    }

    /// The settings of a search once for each volume of its traces, with the trace and the volume.
    ///
    /// # Errors
    /// Why a trace cannot be read; a search without one.
    pub fn searches(
        &self,
        swept: &Swept,
        context: Context<'_>,
    ) -> Result<Vec<(String, String, Swept)>, SimError> {
        let traces = swept.0.iter().find(|given| given.option == TRACE);
        let traces = traces.ok_or_else(|| usage("‹per-volume› is for traces; give it ‹trace›"))?;
        if swept.0.iter().any(|given| given.option == "volume") {
            return Err(usage("‹per-volume› takes every volume; leave out ‹volume›"));
        }
        let is_reading = |option: &str| ReadingArgs::field(option).is_ok();
        let reading = swept.0.iter().filter(|given| is_reading(&given.option));
        let reading =
            reading.map(|given| (&*given.option, given.texts.first().map(|text| &**text)));
        let reading = ReadingArgs::of(reading)?;
        let options = reading.options();
        let mut all = Vec::new();
        let named = swept.0.iter().any(|given| given.option == DEVICE);
        for trace in &traces.texts {
            let known = self.split(Path::new(trace), &options, context)?;
            let device = known.device.filter(|_| !named);
            let note = device.map(|device| notes::of_device(trace, device));
            note.iter().for_each(|note| context.note(note));
            for volume in self.chosen(&known) {
                let mut one = swept.clone();
                if let Some(device) = device {
                    let given = Given::of(DEVICE, vec![device.to_owned()], true).map_err(usage)?;
                    one.0.push(given);
                }
                for given in one.0.iter_mut().filter(|given| given.option == TRACE) {
                    given.texts = vec![name_of(Path::new(trace), &volume.name)];
                }
                all.push((trace.clone(), volume.name.clone(), one));
            }
        }
        Ok(all)
    }

    /// The remark on volumes that are too small.
    #[must_use]
    pub fn about_small(&self, excluded: usize, of: usize) -> String {
        self.which.about_small(excluded, of, None)
    }

    /// The trace and the volume that a name stands for.
    #[must_use]
    pub fn parts(&self, name: &str) -> Option<(String, String)> {
        let all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let between = in_results("volume", "");
        all.iter().find_map(|known| {
            let volume = name.strip_prefix(&known.path)?.strip_prefix(' ')?;
            Some((known.path.clone(), volume.strip_prefix(&*between)?.to_owned()))
        })
    }

    fn split(
        &self,
        path: &Path,
        options: &ReadOptions,
        context: Context<'_>,
    ) -> Result<Known, SimError> {
        let (name, reading) = (path.display().to_string(), format!("{options:?}"));
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|known| known.path == name && known.reading == reading)
        {
            return Ok(known.clone());
        }
        let read = |source: &mut dyn Source| {
            let mut counted = Counted::new(context, format!("reading {name}"), source);
            Volumes::of(&mut counted, context.progress())
        };
        // Windows, shifts and limits are those of each run.
        let (volumes, seen) =
            opening::with_trace(path, options, &TransformArgs::default(), context, read)?;
        let of = volumes.all().len();
        let others = volumes.all().iter().filter(|volume| !self.which.has(volume)).count();
        self.which.about_others(others, of).iter().for_each(|note| context.note(note));
        let device = seen.device().and_then(jobs::profile);
        let known = Known { path: name, reading, volumes: Arc::new(volumes), device };
        all.push(known.clone());
        Ok(known)
    }

    /// The volumes that were asked for.
    fn chosen<'a>(&'a self, known: &'a Known) -> impl Iterator<Item = &'a Volume> {
        known.volumes.all().iter().filter(|volume| self.which.has(volume))
    }

    /// A volume by its name and how its trace is read.
    fn find(&self, name: &str, options: Option<&ReadOptions>) -> Option<(Arc<Volumes>, usize)> {
        let reading = options.map(|options| format!("{:?}", without_contents(options)));
        let all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let between = in_results("volume", "");
        let mut known = all
            .iter()
            .filter(|known| reading.as_ref().is_none_or(|reading| *reading == known.reading));
        known.find_map(|known| {
            let volume = name.strip_prefix(&known.path)?.strip_prefix(' ')?;
            let volume = volume.strip_prefix(&*between)?;
            let at = known.volumes.all().iter().position(|other| other.name == volume)?;
            Some((known.volumes.clone(), at))
        })
    }
}

/// Sums the cells of a sweep over the volumes: each combination of settings, over all seeds, takes the place of a
/// policy.
pub fn summed(
    cells: &[Cell],
    volumes: &PerVolume,
    result: impl Fn(&Cell) -> Result<StoredResult, String>,
    excluded: usize,
) -> Done {
    let varied = varied(cells);
    let mut done = Done::default();
    let (mut combinations, mut places) = (HashMap::new(), HashMap::new());
    for cell in cells {
        let Some(name) = cell.settings.value(TRACE) else { continue };
        let combination = named(cell, &varied);
        let at = *combinations.entry(combination.clone()).or_insert_with(|| {
            done.policies.push((combination, true));
            done.policies.len() - 1
        });
        let place = *places.entry(name.clone()).or_insert_with(|| {
            let (trace, volume) = volumes.parts(&name).unwrap_or_else(|| (name.clone(), name));
            done.traces.push(trace);
            done.samples.push((volume, Vec::new()));
            done.bytes_written.push(0);
            done.samples.len() - 1
        });
        let samples = &mut done.samples[place].1;
        samples.resize_with(samples.len().max(at + 1), Sample::default);
        match result(cell) {
            Err(_) => done.failed += 1,
            Ok(result) => {
                samples[at].add(&result);
                let written = result.count("host.bytes_written").unwrap_or(0);
                done.bytes_written[place] = done.bytes_written[place].max(written);
                let placement = result.text("config.placement").unwrap_or_default();
                let name = placement.split('(').next().unwrap_or_default();
                done.policies[at].1 &= !sees_future(name);
            }
        }
    }
    for (_, samples) in &mut done.samples {
        samples.resize_with(done.policies.len(), Sample::default);
    }
    done.summaries = summarize(&done.policies, &done.samples);
    done.excluded = excluded;
    done
}

/// The options that differ between cells, except inputs and seeds.
fn varied(cells: &[Cell]) -> Vec<String> {
    let mut options: Vec<&str> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    let Some(first) = cells.first() else { return others };
    for setting in cells.iter().flat_map(|cell| &cell.settings.0) {
        let option = setting.option.as_str();
        if ![TRACE, SEED, DEVICE].contains(&option) && !options.contains(&option) {
            options.push(option);
        }
    }
    let differs = |option: &&str| {
        let value = first.settings.value(option);
        cells.iter().any(|cell| cell.settings.value(option) != value)
    };
    others.extend(options.into_iter().filter(differs).map(str::to_owned));
    others
}

/// The name of a combination of settings.
fn named(cell: &Cell, varied: &[String]) -> String {
    let values = varied.iter().filter_map(|option| cell.settings.value(option));
    let words: Vec<_> = values.collect();
    match words.is_empty() {
        true => cell.settings.value("policy").unwrap_or_else(|| "as asked".into()),
        false => words.join(", "),
    }
}

/// A volume of a trace, as a trace of its own.
fn name_of(trace: &Path, volume: &str) -> String {
    format!("{} {}", trace.display(), in_results("volume", volume))
}

fn without_contents(options: &ReadOptions) -> ReadOptions {
    ReadOptions { contents: false, ..options.clone() }
}

impl Traces for PerVolume {
    fn has(&self, name: &str) -> bool {
        self.find(name, None).is_some()
    }

    fn open(&self, name: &str, options: &ReadOptions) -> Option<Result<Reader, TraceError>> {
        let (volumes, at) = self.find(name, Some(options))?;
        if options.contents {
            return Some(Err(TraceError::Usage {
                what: "the contents of requests, which volumes do not keep, are needed".into(),
                remedy: "leave the policy out, or take one volume with ‹volume›".into(),
            }));
        }
        // It was read as these options say.
        Some(read::open_source(volumes.shared_source(at), &ReadOptions::default()))
    }

    fn digest(&self, name: &str, options: &ReadOptions) -> Option<Result<String, SimError>> {
        let (volumes, at) = self.find(name, Some(options))?;
        let digest = &volumes.all()[at].digest;
        // The default leaves out other volumes than any number does.
        let least = self.which.min_volume.map_or(String::new(), |least| format!(" from {least}"));
        Some(Ok(format!("{digest}{least}")))
    }

    fn is_too_small(&self, name: &str, bytes: u64, is_enlarged: bool) -> bool {
        self.has(name) && self.which.is_too_small(bytes, is_enlarged)
    }
}
