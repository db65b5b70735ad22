//! Traces in figures.

use std::fmt::Write;

use thermocline_chart::show::plain;
use thermocline_study::trace::Info;
use thermocline_trace::stats::{SizeStats, TraceReport};
use thermocline_units::show_size;

use super::{
    number::{self, NONE, grouped, time_us},
    table::{Figures, Pairs, Sheet, USUAL_WIDTH, heading, width, wrap},
};
use crate::output::Output;

/// Volumes listed in full; more are summed up.
const VOLUMES_SHOWN: usize = 20;

/// Guesses, a row a trace, and details of a single one.
pub fn show(traces: &[Info], output: &Output) -> String {
    let screen = output.width().unwrap_or(USUAL_WIDTH);
    let mut text = String::new();
    for trace in traces {
        text += &wrap(&format!("{}: {}\n", plain(&trace.path), trace.described), screen);
    }
    text += &overview(traces, screen);
    for trace in traces {
        if let Some(hint) = &trace.report.alignment.hint {
            text += &wrap(&format!("{}: {hint}\n", plain(&trace.path)), screen);
        }
    }
    if let [only] = traces {
        text += &details(only, output);
    }
    text
}

/// A column of the overview: its header, its rank where a screen is narrow, and what stands in it.
type Column = (&'static str, u8, fn(&TraceReport) -> String);

const COLUMNS: [Column; 12] = [
    ("reads", 4, |r| grouped(r.reads)),
    ("writes", 0, |r| grouped(r.writes)),
    ("trims", 6, |r| grouped(r.trims)),
    ("flushes", 11, |r| grouped(r.flushes)),
    ("written\nMiB", 1, |r| mebibytes(r.bytes_written)),
    ("write set\nMiB", 2, |r| mebibytes(r.write_set_bytes)),
    ("overwrite", 3, |r| {
        r.overwrite_factor.map_or_else(|| NONE.into(), |x| format!("×{}", number::fixed(x, 2)))
    }),
    ("updates", 9, |r| share(r.update_share)),
    ("top 10 %", 7, |r| share(r.top10_share)),
    ("top 20 %", 10, |r| share(r.top20_share)),
    ("duration", 5, |r| time_us(r.duration_ns as f64 / 1000.0)),
    ("aligned\nto 4 KiB", 8, |r| share(r.alignment.aligned_share)),
];

/// Most characters of a name where there are many.
const NAME: usize = 28;

/// A row a trace. One trace that the screen is too narrow for has a line for each column; several have the
/// columns of most importance that there is room for.
fn overview(traces: &[Info], screen: usize) -> String {
    let all = || COLUMNS.iter().collect::<Vec<_>>();
    if traces.len() == 1 {
        return figures(traces, &all()).finish(Some(screen));
    }
    let mut ranked = all();
    ranked.sort_by_key(|column| column.1);
    let mut shown = figures(traces, &ranked[..1]).finish(None);
    for count in 2..=ranked.len() {
        let mut columns = ranked[..count].to_vec();
        columns.sort_by_key(|column| COLUMNS.iter().position(|other| other.0 == column.0));
        let text = figures(traces, &columns).finish(None);
        if width(&text) > screen {
            shown += &wrap(
                &format!(
                    "{} more columns on a screen of more than {screen} characters; --json has all\n",
                    ranked.len() + 1 - count
                ),
                screen,
            );
            break;
        }
        shown = text;
    }
    shown
}

fn figures(traces: &[Info], columns: &[&Column]) -> Figures {
    let header = ["trace"].into_iter().chain(columns.iter().map(|column| column.0));
    let mut figures = Figures::new(header.map(str::to_owned));
    for trace in traces {
        let name = plain(trace.path.rsplit('/').next().unwrap_or(&trace.path));
        let name = if traces.len() == 1 { name } else { shortened(&name) };
        // Where comparisons have a mark.
        let cells = columns.iter().map(|column| (column.2)(&trace.report) + " ");
        figures.row([name].into_iter().chain(cells));
    }
    figures
}

/// A long name without its middle: what traces of one kind differ in stands at either end.
fn shortened(name: &str) -> String {
    let all: Vec<char> = name.chars().collect();
    if all.len() <= NAME {
        return name.to_owned();
    }
    let half = (NAME - 1) / 2;
    let (first, last) = (&all[..NAME - 1 - half], &all[all.len() - half..]);
    first.iter().chain(['…'].iter()).chain(last).collect()
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
    if !r.hints.is_empty() {
        text += &hints(r, output);
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

/// Hints listed in full.
const HINTS_SHOWN: usize = 32;

fn hints(r: &TraceReport, output: &Output) -> String {
    let mut sheet = Sheet::new(&["hint", "writes", "written"], output);
    sheet.align_right(1..=2);
    for h in r.hints.iter().take(HINTS_SHOWN) {
        let name = if h.hint == 0 { "none".to_owned() } else { h.hint.to_string() };
        sheet.row([name, grouped(h.writes), show_size(h.bytes_written)]);
    }
    let mut text = format!("{}\n{}", heading("placement hints"), sheet.finish());
    if let Some(more) = r.hints.len().checked_sub(HINTS_SHOWN).filter(|more| *more > 0) {
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
