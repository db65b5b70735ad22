//! Results as rows: a column for every metric, in every run.

use serde_json::Value;
use thermocline_sim::{
    RunResult,
    metric::{Kind, Metric, metrics},
};
use thermocline_sweep::csv_line;

/// A metric's value as one cell of one type: lists and objects as JSON.
pub fn cell(metric: &Metric, run: &RunResult) -> Value {
    match metric.of(run) {
        Value::Null => Value::Null,
        whole if metric.kind == Kind::Json => Value::String(whole.to_string()),
        value => value,
    }
}

/// All runs as comma-separated values under a header.
pub fn csv(runs: &[&RunResult]) -> String {
    let mut text = String::new();
    let header: Vec<_> = metrics().iter().map(|metric| Value::String(metric.key.clone())).collect();
    csv_line(&mut text, &header);
    for run in runs {
        let cells: Vec<_> = metrics().iter().map(|metric| cell(metric, run)).collect();
        csv_line(&mut text, &cells);
    }
    text
}
