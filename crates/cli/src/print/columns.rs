//! Results as rows: a column for every metric, the same columns whatever the run.

use serde_json::Value;
use thermocline_sim::{
    RunResult,
    metric::{Kind, Metric, metrics},
};

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
    line(&mut text, metrics().iter().map(|metric| metric.key.clone()));
    for run in runs {
        line(&mut text, metrics().iter().map(|metric| show(cell(metric, run))));
    }
    text
}

fn show(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn line(text: &mut String, cells: impl Iterator<Item = String>) {
    for (i, cell) in cells.enumerate() {
        if i > 0 {
            text.push(',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            *text += &format!("\"{}\"", cell.replace('"', "\"\""));
        } else {
            *text += &cell;
        }
    }
    text.push('\n');
}
