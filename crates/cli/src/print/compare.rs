//! Runs side by side: a table an input, the best of each column marked.

use comfy_table::{Attribute, Cell};
use thermocline_sim::{RunResult, units};

use super::{
    number::{self, NONE, Unit, grouped, percent},
    table::{Figures, heading},
};
use crate::output::Output;

const MARK: &str = "*";

/// One table for each `per_input` runs.
pub fn show(runs: &[RunResult], per_input: usize, output: &Output) -> String {
    let tables: Vec<_> = runs.chunks(per_input.max(1)).map(|runs| table(runs, output)).collect();
    let mut text = tables.join("\n");
    if per_input > 1 {
        text += &format!("{MARK} best of its column\n");
    }
    text
}

fn table(runs: &[RunResult], output: &Output) -> String {
    let columns = columns(runs);
    let header = ["policy".to_owned()].into_iter();
    let mut figures = Figures::new(header.chain(columns.iter().map(|c| c.header.clone())));
    for (i, run) in runs.iter().enumerate() {
        let name = Cell::new(&run.config.policy);
        figures.row([name].into_iter().chain(columns.iter().map(|column| column.cell(i))));
    }
    format!("{}\n{}", heading(&title(&runs[0])), figures.finish(output.width()))
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

impl Column {
    fn new(
        header: impl Into<String>,
        values: &[Option<f64>],
        best: fn(f64, f64) -> f64,
        show: impl Fn(f64) -> String,
    ) -> Self {
        let several = values.len() > 1;
        let best = values.iter().flatten().copied().reduce(best).filter(|_| several);
        Self {
            header: header.into(),
            texts: values.iter().map(|value| value.map(&show)).collect(),
            best: best.map(&show),
        }
    }

    /// What looks like the best is as good: digits that are not shown decide nothing.
    fn cell(&self, row: usize) -> Cell {
        match &self.texts[row] {
            None => Cell::new(format!("{NONE} ")),
            Some(text) if self.best.as_ref() == Some(text) => {
                Cell::new(format!("{text}{MARK}")).add_attribute(Attribute::Bold)
            }
            Some(text) => Cell::new(format!("{text} ")),
        }
    }
}

fn columns(runs: &[RunResult]) -> Vec<Column> {
    let of = |figure: fn(&RunResult) -> Option<f64>| runs.iter().map(figure).collect::<Vec<_>>();
    let count = |x: f64| grouped(x as u64);
    let least = f64::min;
    let mut columns = vec![
        Column::new("erases", &of(|r| Some(r.flash.blocks_erased as f64)), least, count),
        Column::new("copied\npages", &of(|r| Some(r.flash.pages_copied as f64)), least, count),
        Column::new("write\namplif.", &of(|r| r.write_amplification), least, |x| {
            number::fixed(x, 3)
        }),
        Column::new("cleaning\ncost", &of(|r| Some(r.cleaning.cost)), least, |x| {
            number::fixed(x, 1)
        }),
        Column::new("victims'\nutiliz.", &of(|r| r.cleaning.mean_victim_utilization), least, |x| {
            format!("{} %", number::fixed(x * 100.0, 1))
        }),
        Column::new("wear\nstddev", &of(|r| Some(r.wear.stddev)), least, |x| number::fixed(x, 2)),
        times("write\nmean", &of(|r| r.response_us.write.mean)),
        times("write\np99", &of(|r| r.response_us.write.p99)),
        times("write\np99.9", &of(|r| r.response_us.write.p999)),
        lifetime(runs),
    ];
    let energy = of(|r| r.energy_mj);
    if energy.iter().any(Option::is_some) {
        let smallest = energy.iter().flatten().copied().reduce(least).unwrap_or(0.0);
        let digits = number::digits_for(smallest);
        let show = move |mj| number::fixed(mj, digits);
        columns.push(Column::new("energy,\nmJ", &energy, least, show));
    }
    columns
}

/// Times in the unit that suits the least of them, so that they can be compared.
fn times(header: &str, us: &[Option<f64>]) -> Column {
    let shortest = us.iter().flatten().copied().reduce(f64::min).unwrap_or(0.0);
    let unit = Unit::of_us(shortest);
    let digits = number::digits_for(unit.convert(shortest)).clamp(1, 2);
    Column::new(format!("{header}, {}", unit.name), us, f64::min, move |us| {
        number::fixed(unit.convert(us), digits)
    })
}

/// Half of the blocks' life: in time where time is the host's, else in data written, because on the
/// device's own clock a slow policy lives long by doing little.
fn lifetime(runs: &[RunResult]) -> Column {
    const DAYS: f64 = 365.25;
    const TIB: f64 = (1_u64 << 40) as f64;
    const GIB: f64 = (1_u64 << 30) as f64;
    let of = |figure: fn(&RunResult) -> Option<f64>| runs.iter().map(figure).collect::<Vec<_>>();
    let (values, units) = if runs.iter().any(|r| r.trace.arrivals_us.is_some()) {
        (of(|r| r.lifetime.median_block_years), [("years", 1.0), ("days", DAYS)])
    } else {
        let bytes = of(|r| r.lifetime.median_block_host_bytes);
        (bytes, [("TiB written", 1.0 / TIB), ("GiB written", 1.0 / GIB)])
    };
    let shortest = values.iter().flatten().copied().reduce(f64::min).unwrap_or(f64::MAX);
    let (unit, scale) = units[usize::from(shortest * units[0].1 < 1.0)];
    let digits = number::digits_for(shortest * scale).min(2);
    Column::new(format!("lifetime,\n{unit}"), &values, f64::max, move |value| {
        number::fixed(value * scale, digits)
    })
}
