//! `thermocline trace info`: what is in traces.

use std::path::Path;

use serde::Serialize;
use thermocline_sim::SimError;
use thermocline_trace::{
    Source,
    stats::{TraceReport, TraceStats, VolumeStats},
};

use crate::{
    args::trace::InfoArgs,
    console::Console,
    exit::Failure,
    interrupt, opening,
    output::Output,
    print::{
        json,
        trace::{self, Info, VolumeSkew},
    },
    progress::Counted,
};

/// Requests looked at together.
const BATCH: usize = 4096;

#[derive(Serialize)]
struct Traces {
    traces: Vec<Info>,
}

/// Reads every trace to its end and prints what was found.
pub fn run(args: &InfoArgs, console: Console) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let traces = args
        .files
        .iter()
        .map(|file| info(file, args, console))
        .collect::<Result<Vec<_>, Failure>>()?;
    if args.json {
        return json::print(&Traces { traces }, output);
    }
    let text = trace::show(&traces, &output);
    output.put_styled(&text)
}

fn info(file: &Path, args: &InfoArgs, console: Console) -> Result<Info, Failure> {
    let path = file.display().to_string();
    let count = |source: &mut dyn Source| {
        let mut counted = Counted::new(console, format!("reading {path}"), source);
        report(&mut counted, args.page_size)
    };
    let quiet = console.without_remarks();
    let (mut report, seen) =
        opening::with_trace(file, &args.reading.options(), &args.transforms, quiet, count)?;
    let traffic = |volume: &VolumeStats| volume.bytes_read.saturating_add(volume.bytes_written);
    report.volumes.sort_by_key(|volume| std::cmp::Reverse(traffic(volume)));
    let traffic: Vec<_> = report.volumes.iter().map(traffic).collect();
    Ok(Info {
        volume_skew: VolumeSkew::of(&traffic),
        format: seen.guess.format.name(),
        recognised_by: seen.guess.from,
        described: seen.describe(),
        path,
        report,
        warnings: seen.warnings,
    })
}

fn report(source: &mut dyn Source, page_size: u64) -> Result<TraceReport, Failure> {
    let mut stats = TraceStats::new(page_size);
    let mut batch = Vec::new();
    loop {
        source.next_batch(&mut batch, BATCH)?;
        if interrupt::progress().is_cancelled() {
            return Err(SimError::Interrupted.into());
        }
        if batch.is_empty() {
            return Ok(stats.report(source.volumes()));
        }
        for request in &batch {
            stats.add(request)?;
        }
    }
}
