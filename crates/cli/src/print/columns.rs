//! Results as rows: a column for every figure, the same columns whatever the run.

use serde_json::{Map, Value};
use thermocline_sim::RunResult;

/// What depends on the policy or the device stays one column, with JSON in it.
const WHOLE: [&str; 3] = ["config.device.energy", "cleaning.choices", "banks"];

/// Columns that are there whether a run has the figures or not, each list behind a column that every
/// run has, or behind the list before.
const OPTIONAL: [(&str, &[&str]); 4] = [
    (
        "config.bank_assignment",
        &["config.queue_depth", "config.idle.policy", "config.idle.free_blocks"],
    ),
    ("write_amplification", &["oracle.policy", "oracle.write_amplification", "oracle.excess"]),
    ("cleaning.retired_blocks", &["nftl.folds", "nftl.forced_folds"]),
    (
        "nftl.forced_folds",
        &[
            "dead_data.sectors_marked",
            "dead_data.sectors_revived",
            "dead_data.pages_left",
            "dead_data.blocks_reclaimed",
            "dead_data.extra_reads",
            "dead_data.armed",
            "dead_data.disarmed",
            "dead_data.memory_bytes",
        ],
    ),
];

/// One run: column names and values, in the order of the JSON result.
pub fn row(run: &RunResult) -> Vec<(String, Value)> {
    let mut columns = Vec::new();
    if let Ok(Value::Object(result)) = serde_json::to_value(run) {
        flatten("", result, &mut columns);
    }
    for (before, names) in OPTIONAL {
        let place = |columns: &[(String, Value)], name| columns.iter().position(|c| c.0 == name);
        let mut at = place(&columns, before).unwrap_or(0);
        for &name in names {
            at = place(&columns, name).unwrap_or_else(|| {
                columns.insert(at + 1, (name.into(), Value::Null));
                at + 1
            });
        }
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
