//! Results as rows: a column for every figure, the same columns whatever the run.

use serde_json::{Map, Value};
use thermocline_sim::RunResult;

/// What depends on the policy or the device stays one column, with JSON in it.
const WHOLE: [&str; 3] = ["config.device.energy", "cleaning.choices", "banks"];

/// Columns of the distance to the oracle.
const ORACLE: [&str; 3] = ["oracle.policy", "oracle.write_amplification", "oracle.excess"];

/// One run: column names and values, in the order of the JSON result.
pub fn row(run: &RunResult) -> Vec<(String, Value)> {
    let mut columns = Vec::new();
    if let Ok(Value::Object(result)) = serde_json::to_value(run) {
        flatten("", result, &mut columns);
    }
    // Absent where it was not measured.
    if run.oracle.is_none() {
        let before = columns.iter().position(|(name, _)| name == "write_amplification");
        let after = before.map_or(0, |at| at + 1);
        columns.splice(after..after, ORACLE.map(|name| (name.into(), Value::Null)));
    }
    // Absent where no source gives it.
    if !columns.iter().any(|(name, _)| name == WHOLE[0]) {
        let is_device = |(name, _): &(String, Value)| name.starts_with("config.device.");
        let after = columns.iter().rposition(is_device).map_or(0, |at| at + 1);
        columns.insert(after, (WHOLE[0].into(), Value::Null));
    }
    columns
}

fn flatten(prefix: &str, object: Map<String, Value>, columns: &mut Vec<(String, Value)>) {
    for (key, value) in object {
        let name = format!("{prefix}{key}");
        match value {
            whole if WHOLE.contains(&name.as_str()) => {
                columns.push((name, Value::String(whole.to_string())));
            }
            Value::Object(inner) => flatten(&format!("{name}."), inner, columns),
            value => columns.push((name, value)),
        }
    }
}

/// All runs as comma-separated values under a header.
pub fn csv(runs: &[&RunResult]) -> String {
    let mut text = String::new();
    let mut header = false;
    for run in runs {
        let row = row(run);
        if !header {
            line(&mut text, row.iter().map(|(name, _)| name.clone()));
            header = true;
        }
        line(&mut text, row.into_iter().map(|(_, value)| cell(value)));
    }
    text
}

fn cell(value: Value) -> String {
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
