//! The charts of a comparison on one input: which policy, and why.

use thermocline_chart::{Chart, Column, Guide, Kind, Plot, Point, Series};
use thermocline_sim::{History, RunResult, history::Sample, metric::Format, statistics::Interval};

use crate::{
    colours::{self, GREY},
    compared::{Compared, Row},
    figure::unit_of_axis,
};

mod traffic;

/// Values that differ by more are shown by their logarithms.
const FAR_APART: f64 = 12.0;
/// Points of a line over time.
const POINTS: usize = 60;
/// The steps of a response time, from the median to the worst.
const SHARES: [(f64, &str); 6] = [
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
    (1.0, "worst"),
];
const PER_PAGE: &str = "page programs a page written";

/// A policy that ran, and the number of its colour.
#[derive(Clone, Copy)]
struct Ran<'a> {
    colour: usize,
    row: &'a Row,
}

/// All charts of an input that there is something to show of. `prefix` begins their names.
#[must_use]
pub fn of(compared: &Compared, prefix: &str) -> Vec<Chart> {
    let rows: Vec<_> = compared.rows.iter().filter(|row| !row.runs().is_empty()).collect();
    let cost = |row: &Row| row.runs().first().and_then(|run| run.write_amplification);
    let known: Vec<_> = rows.iter().map(|row| (row.name(), cost(row))).collect();
    let ran = colours::of(&known).into_iter().zip(rows).map(|(colour, row)| Ran { colour, row });
    let ran: Vec<_> = ran.collect();
    let Some(run) = ran.first().and_then(|ran| ran.row.runs().first()) else { return Vec::new() };
    let all = [
        amplification(&ran),
        over_time(&ran, compared.oracle.as_deref(), run),
        front(&ran),
        lifetime(&ran),
        responses(&ran, "write", |history| &history.writes),
        responses(&ran, "read", |history| &history.reads),
        erases(&ran),
        victims_over_time(&ran, run),
        victims(&ran),
        choices(&ran),
    ];
    let traffic = compared.traffic.iter().flat_map(traffic::of);
    all.into_iter()
        .filter(|chart| compares(&chart.plot))
        .chain(traffic)
        .filter(|chart| !chart.plot.is_empty())
        .map(|chart| Chart { name: format!("{prefix}{}", chart.name), ..chart })
        .collect()
}

/// Whether a plot is of any use: one bar or dot alone says no more than its number in the table of results.
fn compares(plot: &Plot) -> bool {
    let alone = matches!(plot.kind, Kind::Ranks | Kind::Dots) && plot.guides.is_empty();
    !alone || plot.points().nth(1).is_some()
}

impl Ran<'_> {
    fn series(self, ours: Vec<Point>) -> Series {
        Series { colour: Some(self.colour), ..Series::new(self.row.name(), ours) }
    }

    /// A figure over all seeds.
    fn interval(self, of: impl Fn(&RunResult) -> Option<f64>) -> Option<Interval> {
        let values: Option<Vec<f64>> = self.row.runs().iter().map(of).collect();
        Interval::of(&values?)
    }
}

fn chart(name: &str, title: &str, about: &str, plot: Plot) -> Chart {
    Chart { name: name.into(), title: title.into(), about: about.into(), plot }
}

/// Whether values are too far apart for lengths.
fn far_apart(values: impl Iterator<Item = f64>) -> bool {
    let positive = values.filter(|value| *value > 0.0);
    let (least, most) =
        positive.fold((f64::MAX, 0.0_f64), |(l, m), value| (l.min(value), m.max(value)));
    most > FAR_APART * least
}

/// A lying bar for each policy.
fn ranks(ran: &[Ran<'_>], what: &str, of: impl Fn(&RunResult) -> Option<f64> + Copy) -> Plot {
    let known = ran.iter().filter_map(|ran| Some((*ran, ran.interval(of)?)));
    let known: Vec<_> = known.collect();
    let series = known.iter().enumerate().map(|(at, (ran, interval))| {
        ran.series(vec![Point { half: interval.half, ..Point::at(at as f64, interval.mean) }])
    });
    let series = series.collect();
    let names = known.iter().map(|(ran, _)| ran.row.name().to_owned()).collect();
    let x_log = far_apart(known.iter().map(|(_, interval)| interval.mean));
    Plot { categories: Some(names), x_log, ..Plot::new(Kind::Ranks, what, "policy", series) }
}

fn amplification(ran: &[Ran<'_>]) -> Chart {
    let mut plot = ranks(ran, PER_PAGE, |run| run.write_amplification);
    let oracle = |run: &RunResult| run.oracle.as_ref().map(|oracle| oracle.write_amplification);
    let oracles: Vec<f64> = ran.iter().flat_map(|ran| ran.row.runs()).filter_map(oracle).collect();
    // Each policy is measured against the oracle's run on its own device, which mostly is one.
    let least = oracles.iter().copied().reduce(f64::min);
    plot.guides.extend(least.map(|oracle| Guide::Upright(oracle, "oracle".into())));
    let scale = if plot.x_log { " The axis is logarithmic: read the dots' places." } else { "" };
    let about = format!(
        "Less is better; 1 is the least there is. The oracle knows the future, and no policy does.{scale}"
    );
    chart("write-amplification", "Write amplification", &about, plot)
}

/// Differences between neighbouring samples, merged into at most `POINTS` points.
fn steps(samples: &[Sample]) -> impl Iterator<Item = (Sample, Sample)> + '_ {
    let every = samples.len().saturating_sub(1).div_ceil(POINTS).max(1);
    let kept: Vec<_> = samples
        .iter()
        .copied()
        .step_by(every)
        .chain(samples.last().copied().filter(|_| !(samples.len() - 1).is_multiple_of(every)))
        .collect();
    let pairs: Vec<_> = kept.windows(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.into_iter()
}

/// A unit that suits a number of bytes.
pub(crate) fn unit(bytes: f64) -> (&'static str, f64) {
    const UNITS: [(&str, f64); 4] = [
        ("TiB", (1_u64 << 40) as f64),
        ("GiB", (1_u64 << 30) as f64),
        ("MiB", (1_u64 << 20) as f64),
        ("KiB", 1024.0),
    ];
    UNITS.into_iter().find(|(_, unit)| bytes >= *unit).unwrap_or(UNITS[3])
}

fn host_bytes(run: &RunResult) -> (String, f64) {
    let page = f64::from(run.config.device.geometry.page_size);
    let (name, unit) = unit(run.host.pages_written as f64 * page);
    (format!("host writes, {name}"), page / unit)
}

fn over_time(ran: &[Ran<'_>], oracle: Option<&History>, run: &RunResult) -> Chart {
    let (title, scale) = host_bytes(run);
    let points = |history: &History| {
        steps(&history.samples)
            .filter(|(a, b)| b.host_writes > a.host_writes)
            .map(|(a, b)| {
                let host = (b.host_writes - a.host_writes) as f64;
                let first = b.first_programs - a.first_programs;
                let programs = (first + b.copies - a.copies) as f64;
                Point::at(b.host_writes as f64 * scale, programs / host)
            })
            .collect()
    };
    let history = |ran: &Ran<'_>| Some(ran.series(points(ran.row.history.as_ref()?)));
    let mut series: Vec<_> = ran.iter().filter_map(history).collect();
    // Where the oracle is one of the policies it has its line.
    let oracle = oracle.filter(|_| series.iter().all(|series| series.name != "oracle"));
    series.extend(
        oracle
            .map(|history| Series { colour: Some(GREY), ..Series::new("oracle", points(history)) }),
    );
    let values = series.iter().flat_map(|series| &series.ours).map(|point| point.y);
    let y_log = far_apart(values);
    let plot = Plot { y_log, ..Plot::new(Kind::Lines, &title, PER_PAGE, series) };
    let about = "Each point is about the writes since the one before it: a device that has not settled yet \
                 shows as a slope.";
    chart("write-amplification-over-time", "Write amplification over time", about, plot)
}

fn front(ran: &[Ran<'_>]) -> Chart {
    let bytes = |run: &RunResult| run.memory.map(|memory| memory.total_bytes as f64);
    let all = ran.iter().filter_map(|ran| Some(ran.interval(bytes)?.mean));
    let (name, unit) = unit(all.fold(0.0, f64::max));
    let known = ran.iter().filter_map(|ran| {
        let ram = ran.interval(bytes)?;
        let cost = ran.interval(|run| run.write_amplification)?;
        Some((*ran, Point { half: cost.half, ..Point::at(ram.mean / unit, cost.mean) }))
    });
    let known: Vec<_> = known.collect();
    let mut by_ram: Vec<_> = known.iter().map(|(_, point)| Point::at(point.x, point.y)).collect();
    by_ram.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let mut front: Vec<Point> = Vec::new();
    for point in by_ram {
        if front.last().is_none_or(|last| point.y < last.y) {
            front.push(point);
        }
    }
    let mut series: Vec<_> = known.iter().map(|(ran, point)| ran.series(vec![*point])).collect();
    if front.len() > 1 {
        series.push(Series { colour: Some(GREY), ..Series::new("Pareto front", front) });
    }
    let all = || series.iter().flat_map(|series| &series.ours);
    let (x_log, y_log) = (far_apart(all().map(|p| p.x)), far_apart(all().map(|p| p.y)));
    let plot =
        Plot { x_log, y_log, ..Plot::new(Kind::Dots, &format!("RAM, {name}"), PER_PAGE, series) };
    let about =
        "Left and below is better. The line joins the policies that no other beats in both.";
    chart("ram", "RAM against write amplification", about, plot)
}

fn lifetime(ran: &[Ran<'_>]) -> Chart {
    let most = ran.iter().filter_map(|ran| ran.interval(|run| run.lifetime.tbw_bytes));
    let most = most.map(|interval| interval.mean).reduce(f64::max).unwrap_or(0.0);
    let (name, unit) = unit_of_axis(Format::DecimalBytes, most);
    let name = name.unwrap_or_default();
    let bytes = |run: &RunResult| run.lifetime.tbw_bytes.map(|bytes| bytes / unit);
    let plot = ranks(ran, &format!("host writes until worn out (TBW), {name}"), bytes);
    // Proportional as long as device and traffic do not change.
    let known = || ran.iter().filter(|ran| ran.interval(bytes).is_some());
    let column = |name: &str, of: fn(&RunResult) -> Option<f64>| Column {
        name: name.into(),
        values: known().map(|ran| Some(ran.interval(of)?.mean)).collect(),
    };
    let also = vec![
        column("DWPD over five years", |run| run.lifetime.dwpd),
        column("years at the trace's pace", |run| run.lifetime.years),
    ];
    let also = also.into_iter().filter(|column| column.values.iter().any(Option::is_some));
    let plot = Plot { also: also.collect(), ..plot };
    let few = ran.iter().flat_map(|ran| ran.row.runs()).any(|run| run.lifetime.few_erases);
    let unsettled = ran.iter().flat_map(|ran| ran.row.runs()).any(RunResult::is_unsettled);
    let about = match (few, unsettled) {
        (true, _) => {
            "More is better. Extrapolated from fewer erases than there are blocks: a hint, no more."
        }
        (_, true) => {
            "More is better. Extrapolated from a device that had not settled: one that goes on wears out earlier or \
             later (‹settle› repeats the input until it has)."
        }
        _ => {
            "More is better. Host bytes until the mean block reaches its rated endurance. The table has DWPD over \
             five years, and years where the trace has a clock."
        }
    };
    chart("lifetime", "Lifetime", about, plot)
}

fn responses(
    ran: &[Ran<'_>],
    what: &str,
    of: impl Fn(&History) -> &Vec<thermocline_sim::history::Quantile>,
) -> Chart {
    let known = || ran.iter().filter_map(|ran| Some((*ran, of(ran.row.history.as_ref()?))));
    let longest = known().flat_map(|(_, all)| all).map(|quantile| quantile.us).fold(0.0, f64::max);
    let (name, unit) = unit_of_axis(Format::Micros, longest);
    let name = name.unwrap_or_default();
    let series = known().map(|(ran, all)| {
        let points = SHARES.iter().enumerate().filter_map(|(at, (share, _))| {
            let quantile = all.iter().find(|quantile| quantile.share == *share)?;
            Some(Point::at(at as f64, quantile.us / unit))
        });
        ran.series(points.collect())
    });
    let names = SHARES.map(|(_, name)| name.to_owned()).to_vec();
    let (x, y) = ("requests that take no longer", format!("{what} response, {name}"));
    let plot = Plot::new(Kind::Lines, x, &y, series.collect());
    let plot = Plot { categories: Some(names), y_log: true, ..plot };
    let about =
        "Lower is better. The axis is logarithmic; the last step is the worst request of all.";
    chart(&format!("{what}-responses"), &format!("Response times of {what}s"), about, plot)
}

fn erases(ran: &[Ran<'_>]) -> Chart {
    let series = ran.iter().filter_map(|ran| {
        let curve = &ran.row.history.as_ref()?.erases;
        let last = curve.len().saturating_sub(1).max(1) as f64;
        let points = curve.iter().enumerate().step_by(2);
        let points = points.map(|(at, n)| Point::at(at as f64 / last * 100.0, f64::from(*n)));
        Some(ran.series(points.collect()))
    });
    let series: Vec<_> = series.collect();
    let most = series.iter().filter_map(|series| series.ours.last()).map(|point| point.y);
    let y_log = far_apart(most);
    let about = match y_log {
        true => {
            "A flat line is even wear. The axis is logarithmic; blocks that were never erased are not on it."
        }
        false => "A flat line is even wear; the end on the right is the block that dies first.",
    };
    let x = "blocks, from the least worn to the most, %";
    let plot = Plot { y_log, ..Plot::new(Kind::Lines, x, "erases since the fill", series) };
    chart("erases", "Erase counts", about, plot)
}

fn pages_per_block(run: &RunResult) -> f64 {
    f64::from(run.config.device.geometry.data_pages_per_block())
}

fn victims_over_time(ran: &[Ran<'_>], run: &RunResult) -> Chart {
    let (title, scale) = host_bytes(run);
    let pages = pages_per_block(run);
    let series = ran.iter().filter_map(|ran| {
        let points = steps(&ran.row.history.as_ref()?.samples)
            .filter(|(a, b)| b.victims > a.victims)
            .map(|(a, b)| {
                let valid = (b.victims_valid - a.victims_valid) as f64;
                let share = valid / ((b.victims - a.victims) as f64 * pages);
                Point::at(b.host_writes as f64 * scale, share * 100.0)
            });
        Some(ran.series(points.collect()))
    });
    let y = "valid pages of a victim, %";
    let plot = Plot::new(Kind::Lines, &title, y, series.collect());
    // From 0: a victim's valid pages are copied.
    let plot = Plot { within: Some([0.0, 0.0]), ..plot };
    let about = "What cleaning has to copy: the fewer valid pages in a victim, the cheaper.";
    chart("victims-over-time", "Victims' utilization over time", about, plot)
}

fn victims(ran: &[Ran<'_>]) -> Chart {
    let series = ran.iter().filter_map(|ran| {
        let steps = &ran.row.history.as_ref()?.victims;
        let all = steps.iter().sum::<u64>();
        let share = |count: u64| count as f64 / all as f64 * 100.0;
        let last = steps.len().saturating_sub(1).max(1) as f64;
        let points = steps.iter().enumerate();
        let points = points.map(|(at, count)| Point::at(at as f64 / last * 100.0, share(*count)));
        (all > 0).then(|| ran.series(points.collect()))
    });
    let x = "valid pages of a victim, %";
    let plot = Plot::new(Kind::Lines, x, "victims, %", series.collect());
    let about = "A good policy has its victims on the left. Steps of 5 %.";
    chart("victims", "Victims' utilization", about, plot)
}

fn choices(ran: &[Ran<'_>]) -> Chart {
    let mut names = Vec::new();
    let mut series = Vec::new();
    for ran in ran {
        let Some(run) = ran.row.runs().first() else { continue };
        let chosen: Vec<_> = run.cleaning.choices.iter().filter(|(_, count)| **count > 0).collect();
        let mut points = Vec::new();
        for (rule, count) in &chosen {
            points.push(Point::at(names.len() as f64, **count as f64));
            let policy = ran.row.name();
            // A policy with one rule has its own name.
            let short = chosen.len() == 1;
            names.push(if short { policy.to_owned() } else { format!("{policy}: {rule}") });
        }
        series.push(ran.series(points));
    }
    let values = series.iter().flat_map(|series| &series.ours).map(|point| point.y);
    let x_log = far_apart(values);
    let plot = Plot::new(Kind::Ranks, "blocks cleaned", "policy and rule", series);
    let plot = Plot { categories: Some(names), x_log, ..plot };
    let about = "Blocks cleaned, by the rule that chose them where a policy has several.";
    chart("choices", "Cleaning choices", about, plot)
}
