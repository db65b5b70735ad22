//! Experiments whose runs are only arithmetic on their settings.
#![allow(dead_code)]

use std::cell::Cell;

use serde_json::{Value, json};
use thermocline_papers::{
    ClaimReport, Experiment, Outcome, Plan, Record, Report, Run, Setting, Text,
};

/// The head of every experiment of the tests: two policies on three loads.
pub const HEAD: &str = r#"
title = "A test"
source = "here"
about = "nothing"

[[axis]]
name = "load"
values = [
  { name = "low", x = 1, load = 10 },
  { name = "middle", x = 2, load = 20 },
  { name = "high", x = 3, load = 30 },
]

[[axis]]
name = "policy"
values = [{ name = "plain", factor = 4 }, { name = "clever", factor = 3 }]

[measure.cost]
title = "Cost"
of = "cost"

[measure.saved]
title = "Saved"
of = "cost"
against = { policy = "plain" }
as = "reduction"
unit = "%"
"#;

pub fn experiment(text: &str) -> Result<Experiment, String> {
    Experiment::parse("paper", "papers/paper", "table", "table.toml", text)
        .map_err(|e| e.to_string())
}

pub fn number(run: &Run, name: &str) -> Option<f64> {
    match run.settings.get(name)? {
        Setting::One(Text::Plain(text)) => text.parse().ok(),
        _ => None,
    }
}

/// The cost is the load times the factor, plus an addend of the reading, plus the seed.
pub fn cost(run: &Run) -> Value {
    let number = |name| number(run, name).unwrap_or(0.0);
    json!({ "cost": number("load") * number("factor") + number("more") + number("seed") })
}

/// Runs an experiment; returns its report and the number of runs.
pub fn counted(experiment: &Experiment, record: &Record) -> (Report, usize) {
    let plan = Plan::of([experiment], true);
    let runs = Cell::new(0);
    let outcome = |run: &Run| {
        runs.set(runs.get() + 1);
        match run.settings.get("trace") {
            Some(Setting::One(Text::Trace(file))) => Outcome::Missing(format!("no {file}")),
            _ => Outcome::Done(cost(run)),
        }
    };
    let outcomes: Vec<_> = plan.runs().iter().map(outcome).collect();
    let reports = plan.judge(&outcomes, |_| record).expect("it can be judged");
    (reports.into_iter().next().expect("one experiment"), runs.get())
}

/// The report of an experiment with these claims.
pub fn report(claims: &str) -> Report {
    let experiment = experiment(&format!("{HEAD}{claims}")).expect("a good experiment");
    counted(&experiment, &Record::default()).0
}

/// The single claim of a report.
pub fn only(claims: &str) -> ClaimReport {
    let report = report(claims);
    assert_eq!(report.claims.len(), 1, "{:?}", report.claims);
    report.claims.into_iter().next().expect("there is one")
}
