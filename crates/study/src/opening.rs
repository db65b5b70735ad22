//! Opens a trace, applies the user's transformations, and passes on the readers' remarks.

use std::{io::ErrorKind, path::Path};

use thermocline_report::number;
use thermocline_sim::SimError;
use thermocline_trace::{
    Contents, Request, Source, TraceError,
    read::{self, Guess, ReadOptions},
    transform::{Dedup, Hints, KeepOps, Limit, SelectVolumes, Shift, SortWindow},
};

use crate::{
    Context,
    settings::transform::{Part, TransformArgs},
};

/// The readers' advice if the clock goes back.
const ADVICE_TO_SORT: &str = "sort the trace if order matters";

/// How a trace was recognised, and its oddities.
pub struct Seen {
    /// The format; none if it was no file.
    pub guess: Option<Guess>,
    /// One line each.
    pub warnings: Vec<String>,
}

impl Seen {
    /// The profile nearest to the recorded device, if known.
    pub fn device(&self) -> Option<&str> {
        self.guess.as_ref().and_then(Guess::device)
    }

    /// The format, and how to choose another.
    pub fn describe(&self) -> String {
        self.guess.as_ref().map_or_else(|| "in memory".into(), ToString::to_string)
    }
}

/// Hands the changed trace to `work`, which reads it to its end.
pub fn with_trace<T>(
    path: &Path,
    reading: &ReadOptions,
    transforms: &TransformArgs,
    context: Context<'_>,
    work: impl FnOnce(&mut dyn Source) -> Result<T, SimError>,
) -> Result<(T, Seen), SimError> {
    with_device(path, reading, transforms, context, |source, _| work(source))
}

/// As above, with the device that it was recorded on, if that is known.
pub fn with_device<T>(
    path: &Path,
    reading: &ReadOptions,
    transforms: &TransformArgs,
    context: Context<'_>,
    work: impl FnOnce(&mut dyn Source, Option<&str>) -> Result<T, SimError>,
) -> Result<(T, Seen), SimError> {
    let memory = context.traces().and_then(|it| it.open(&path.to_string_lossy(), reading));
    let in_memory = memory.is_some();
    let opened = memory.unwrap_or_else(|| read::open(path, reading));
    let mut reader = opened.map_err(|e| of_trace(path, e))?;
    let guess = (!in_memory).then(|| reader.guess().clone());
    let mut seen = Seen { guess, warnings: Vec::new() };
    match &seen.guess {
        Some(guess) if guess.from.is_some() && guess.format.argument().is_some() => {
            let columns = guess.columns();
            let untimed = if columns.contains("time=") { "" } else { ", without times" };
            context.note(&format!(
                "{}: columns were guessed from the header line{untimed}; keep or correct them: {columns}",
                path.display(),
            ))
        }
        Some(_) => context.info(&format!("{}: {}", path.display(), seen.describe())),
        None => {}
    }
    let mut remarks = Vec::new();
    let device = seen.device();
    let work = |source: &mut dyn Source| work(source, device);
    let result = transformed(&mut reader, transforms, &mut remarks, work).map_err(|e| match e {
        SimError::Trace(e) => of_trace(path, e),
        other => other,
    })?;
    seen.warnings = reader.warnings();
    if transforms.sort_window.is_some() {
        for warning in &mut seen.warnings {
            *warning = warning.replace(ADVICE_TO_SORT, "sorted within ‹sort-window›");
        }
    }
    for warning in seen.warnings.iter().chain(&remarks) {
        context.warn(&format!("{}: {warning}", path.display()));
    }
    Ok((result, seen))
}

/// Puts the transformations around the trace, each around the one before. Those that count stand in
/// a frame of their own, so that they can be asked after the work.
fn transformed<T>(
    trace: &mut dyn Source,
    args: &TransformArgs,
    remarks: &mut Vec<String>,
    work: impl FnOnce(&mut dyn Source) -> Result<T, SimError>,
) -> Result<T, SimError> {
    let mut source: Box<dyn Source + '_> = Box::new(trace);
    if !args.volume.is_empty() {
        source = Box::new(SelectVolumes::new(source, args.volume.clone()));
    }
    if let Some(ops) = args.ops {
        source = Box::new(KeepOps::new(source, ops));
    }
    let Some(window) = args.sort_window else { return deduplicated(source, args, remarks, work) };
    let mut sorted = SortWindow::new(source, window);
    let result = deduplicated(Box::new(&mut sorted), args, remarks, work)?;
    if sorted.late() > 0 {
        remarks.push(format!(
            "{} further out of order than the window; use a larger ‹sort-window›",
            number::counted(sorted.late(), "request")
        ));
    }
    Ok(result)
}

fn deduplicated<T>(
    source: Box<dyn Source + '_>,
    args: &TransformArgs,
    remarks: &mut Vec<String>,
    work: impl FnOnce(&mut dyn Source) -> Result<T, SimError>,
) -> Result<T, SimError> {
    let Some(window_ns) = args.dedup_window else { return placed(source, args, work) };
    let mut dedup = Dedup::new(source, window_ns);
    let result = placed(Box::new(&mut dedup), args, work)?;
    if dedup.dropped() > 0 {
        let dropped = number::counted(dedup.dropped(), "request");
        remarks.push(format!("{dropped} dropped as repetitions within ‹dedup-window›"));
    }
    Ok(result)
}

fn placed<T>(
    mut source: Box<dyn Source + '_>,
    args: &TransformArgs,
    work: impl FnOnce(&mut dyn Source) -> Result<T, SimError>,
) -> Result<T, SimError> {
    if let Some(by) = args.shift {
        source = Box::new(Shift::new(source, by));
    }
    if !args.hint.is_empty() {
        source = Box::new(Hints::new(source, args.hint.clone()));
    }
    if let Some(requests) = args.limit {
        source = Box::new(Limit::new(source, requests));
    }
    match args.part {
        Part::Whole => {}
        Part::First(requests) => source = Box::new(Limit::new(source, requests)),
        Part::After(requests) => source = Box::new(After { source, requests }),
    }
    work(&mut *source)
}

/// A trace whose first requests only prepare the device.
struct After<'a> {
    source: Box<dyn Source + 'a>,
    requests: u64,
}

impl Source for After<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        self.source.next_batch(batch, limit)
    }

    fn volumes(&self) -> &[String] {
        self.source.volumes()
    }

    fn contents(&self) -> &Contents {
        self.source.contents()
    }

    fn prelude(&self) -> u64 {
        self.requests
    }

    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        self.source.volume_bytes(volume)
    }
}

/// An error of a trace; one of a request says of which.
fn of_trace(path: &Path, error: TraceError) -> SimError {
    match error {
        TraceError::Io { path, source } if source.kind() == ErrorKind::NotFound => {
            SimError::Input(format!(
                "{}: there is no such file; check the name, or use - for standard input",
                path.display()
            ))
        }
        TraceError::Request { what, remedy } => {
            SimError::Trace(TraceError::Format { path: path.to_owned(), what, remedy })
        }
        other => SimError::Trace(other),
    }
}
