//! Volumes of traces as traces of their own: each trace is taken apart once, and `TRACE --volume NAME` is the name of
//! a part of it.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use thermocline_sim::SimError;
use thermocline_sweep::{Cell, Setting, Volumes};
use thermocline_trace::{
    Source, TraceError,
    read::{self, ReadOptions, Reader},
};

use crate::{
    Context, Counted, Traces, in_results, opening,
    settings::{
        reading::ReadingArgs, run::RunSpec, sweep::Swept, table::Group, transform::TransformArgs,
    },
    usage,
};

/// The option that names a trace.
const TRACE: &str = "trace";

/// Traces that were taken apart.
#[derive(Default)]
pub struct PerVolume(Mutex<Vec<Known>>);

struct Known {
    path: String,
    /// How it was read.
    reading: String,
    volumes: Arc<Volumes>,
}

impl PerVolume {
    /// Each cell once for each volume of its trace.
    ///
    /// # Errors
    /// Why a trace cannot be read; cells without one.
    pub fn cells(&self, cells: Vec<Cell>, context: Context<'_>) -> Result<Vec<Cell>, SimError> {
        let mut all = Vec::new();
        for cell in cells {
            let asked = RunSpec::of(cell.settings.given())?;
            let Some(path) = asked.one.input.trace.as_deref() else {
                return Err(usage("‹per-volume› is for traces; leave out ‹workload›"));
            };
            if !asked.simulation.transforms.volume.is_empty() {
                return Err(usage("‹per-volume› takes every volume; leave out ‹volume›"));
            }
            let options = asked.simulation.reading.options();
            let volumes = self.split(path, &options, context)?;
            for volume in volumes.all() {
                let name = name_of(path, &volume.name);
                let mut one = cell.clone();
                let traces = one.settings.0.iter_mut().filter(|setting| setting.option == TRACE);
                traces.for_each(|setting| *setting = Setting::new(TRACE, name.clone()));
                one.name = format!("volume {}, {}", volume.name, cell.name);
                all.push(one);
            }
        }
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
        for trace in &traces.texts {
            for volume in self.split(Path::new(trace), &options, context)?.all() {
                let mut one = swept.clone();
                for given in one.0.iter_mut().filter(|given| given.option == TRACE) {
                    given.texts = vec![name_of(Path::new(trace), &volume.name)];
                }
                all.push((trace.clone(), volume.name.clone(), one));
            }
        }
        Ok(all)
    }

    fn split(
        &self,
        path: &Path,
        options: &ReadOptions,
        context: Context<'_>,
    ) -> Result<Arc<Volumes>, SimError> {
        let (name, reading) = (path.display().to_string(), format!("{options:?}"));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|known| known.path == name && known.reading == reading)
        {
            return Ok(known.volumes.clone());
        }
        let read = |source: &mut dyn Source| {
            let mut counted = Counted::new(context, format!("reading {name}"), source);
            Volumes::of(&mut counted, context.progress())
        };
        // Windows, shifts and limits are those of each run.
        let (volumes, _) =
            opening::with_trace(path, options, &TransformArgs::default(), context, read)?;
        let volumes = Arc::new(volumes);
        all.push(Known { path: name, reading, volumes: volumes.clone() });
        Ok(volumes)
    }

    /// A volume by its name and how its trace is read.
    fn find(&self, name: &str, options: Option<&ReadOptions>) -> Option<(Arc<Volumes>, usize)> {
        let reading = options.map(|options| format!("{:?}", without_contents(options)));
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        Some(Ok(volumes.all()[at].digest.clone()))
    }
}
