//! Runs side by side: a table an input that fits the screen, the best of each column marked, and an
//! answer at the end.

use comfy_table::{Attribute, Cell};
use thermocline_chart::show::plain;
use thermocline_sim::{
    RunResult,
    answer::{Wish, are_tied_within, resolution},
    metric::{Better, Metric, Trust, metrics},
    statistics::Interval,
};
use thermocline_study::Door;
use thermocline_units as units;

use super::{
    answer,
    compared::{Compared, Row, answer_for},
    figure::Scale,
    number::{self, NONE, percent},
    summary,
    table::{Figures, MARK, heading, wrap},
};

/// The shown results, and their form.
pub struct View {
    /// Characters in a line.
    pub width: usize,
    /// Every column, however wide the table is then.
    pub wide: bool,
    /// The metrics asked for, where some were.
    pub metrics: Vec<&'static Metric>,
    /// Tables as Markdown.
    pub markdown: bool,
    /// The aim of the choice of a policy, and who builds it.
    pub wish: Wish,
}

/// A table for each input; for several inputs, also a table of all; the answer at the end.
pub fn show(inputs: &[Compared], view: &View) -> String {
    let mut tables: Vec<_> = inputs.iter().map(|compared| table(compared, view)).collect();
    let several = inputs.iter().any(|compared| compared.rows.len() > 1);
    if several && inputs.len() > 1 {
        tables.push(summary::show(inputs, view));
    }
    let mut text = tables.join("\n");
    if several {
        text += &wrap(
            &format!("{MARK} best of its column, by more than 1 % and the noise\n"),
            view.width,
        );
        if inputs.len() > 1 {
            for compared in inputs {
                let found = answer_for(view.wish, &[compared]);
                let sentence = format!("{}: {}", plain(&compared.input), answer::brief(&found));
                text += &wrap(&format!("{sentence}\n"), view.width);
            }
        }
        let all: Vec<_> = inputs.iter().collect();
        let sentence = answer::sentence(&answer_for(view.wish, &all));
        let sentence = wrap(&Door::CommandLine.words(&sentence), view.width);
        text += &match view.markdown {
            true => format!("\n{sentence}\n"),
            false => format!("{}\n", heading(&sentence)),
        };
    }
    text
}

fn table(compared: &Compared, view: &View) -> String {
    let most = compared.most_requests();
    let title = match compared.runs().find(|run| run.host.requests == most) {
        Some(run) => title(run),
        None => format!("{}: no policy could run", plain(&compared.input)),
    };
    let title = wrap(&title, view.width);
    let mut text = if view.markdown { format!("{title}\n\n") } else { heading(&title) + "\n" };
    if compared.runs().next().is_some() {
        text += &figures(compared, view);
        text += &wrap(&extrapolation(compared), view.width);
    }
    for run in compared.runs().filter(|run| run.host.requests < most) {
        let line = format!(
            "{} wore the device out after {}, {} written\n",
            run.config.policy,
            number::counted(run.host.requests, "request"),
            units::show_size(run.host.bytes_written),
        );
        text += &wrap(&line, view.width);
    }
    for refused in compared.refused() {
        text +=
            &wrap(&format!("{} could not run: {}\n", refused.policy, refused.error), view.width);
    }
    text
}

/// The table: the columns asked for, or those of most importance that the screen has room for.
fn figures(compared: &Compared, view: &View) -> String {
    let chosen = !view.metrics.is_empty();
    let mut wanted = if chosen { view.metrics.clone() } else { candidates(compared, view.wide) };
    if chosen || view.wide {
        return render(compared, &wanted, view);
    }
    wanted.sort_by_key(|metric| metric.look.rank);
    let mut shown = String::new();
    for count in 1..=wanted.len() {
        let mut columns = wanted[..count].to_vec();
        columns.sort_by_key(|metric| place(metric));
        let text = render(compared, &columns, view);
        if count > 1 && !view.markdown && super::table::width(&text) > view.width {
            break;
        }
        shown = text;
        if view.markdown && count == MARKDOWN_COLUMNS {
            break;
        }
    }
    shown
}

/// Columns of a table that is pasted somewhere.
const MARKDOWN_COLUMNS: usize = 7;

/// Where a metric stands in the result.
fn place(metric: &Metric) -> usize {
    metrics().iter().position(|other| other.key == metric.key).unwrap_or(usize::MAX)
}

/// Every metric that is a column and that some run has. The lifetime is in years where they can be
/// compared, else in bytes written; where all is shown, both are.
fn candidates(compared: &Compared, wide: bool) -> Vec<&'static Metric> {
    let has = |metric: &&Metric| compared.runs().any(|run| !metric.of(run).is_null());
    let years = compared.runs().all(|run| {
        run.lifetime.years.is_some() && !run.lifetime.few_erases && !run.lifetime.overloaded
    });
    let fits = |metric: &&Metric| {
        wide || match metric.key.as_str() {
            "lifetime.years" | "lifetime.most_worn_years" => years,
            "lifetime.tbw_bytes" => !years,
            _ => true,
        }
    };
    metrics().iter().filter(|metric| !metric.header.is_empty()).filter(has).filter(fits).collect()
}

fn render(compared: &Compared, metrics: &[&'static Metric], view: &View) -> String {
    let columns: Vec<_> = metrics.iter().map(|metric| Column::new(metric, compared)).collect();
    let header = ["policy".to_owned()].into_iter();
    let mut figures = Figures::new(header.chain(columns.iter().map(|c| c.header.clone())));
    for (at, row) in compared.rows.iter().enumerate() {
        let cells = columns.iter().map(|column| column.cell(at));
        figures.row([Cell::new(row.name())].into_iter().chain(cells));
    }
    if view.markdown { figures.markdown() } else { figures.finish(None) }
}

/// The common settings of a table's runs.
fn title(run: &RunResult) -> String {
    let config = &run.config;
    let geometry = &config.device.geometry;
    format!(
        "{}: {}, {} written; {} of {}, {} over-provisioning, clock: {}",
        plain(&run.trace.path),
        number::counted(run.trace.requests, "request"),
        units::show_size(run.host.bytes_written),
        config.device.name,
        units::show_size(geometry.capacity()),
        percent(config.over_provisioning),
        config.clock,
    )
}

/// The basis of the lifetimes.
fn extrapolation(compared: &Compared) -> String {
    let erases = || compared.runs().map(|run| run.lifetime.from_erases);
    let (Some(least), Some(most)) = (erases().min(), erases().max()) else { return String::new() };
    let Some(run) = compared.runs().next() else { return String::new() };
    if most == 0 {
        return String::new();
    }
    let few = compared.runs().filter(|run| run.lifetime.few_erases).count();
    let range = match least == most {
        true => number::grouped(least),
        false => format!("{} to {}", number::grouped(least), number::grouped(most)),
    };
    let mut text = format!(
        "Lifetimes are extrapolated from {range} erases to {} P/E cycles.\n",
        number::grouped(run.config.device.rules.endurance.into())
    );
    if few > 0 {
        text += "Too few erases (fewer than one a block) to rank lifetimes by.\n";
    }
    let unsettled: Vec<_> =
        compared.rows.iter().filter(|row| row.runs().iter().any(RunResult::is_unsettled)).collect();
    if let [first, ..] = &unsettled[..] {
        text += &match unsettled.len() {
            1 => format!("{} had not settled when the run ended.\n", first.name()),
            n => format!("{n} policies had not settled when the run ended.\n"),
        };
    }
    text
}

/// A figure of all policies.
struct Column {
    header: String,
    texts: Vec<Option<String>>,
    best: Option<usize>,
}

impl Column {
    fn new(metric: &'static Metric, compared: &Compared) -> Self {
        let values: Vec<_> = compared.rows.iter().map(|row| row.values(metric)).collect();
        let all = values.iter().flatten().flatten().copied();
        let scale = Scale::of(metric.look.format, all);
        let header = if metric.header.is_empty() { &metric.key } else { &metric.header };
        let text = |values: &Vec<f64>| {
            let Interval { mean, half } = Interval::of(values)?;
            let half = match values.len() {
                1 => String::new(),
                _ => format!(" ±{}", scale.show_half(half)),
            };
            Some(scale.show(mean) + &half)
        };
        let texts = compared.rows.iter().zip(&values).map(|(row, values)| match values {
            Some(values) => {
                text(values).map(|text| match row.runs().iter().any(|r| metric.is_of_queue(r)) {
                    true => format!("{text} (overloaded)"),
                    false => text,
                })
            }
            None => words(metric, row),
        });
        Self {
            header: match scale.unit {
                Some(unit) if header.contains('\n') => format!("{header}, {unit}"),
                Some(unit) => format!("{header},\n{unit}"),
                None => header.clone(),
            },
            texts: texts.collect(),
            best: best(metric, compared, &values),
        }
    }

    fn cell(&self, row: usize) -> Cell {
        match &self.texts[row] {
            None => Cell::new(format!("{NONE} ")),
            Some(text) if self.best == Some(row) => {
                Cell::new(format!("{text}{MARK}")).add_attribute(Attribute::Bold)
            }
            Some(text) => Cell::new(format!("{text} ")),
        }
    }
}

/// A metric's text value.
fn words(metric: &Metric, row: &Row) -> Option<String> {
    let value = metric.of(row.runs().first()?);
    (!value.is_null() && !value.is_number())
        .then(|| super::figure::show(metric.look.format, &value))
}

/// The row that is better than every other, if there is one: beyond chance and by a noticeable amount.
/// Rows that knew the future or ended early do not compete; if one value cannot be compared, there is no
/// best.
fn best(metric: &Metric, compared: &Compared, values: &[Option<Vec<f64>>]) -> Option<usize> {
    let most = compared.most_requests();
    let is_rival = |row: &Row| {
        let ended = row.runs().iter().all(|run| run.host.requests == most && !run.knows_future());
        ended && !row.runs().is_empty()
    };
    let rivals: Vec<_> = (0..values.len())
        .filter(|at| is_rival(&compared.rows[*at]))
        .filter_map(|at| values[at].as_ref().map(|values| (at, values)))
        .collect();
    let comparable = |at: usize| compared.rows[at].runs().iter().all(|r| metric.is_comparable(r));
    let trusted =
        metric.look.trust == Trust::Always || rivals.iter().all(|(at, _)| comparable(*at));
    if rivals.len() < 2 || !trusted {
        return None;
    }
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let by_value = |a: &&(usize, &Vec<f64>), b: &&(usize, &Vec<f64>)| sum(a.1).total_cmp(&sum(b.1));
    let (at, best) = match metric.look.better {
        Better::Neither => return None,
        Better::Less => rivals.iter().min_by(by_value)?,
        Better::More => rivals.iter().max_by(by_value)?,
    };
    // Few erases decide nothing, whatever they are counted as.
    let of_erases = ["flash.", "cleaning.", "wear.", "lifetime.", "write_amplification", "oracle."];
    let counts = of_erases.iter().any(|begin| metric.key.starts_with(begin));
    let erases = |at: usize| compared.rows[at].runs().iter().map(|r| r.lifetime.from_erases).min();
    let erases = rivals.iter().filter_map(|(at, _)| erases(*at)).min().filter(|_| counts);
    let irrelevant = resolution(erases.unwrap_or(0));
    let ties = |values| are_tied_within(values, best, irrelevant);
    let tied = rivals.iter().any(|(other, values)| other != at && ties(values));
    (!tied).then_some(*at)
}
