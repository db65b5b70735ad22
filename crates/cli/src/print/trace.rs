//! Traces in figures.

use std::fmt::Write;

use thermocline_chart::show::plain;
use thermocline_study::trace::Info;
use thermocline_trace::stats::{SizeStats, TraceReport};
use thermocline_units::show_size;

use super::{
    number::{self, NONE, grouped, time_us},
    table::{Figures, Pairs, Sheet, heading},
};
use crate::output::Output;

/// Volumes listed in full; more are summed up.
const VOLUMES_SHOWN: usize = 20;

/// Guesses, a row a trace, and details of a single one.
pub fn show(traces: &[Info], output: &Output) -> String {
    let mut text = String::new();
    for trace in traces {
        let _ = writeln!(text, "{}: {}", plain(&trace.path), trace.described);
    }
    text += &overview(traces, output);
    for trace in traces {
        if let Some(hint) = &trace.report.alignment.hint {
            let _ = writeln!(text, "{}: {hint}", plain(&trace.path));
        }
    }
    if let [only] = traces {
        text += &details(only, output);
    }
    text
}

fn overview(traces: &[Info], output: &Output) -> String {
    let header = [
        "trace",
        "reads",
        "writes",
        "trims",
        "flushes",
        "written\nMiB",
        "write set\nMiB",
        "overwrite",
        "updates",
        "top 10 %",
        "top 20 %",
        "duration",
        "aligned\nto 4 KiB",
    ];
    let mut figures = Figures::new(header.map(str::to_owned));
    for trace in traces {
        let r = &trace.report;
        let name = trace.path.rsplit('/').next().unwrap_or(&trace.path);
        let cells = [
            plain(name),
            grouped(r.reads),
            grouped(r.writes),
            grouped(r.trims),
            grouped(r.flushes),
            mebibytes(r.bytes_written),
            mebibytes(r.write_set_bytes),
            r.overwrite_factor.map_or_else(|| NONE.into(), |x| format!("×{}", number::fixed(x, 2))),
            share(r.update_share),
            share(r.top10_share),
            share(r.top20_share),
            time_us(r.duration_ns as f64 / 1000.0),
            share(r.alignment.aligned_share),
        ];
        // Where comparisons have a mark.
        let room = |(i, cell): (usize, String)| if i > 0 { cell + " " } else { cell };
        figures.row(cells.into_iter().enumerate().map(room));
    }
    figures.finish(output.width())
}

fn details(info: &Info, output: &Output) -> String {
    let r = &info.report;
    let mut pairs = Pairs::new(output);
    pairs.group("times");
    if let Some(gap) = r.mean_gap_ns {
        pairs.add("mean gap between requests", time_us(gap / 1000.0));
    }
    pairs.add("requests that go back in time", grouped(r.backwards));
    pairs.group("pages");
    pairs.add("size counted in", show_size(r.page_bytes));
    pairs.add("page writes", grouped(r.page_writes));
    pairs.add("pages written", grouped(r.pages_written));
    pairs.group("sizes of requests");
    sizes(&mut pairs, "reads", r.read_sizes.as_ref());
    sizes(&mut pairs, "writes", r.write_sizes.as_ref());
    if r.bytes_trimmed > 0 {
        pairs.add("trimmed in all", show_size(r.bytes_trimmed));
    }
    let mut text = pairs.finish();
    if r.volumes.len() > 1 {
        text += &volumes(r, output);
    }
    if let Some(skew) = &info.volume_skew {
        let _ = writeln!(
            text,
            "The busiest volume has {} of the bytes, the busiest tenth {}; {} of {} have 90 %.",
            number::percent(skew.busiest_share),
            number::percent(skew.top10_share),
            grouped(skew.volumes_of_90_percent as u64),
            number::counted(r.volumes.len() as u64, "volume")
        );
    }
    text
}

fn sizes(pairs: &mut Pairs, name: &str, sizes: Option<&SizeStats>) {
    let Some(s) = sizes else { return };
    pairs.add(
        name,
        format!(
            "mean {}, least {}, median {}, 90 % {}, 99 % {}, largest {}",
            show_size(s.mean as u64),
            show_size(s.min),
            show_size(s.p50),
            show_size(s.p90),
            show_size(s.p99),
            show_size(s.max)
        ),
    );
}

fn volumes(r: &TraceReport, output: &Output) -> String {
    let mut sheet = Sheet::new(&["volume", "requests", "read", "written", "size at least"], output);
    sheet.align_right(1..=4);
    for v in r.volumes.iter().take(VOLUMES_SHOWN) {
        sheet.row([
            v.name.clone(),
            grouped(v.requests),
            show_size(v.bytes_read),
            show_size(v.bytes_written),
            show_size(v.end_bytes),
        ]);
    }
    let mut text = format!("{}\n{}", heading("volumes, busiest first"), sheet.finish());
    if let Some(more) = r.volumes.len().checked_sub(VOLUMES_SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "and {more} more; --json lists them all");
    }
    text
}

fn mebibytes(bytes: u64) -> String {
    let value = bytes as f64 / f64::from(1 << 20);
    number::fixed(value, usize::from(value < 100.0))
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| NONE.into(), |x| format!("{} %", number::fixed(x * 100.0, 0)))
}
