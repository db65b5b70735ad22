//! The page of a comparison, or of a single run: the answer, the figures, why, and how to repeat it.

use sha2::{Digest, Sha256};
use thermocline_chart::Chart;
use thermocline_sim::{
    RunResult,
    answer::Wish,
    metric::{Better, Metric, metrics},
    statistics::Interval,
};
use thermocline_units::show_size;

use crate::{
    answer, charts,
    compared::{Compared, Row, answer_for},
    figure::Scale,
    names, number,
    page::{Block, Cell, Page, Rows, Section},
};

/// Columns of a table of results.
const COLUMNS: usize = 14;
/// The part of a mean that it may be off without a word.
pub(crate) const CERTAIN: f64 = 5e-5;

/// Everything needed to repeat the results of a page.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// The command, as a shell takes it.
    pub command: String,
    /// The program's version.
    pub version: String,
}

/// The page of a comparison; of a run, where there is one policy on one input.
#[must_use]
pub fn page(inputs: &[Compared], wish: Wish, repeat: &Repeat) -> Page {
    let (several, names) = (inputs.len() > 1, names::of(inputs));
    let mut sections: Vec<_> = inputs
        .iter()
        .zip(&names)
        .map(|(compared, name)| Section {
            title: name.clone(),
            blocks: blocks(compared, several, wish),
        })
        .collect();
    sections.push(repetition(inputs, repeat));
    let policies = policies(inputs);
    let title = match (policies, inputs, &names[..]) {
        (1, [only], [input]) => {
            format!("{} on {input}", only.rows.first().map_or("", Row::name))
        }
        (_, _, [input]) => format!("{policies} policies on {input}"),
        _ => format!("{policies} policies on {}", number::counted(inputs.len() as u64, "input")),
    };
    Page { title, lead: lead(inputs, wish), sections }
}

/// Every chart of a comparison, for files: with several inputs their names begin with the input's number.
#[must_use]
pub fn all_charts(inputs: &[Compared]) -> Vec<Chart> {
    let several = inputs.len() > 1;
    let of = |(at, compared): (usize, &Compared)| {
        charts::of(compared, &if several { format!("{}-", at + 1) } else { String::new() })
    };
    inputs.iter().enumerate().flat_map(of).collect()
}

fn policies(inputs: &[Compared]) -> usize {
    inputs.iter().map(|compared| compared.rows.len()).max().unwrap_or(0)
}

/// The answer that a page begins with.
#[must_use]
pub fn lead(inputs: &[Compared], wish: Wish) -> Vec<String> {
    if policies(inputs) == 1 {
        return inputs.iter().flat_map(Compared::runs).take(1).map(in_a_sentence).collect();
    }
    let all: Vec<_> = inputs.iter().collect();
    vec![answer::sentence(&answer_for(wish, &all))]
}

/// The result of a single run.
fn in_a_sentence(run: &RunResult) -> String {
    let Some(amplification) = run.write_amplification else {
        return "The host wrote nothing.".into();
    };
    let mut text = format!(
        "{} programs {} pages for each page the host writes",
        run.config.policy,
        number::fixed(amplification, 3)
    );
    if let Some(oracle) = &run.oracle {
        text += &format!(", {} more than the oracle", number::share(oracle.excess));
    }
    text += &format!(
        ", with {} and a write p99 of {}{}.",
        number::counted(run.flash.blocks_erased, "erase"),
        run.response_us.write.p99.map_or_else(|| number::NONE.into(), number::time_us),
        if run.lifetime.overloaded { " (overloaded)" } else { "" }
    );
    text += &answer::settling(run);
    text
}

fn blocks(compared: &Compared, several: bool, wish: Wish) -> Vec<Block> {
    let mut blocks = Vec::new();
    if several && compared.rows.len() > 1 {
        let found = answer_for(wish, &[compared]);
        blocks.push(Block::Text(format!("Here: {}.", answer::brief(&found))));
    }
    blocks.extend(compared.runs().next().map(|run| Block::Text(device(run))));
    blocks.push(Block::Table(results(compared)));
    let most = compared.most_requests();
    for run in compared.runs().filter(|run| run.host.requests < most) {
        blocks.push(Block::Text(format!(
            "{} wore the device out after {}, {} written.",
            run.config.policy,
            number::counted(run.host.requests, "request"),
            show_size(run.host.bytes_written)
        )));
    }
    for refused in compared.refused() {
        blocks.push(Block::Text(format!("{} could not run: {}.", refused.policy, refused.error)));
    }
    blocks.push(Block::Charts(charts::of(compared, "")));
    blocks
}

/// The device and the traffic in a sentence.
fn device(run: &RunResult) -> String {
    let config = &run.config;
    let geometry = &config.device.geometry;
    let page = u64::from(geometry.page_size);
    format!(
        "Device {}: {} of {} × {}; {} exported, {} over-provisioning, {} full. The host writes {} in {}, on the {} clock.",
        config.device.name,
        number::counted(u64::from(geometry.data_blocks()), "block"),
        geometry.data_pages_per_block(),
        show_size(page),
        show_size(u64::from(config.logical_pages) * page),
        number::percent(config.over_provisioning),
        number::percent(config.utilization),
        show_size(run.host.bytes_written),
        number::counted(run.host.requests, "request"),
        config.clock,
    )
}

fn results(compared: &Compared) -> Rows {
    let mut columns: Vec<_> = metrics()
        .iter()
        .filter(|metric| !metric.header.is_empty())
        .filter(|metric| compared.runs().any(|run| metric.number(run).is_some()))
        .collect();
    columns.sort_by_key(|metric| metric.look.rank);
    // How long it lasts is shown however wide the table is.
    let always = ["lifetime.dwpd", "lifetime.years"];
    let mut at = 0;
    columns.retain(|metric| {
        at += 1;
        at <= COLUMNS || always.contains(&metric.key.as_str())
    });
    let mut header = vec!["policy".to_owned()];
    let scales: Vec<_> = columns.iter().map(|metric| scale(compared, metric)).collect();
    header.extend(columns.iter().zip(&scales).map(|(metric, scale)| scale.header(metric)));
    let ran = || compared.rows.iter().filter(|row| !row.runs().is_empty());
    let best: Vec<_> = columns.iter().map(|metric| best(compared, metric)).collect();
    let row = |row: &Row| {
        let name = Cell { text: row.name().to_owned(), value: None, best: false };
        let figures = columns.iter().zip(&scales).zip(&best);
        let figures = figures.map(|((metric, scale), best)| figure_of(row, metric, scale, *best));
        std::iter::once(name).chain(figures).collect()
    };
    Rows { title: "Results".into(), header, rows: ran().map(row).collect() }
}

/// One unit for a whole column.
fn scale(compared: &Compared, metric: &Metric) -> Scale {
    let known = compared.rows.iter().filter_map(|row| row.values(metric)).flatten();
    Scale::of(metric.look.format, known)
}

fn figure_of(row: &Row, metric: &Metric, scale: &Scale, best: Option<f64>) -> Cell {
    let Some(Interval { mean, half }) = row.values(metric).and_then(|values| Interval::of(&values))
    else {
        return Cell { text: number::NONE.into(), value: None, best: false };
    };
    let mut text = match half > mean.abs() * CERTAIN {
        true => format!("{} ± {}", scale.show(mean), scale.show_half(half)),
        false => scale.show(mean),
    };
    if row.runs().iter().any(|run| metric.is_of_queue(run)) {
        text += " (overloaded)";
    }
    let close = |best: f64| (mean - best).abs() <= thermocline_sim::answer::IRRELEVANT * best.abs();
    Cell { text, value: Some(mean), best: best.is_some_and(close) }
}

/// The best value of a column, if it is comparable and meaningful.
fn best(compared: &Compared, metric: &Metric) -> Option<f64> {
    let most = compared.most_requests();
    let fits = |row: &&Row| {
        let runs = row.runs();
        !runs.is_empty()
            && runs
                .iter()
                .all(|r| metric.is_comparable(r) && r.host.requests == most && !r.knows_future())
    };
    let values: Vec<f64> =
        compared.rows.iter().filter(fits).filter_map(|r| r.mean(metric)).collect();
    let (least, greatest) =
        (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
    let differ = greatest - least > thermocline_sim::answer::IRRELEVANT * greatest.abs();
    match metric.look.better {
        Better::Less if differ => Some(least),
        Better::More if differ => Some(greatest),
        _ => None,
    }
}

fn repetition(inputs: &[Compared], repeat: &Repeat) -> Section {
    let mut digests = Vec::new();
    for compared in inputs {
        let Some(run) = compared.runs().next() else { continue };
        match &run.trace.digest {
            Some(digest) => digests.push(format!("{digest}  requests of {}", compared.input)),
            None => digests.push(format!("{}: made from its name and the seed", compared.input)),
        }
    }
    for row in inputs.iter().flat_map(|compared| &compared.rows) {
        for run in row.runs() {
            let digest = Sha256::digest(run.stable_json().to_string().as_bytes());
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            digests.push(format!(
                "{digest}  {} on {}, seed {}",
                row.name(),
                run.trace.path,
                run.config.seed
            ));
        }
    }
    repeats(repeat, digests)
}

/// How to repeat it.
pub(crate) fn repeats(repeat: &Repeat, digests: Vec<String>) -> Section {
    let mut blocks = vec![
        Block::Text(format!(
            "{} made this page. One seed gives one result, byte for byte, on any number of threads.",
            repeat.version
        )),
        Block::Lines(vec![repeat.command.clone()]),
    ];
    if !digests.is_empty() {
        blocks.push(Block::Text(
            "SHA-256 of the requests of each trace, and of each result (its JSON on one line, without the key perf):".into(),
        ));
        blocks.push(Block::Lines(digests));
    }
    Section { title: "Repeat it".into(), blocks }
}
