//! `thermocline diff`: in which figures two files of results differ.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use serde::Serialize;
use serde_json::Value;
use thermocline_chart::show::plain;
use thermocline_sim::{
    SimError,
    metric::{Metric, metrics},
    result::StoredResult,
};

use crate::{
    args::catalogue::DiffArgs,
    exit::Failure,
    output::Output,
    print::{
        figure, json,
        number::{self, NONE},
        table::{Sheet, USUAL_WIDTH, heading, wrap},
    },
};

/// The identity of a run in its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Identity {
    trace: String,
    policy: String,
    seed: u64,
}

/// Two runs that belong together, and where they differ.
#[derive(Serialize)]
struct Pair {
    #[serde(flatten)]
    identity: Identity,
    differences: Vec<Difference>,
}

#[derive(Serialize)]
struct Difference {
    key: &'static str,
    a: Value,
    b: Value,
    /// The relative change from a to b, for numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<f64>,
    #[serde(skip)]
    metric: &'static Metric,
}

#[derive(Serialize)]
struct Found {
    pairs: Vec<Pair>,
    only_a: Vec<Identity>,
    only_b: Vec<Identity>,
}

/// Pairs the runs of both files and prints where they differ.
pub fn run(args: &DiffArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let found = compare(&a, b, args.all);
    if found.pairs.is_empty() {
        return Err(Failure::usage(format!(
            "{} and {} have no run of one trace, policy and seed in common",
            args.a.display(),
            args.b.display()
        )));
    }
    if args.json {
        return json::print(&found, output);
    }
    let width = output.width().unwrap_or(USUAL_WIDTH);
    let names = [&args.a, &args.b].map(|path| plain(&path.display().to_string()));
    let mut text = String::new();
    for pair in &found.pairs {
        text += &show(pair, &names, width, &output);
    }
    for (name, only) in names.iter().zip([&found.only_a, &found.only_b]) {
        for Identity { trace, policy, seed } in only {
            let line = format!("only in {name}: {policy} on {}, seed {seed}\n", plain(trace));
            text += &wrap(&line, width);
        }
    }
    output.put_styled(&text)
}

fn show(pair: &Pair, names: &[String; 2], width: usize, output: &Output) -> String {
    let Identity { trace, policy, seed } = &pair.identity;
    let mut text =
        heading(&wrap(&format!("{policy} on {}, seed {seed}", plain(trace)), width)) + "\n";
    if pair.differences.is_empty() {
        return text + "no figure differs\n";
    }
    let mut sheet = Sheet::new(&["figure", &names[0], &names[1], "change"], output);
    sheet.align_right(1..=3);
    for difference in &pair.differences {
        let format = difference.metric.look.format;
        let change = difference.change.map_or_else(|| NONE.into(), number::excess);
        let (mut a, mut b) =
            (figure::show(format, &difference.a), figure::show(format, &difference.b));
        if a == b {
            // What looks equal is shown to its last digit.
            (a, b) = (difference.a.to_string(), difference.b.to_string());
        }
        sheet.row([difference.key.to_owned(), a, b, change]);
    }
    text += &sheet.finish();
    text
}

fn compare(a: &[StoredResult], mut b: Vec<StoredResult>, all: bool) -> Found {
    let mut found = Found { pairs: Vec::new(), only_a: Vec::new(), only_b: Vec::new() };
    let alone = a.len() == 1 && b.len() == 1;
    for run in a {
        let identity = Identity::of(run);
        match b.iter().position(|other| alone || Identity::of(other) == identity) {
            Some(at) => {
                let differences = differences(run, &b.remove(at), all);
                found.pairs.push(Pair { identity, differences });
            }
            None => found.only_a.push(identity),
        }
    }
    found.only_b = b.iter().map(Identity::of).collect();
    found
}

fn differences(a: &StoredResult, b: &StoredResult, all: bool) -> Vec<Difference> {
    let told = |metric: &&Metric| {
        all || !metric.title.is_empty() && !metric.key.starts_with("perf.")
            || metric.key.starts_with("config.")
    };
    let of = |metric: &'static Metric| {
        let (a, b) = (a.value(&metric.key), b.value(&metric.key));
        let change = match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) if a != 0.0 => Some(b / a - 1.0),
            _ => None,
        };
        (a != b).then(|| Difference {
            key: &metric.key,
            a: a.clone(),
            b: b.clone(),
            change,
            metric,
        })
    };
    metrics().iter().filter(told).filter_map(of).collect()
}

impl Identity {
    /// Folders differ from one machine to the next; names of files do not.
    fn of(run: &StoredResult) -> Self {
        let trace = run.text("trace.path").unwrap_or_default();
        Self {
            trace: trace.rsplit('/').next().unwrap_or(trace).to_owned(),
            policy: run.text("config.policy").unwrap_or_default().to_owned(),
            seed: run.count("config.seed").unwrap_or_default(),
        }
    }
}

/// The runs of a file: one result, those of a comparison, or one a line.
fn read(path: &Path) -> Result<Vec<StoredResult>, Failure> {
    let name = path.display();
    let bad = |why: String| Failure::Sim(SimError::Input(format!("{name}: {why}")));
    let text = match path.as_os_str() == "-" {
        true => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map(|_| text)
        }
        false => fs::read_to_string(path),
    };
    let text = text.map_err(|e| bad(e.to_string()))?;
    let values: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_str(&text).into_iter().collect();
    let values = values.map_err(|e| {
        bad(format!("{e}; diff reads results as `--json` or `--format jsonl` writes them"))
    })?;
    let runs = values.into_iter().flat_map(|mut value| match value.get_mut("runs") {
        Some(Value::Array(runs)) => runs.split_off(0),
        _ => vec![value],
    });
    let runs = runs.map(StoredResult::from).filter(|run| run.value("error").is_null());
    let runs: Vec<_> = runs.collect();
    match runs.iter().all(|run| run.text("config.policy").is_some()) && !runs.is_empty() {
        true => Ok(runs),
        false => Err(bad(
            "it holds no results; diff reads what `--json` or `--format jsonl` writes".into(),
        )),
    }
}
