//! Runs side by side: a table an input, the best of each column marked.

use comfy_table::{Attribute, Cell};
use thermocline_policy::placement;
use thermocline_sim::{RunResult, units};

use super::{
    number::{self, NONE, Unit, grouped, percent},
    results::Compared,
    summary,
    table::{Figures, heading},
};
use crate::output::Output;

/// What stands behind the best of a column.
pub const MARK: &str = "*";

/// A table an input; where there are several, a table of all of them at the end.
pub fn show(inputs: &[Compared], output: &Output) -> String {
    let mut tables: Vec<_> = inputs.iter().map(|compared| table(compared, output)).collect();
    let several = inputs.iter().any(|compared| compared.rows.len() > 1);
    if several && inputs.len() > 1 {
        tables.push(summary::show(inputs, output));
    }
    let mut text = tables.join("\n");
    if several {
        text += &format!("{MARK} best of its column\n");
    }
    text
}

fn table(compared: &Compared, output: &Output) -> String {
    let runs: Vec<_> = compared.runs().collect();
    let most = most_requests(&runs);
    let mut text = match runs.iter().find(|run| run.host.requests == most) {
        Some(run) => heading(&title(run)),
        None => heading(&format!("{}: no policy could run", compared.input)),
    } + "\n";
    if !runs.is_empty() {
        let columns = columns(&runs);
        let header = ["policy".to_owned()].into_iter();
        let mut figures = Figures::new(header.chain(columns.iter().map(|c| c.header.clone())));
        let mut ran = 0..runs.len();
        for row in &compared.rows {
            let (name, at) = match row {
                Ok(run) => (&run.config.policy, ran.next()),
                Err(refused) => (&refused.policy, None),
            };
            let cells = columns.iter().map(|column| column.cell(at));
            figures.row([Cell::new(name)].into_iter().chain(cells));
        }
        text += &figures.finish(output.width());
    }
    for run in runs.iter().filter(|run| run.host.requests < most) {
        text += &format!(
            "{} wore the device out after {}, {} written\n",
            run.config.policy,
            number::counted(run.host.requests, "request"),
            units::show_size(run.host.bytes_written),
        );
    }
    for refused in compared.refused() {
        text += &format!("{} could not run: {}\n", refused.policy, refused.error);
    }
    text
}

/// Whether a run knew the future, and stands beside the others to measure them and not to be chosen.
pub fn foresees(run: &RunResult) -> bool {
    let name = run.config.placement.as_deref().and_then(|call| call.split('(').next());
    name.is_some_and(placement::sees_future)
}

/// The requests of the runs that got furthest: of all, unless some wore the device out before the end.
fn most_requests(runs: &[&RunResult]) -> u64 {
    runs.iter().map(|run| run.host.requests).max().unwrap_or(0)
}

/// What the runs of a table have in common.
fn title(run: &RunResult) -> String {
    let config = &run.config;
    let geometry = &config.device.geometry;
    format!(
        "{}: {}, {} written; {} of {}, {} over-provisioning, clock: {}",
        run.trace.path,
        number::counted(run.trace.requests, "request"),
        units::show_size(run.host.bytes_written),
        config.device.name,
        units::show_size(geometry.capacity()),
        percent(config.over_provisioning),
        config.clock,
    )
}

/// A figure of all runs.
struct Column {
    header: String,
    texts: Vec<Option<String>>,
    best: Option<String>,
}

/// The same figure of several runs.
type Figure = fn(&RunResult) -> Option<f64>;

impl Column {
    fn new(
        header: impl Into<String>,
        runs: &[&RunResult],
        figure: Figure,
        best: fn(f64, f64) -> f64,
        show: impl Fn(f64) -> String,
    ) -> Self {
        let several = runs.len() > 1;
        // Who ended early did less of everything.
        let most = most_requests(runs);
        let rivals = runs.iter().filter(|run| !foresees(run) && run.host.requests == most);
        let best = rivals.filter_map(|run| figure(run)).reduce(best).filter(|_| several);
        Self {
            header: header.into(),
            texts: runs.iter().map(|run| figure(run).map(&show)).collect(),
            best: best.map(&show),
        }
    }

    /// The figure of a run, if it ran. What looks like the best is as good: digits that are not
    /// shown decide nothing.
    fn cell(&self, run: Option<usize>) -> Cell {
        match run.and_then(|run| self.texts[run].as_ref()) {
            None => Cell::new(format!("{NONE} ")),
            Some(text) if self.best.as_ref() == Some(text) => {
                Cell::new(format!("{text}{MARK}")).add_attribute(Attribute::Bold)
            }
            Some(text) => Cell::new(format!("{text} ")),
        }
    }
}

fn columns(runs: &[&RunResult]) -> Vec<Column> {
    let count = |x: f64| grouped(x as u64);
    let least = f64::min;
    let mut columns = vec![
        Column::new("erases", runs, |r| Some(r.flash.blocks_erased as f64), least, count),
        Column::new("copied\npages", runs, |r| Some(r.flash.pages_copied as f64), least, count),
        Column::new(
            "write\namplif.",
            runs,
            |r| r.write_amplification,
            least,
            |x| number::fixed(x, 3),
        ),
        Column::new(
            "cleaning\ncost",
            runs,
            |r| Some(r.cleaning.cost),
            least,
            |x| number::fixed(x, 1),
        ),
        Column::new(
            "victims'\nutiliz.",
            runs,
            |r| r.cleaning.mean_victim_utilization,
            least,
            |x| format!("{} %", number::fixed(x * 100.0, 1)),
        ),
        Column::new("wear\nstddev", runs, |r| Some(r.wear.stddev), least, |x| number::fixed(x, 2)),
        times("write\nmean", runs, |r| r.response_us.write.mean),
        times("write\np99", runs, |r| r.response_us.write.p99),
        times("write\np99.9", runs, |r| r.response_us.write.p999),
        times("write\nmax", runs, |r| r.response_us.write.max),
        lifetime(runs),
    ];
    if runs.iter().any(|run| run.nftl.is_some()) {
        let folds: Figure = |r| r.nftl.as_ref().map(|nftl| nftl.folds as f64);
        let collections: Figure = |r| r.nftl.as_ref().map(|_| r.cleaning.runs as f64);
        columns.insert(1, Column::new("folds", runs, folds, least, count));
        columns.insert(1, Column::new("collec-\ntions", runs, collections, least, count));
        columns.push(times("response\nin all", runs, |r| Some(r.application.response_us)));
        columns.push(times("device\ndelay", runs, |r| Some(r.application.device_delay_us)));
    }
    let excess: Figure = |r| r.oracle.as_ref().map(|oracle| oracle.excess);
    if runs.iter().any(|run| run.oracle.is_some()) {
        let after =
            columns.iter().position(|c| c.header.starts_with("write")).map_or(0, |at| at + 1);
        columns.insert(after, Column::new("over\noracle", runs, excess, least, number::excess));
    }
    let energy: Figure = |r| r.energy_mj;
    if let Some(smallest) = extreme(runs, energy, least) {
        let digits = number::digits_for(smallest);
        let show = move |mj| number::fixed(mj, digits);
        columns.push(Column::new("energy,\nmJ", runs, energy, least, show));
    }
    columns
}

fn extreme(runs: &[&RunResult], figure: Figure, of: fn(f64, f64) -> f64) -> Option<f64> {
    runs.iter().filter_map(|run| figure(run)).reduce(of)
}

/// Times in the unit that suits the least of them, so that they can be compared.
fn times(header: &str, runs: &[&RunResult], us: Figure) -> Column {
    let shortest = extreme(runs, us, f64::min).unwrap_or(0.0);
    let unit = Unit::of_us(shortest);
    let digits = number::digits_for(unit.convert(shortest)).clamp(1, 2);
    Column::new(format!("{header}, {}", unit.name), runs, us, f64::min, move |us| {
        number::fixed(unit.convert(us), digits)
    })
}

/// Half of the blocks' life: in time where time is the host's, else in data written, because on the
/// device's own clock a slow policy lives long by doing little.
fn lifetime(runs: &[&RunResult]) -> Column {
    const DAYS: f64 = 365.25;
    const TIB: f64 = (1_u64 << 40) as f64;
    const GIB: f64 = (1_u64 << 30) as f64;
    let (figure, units): (Figure, _) = if runs.iter().any(|r| r.trace.arrivals_us.is_some()) {
        (|r| r.lifetime.median_block_years, [("years", 1.0), ("days", DAYS)])
    } else {
        let units = [("TiB written", 1.0 / TIB), ("GiB written", 1.0 / GIB)];
        (|r| r.lifetime.median_block_host_bytes, units)
    };
    let shortest = extreme(runs, figure, f64::min).unwrap_or(f64::MAX);
    let (unit, scale) = units[usize::from(shortest * units[0].1 < 1.0)];
    let digits = number::digits_for(shortest * scale).min(2);
    Column::new(format!("lifetime,\n{unit}"), runs, figure, f64::max, move |value| {
        number::fixed(value * scale, digits)
    })
}
