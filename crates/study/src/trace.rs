//! Traces: their content, and generated ones.

use std::path::Path;

use serde::Serialize;
use thermocline_sim::SimError;
use thermocline_trace::{
    Source,
    generate::{GeneratorOptions, PatternSpec},
    stats::{TraceReport, TraceStats, VolumeStats},
};
use thermocline_workloads::{WorkloadSpec, open};

use crate::{
    Context, Counted, opening,
    settings::{generate::GeneratorArgs, reading::ReadingArgs, transform::TransformArgs},
};

/// Requests looked at together.
const BATCH: usize = 4096;

/// The content of one trace.
#[derive(Debug, Serialize)]
pub struct Info {
    /// The file.
    pub path: String,
    /// Name of its format.
    pub format: &'static str,
    /// What the format was guessed from; absent if the user named it.
    pub recognised_by: Option<&'static str>,
    /// The guess as text.
    #[serde(skip)]
    pub described: String,
    /// The figures.
    #[serde(flatten)]
    pub report: TraceReport,
    /// How unequal its volumes are, if it has several with traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_skew: Option<VolumeSkew>,
    /// Its oddities.
    pub warnings: Vec<String>,
}

/// How unequal volumes are in the bytes they read and write.
#[derive(Debug, PartialEq, Serialize)]
pub struct VolumeSkew {
    /// Share of the busiest volume.
    pub busiest_share: f64,
    /// Share of the busiest tenth of the volumes, at least one.
    pub top10_share: f64,
    /// The number of the busiest volumes that have nine tenths of the bytes.
    pub volumes_of_90_percent: usize,
}

impl VolumeSkew {
    /// Of volumes with these bytes, the most first.
    #[must_use]
    pub fn of(traffic: &[u64]) -> Option<Self> {
        // Cumulative sums of the busiest.
        let sums: Vec<f64> = traffic
            .iter()
            .scan(0.0, |sum, &bytes| {
                *sum += bytes as f64;
                Some(*sum)
            })
            .collect();
        let all = *sums.last()?;
        if traffic.len() < 2 || all == 0.0 {
            return None;
        }
        let share = |volumes: usize| sums[volumes - 1] / all;
        Some(Self {
            busiest_share: share(1),
            top10_share: share(traffic.len().div_ceil(10)),
            volumes_of_90_percent: (1..traffic.len())
                .find(|n| share(*n) >= 0.9)
                .unwrap_or(traffic.len()),
        })
    }
}

/// Reads a trace to its end.
///
/// # Errors
/// What is wrong with the trace.
pub fn info(
    file: &Path,
    page_size: u64,
    reading: &ReadingArgs,
    transforms: &TransformArgs,
    context: Context<'_>,
) -> Result<Info, SimError> {
    let path = file.display().to_string();
    let count = |source: &mut dyn Source| {
        let mut counted = Counted::new(context, format!("reading {path}"), source);
        report(&mut counted, page_size, context)
    };
    let quiet = context.without_infos();
    let (mut report, seen) =
        opening::with_trace(file, &reading.options(), transforms, quiet, count)?;
    let hint = &mut report.alignment.hint;
    *hint = hint.take().map(|hint| context.words(hint));
    let traffic = |volume: &VolumeStats| volume.bytes_read.saturating_add(volume.bytes_written);
    report.volumes.sort_by_key(|volume| std::cmp::Reverse(traffic(volume)));
    let traffic: Vec<_> = report.volumes.iter().map(traffic).collect();
    Ok(Info {
        volume_skew: VolumeSkew::of(&traffic),
        format: seen.guess.as_ref().map_or("memory", |guess| guess.format.name()),
        recognised_by: seen.guess.as_ref().and_then(|guess| guess.from),
        described: context.words(seen.describe()),
        path,
        report,
        warnings: seen.warnings.iter().map(|warning| context.words(warning)).collect(),
    })
}

fn report(
    source: &mut dyn Source,
    page_size: u64,
    context: Context<'_>,
) -> Result<TraceReport, SimError> {
    let mut stats = TraceStats::new(page_size);
    let mut batch = Vec::new();
    loop {
        source.next_batch(&mut batch, BATCH)?;
        context.check()?;
        if batch.is_empty() {
            return Ok(stats.report(source.volumes()));
        }
        for request in &batch {
            stats.add(request)?;
        }
    }
}

/// How often the span is written where nothing else is said, as `run` does.
const DEFAULT_SPANS: u64 = 4;

/// Bytes that are addressed where nothing else is said.
const DEFAULT_SPAN: u64 = 256 << 20;
/// As above, for a file workload: seven eighths of the thesis' chip of 64 MB, the export of a
/// block-mapped layer.
const DEFAULT_VOLUME: u64 = 56 << 20;

/// A workload as a trace, as `thermocline trace generate` writes it.
///
/// # Errors
/// A workload that cannot be generated so.
pub fn generator(
    spec: &WorkloadSpec,
    args: &GeneratorArgs,
) -> Result<Box<dyn Source + Send>, SimError> {
    let steady = matches!(spec, WorkloadSpec::Pattern(PatternSpec::Steady(_)));
    let files = matches!(spec, WorkloadSpec::Files(_));
    let span = args.span.unwrap_or(if files { DEFAULT_VOLUME } else { DEFAULT_SPAN });
    let options = GeneratorOptions {
        span_bytes: span,
        bytes: args.bytes.or(steady.then_some(span.saturating_mul(DEFAULT_SPANS))),
        request_bytes: args.request,
        page_bytes: args.page_size,
        interarrival_ns: args.interarrival.map(|ns| ns as f64),
        seed: args.seed,
        read_share: args.reads,
    };
    Ok(open(spec, &options)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skew_counts_the_busiest_volumes() {
        let skew = VolumeSkew { busiest_share: 0.6, top10_share: 0.6, volumes_of_90_percent: 2 };
        assert_eq!(VolumeSkew::of(&[60, 30, 10, 0]), Some(skew));
        assert_eq!((VolumeSkew::of(&[60]), VolumeSkew::of(&[0, 0])), (None, None));
        // A sum for each of a million volumes would not end today.
        let many = VolumeSkew::of(&vec![1; 1_000_000]).expect("a million volumes");
        assert_eq!(many.volumes_of_90_percent, 900_000);
    }
}
