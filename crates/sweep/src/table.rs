//! One long table: a row for each simulation, its settings as asked for beside what resulted.

use serde_json::{Map, Value};
use thermocline_sim::{
    metric::{Kind, Metric, metrics},
    result::StoredResult,
};

use crate::Settings;

/// Before the name of a setting as it was asked for.
const ASKED: &str = "asked";
/// Why there is no result.
const ERROR: &str = "error";
/// The prefix of figures that differ from run to run, and so are no results.
const PERFORMANCE: &str = "perf.";

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The kind of its values.
    pub kind: Kind,
}

/// The shape of a table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Options that stand in front of the figures.
    asked: Vec<String>,
}

impl Table {
    /// With these options as they were asked for.
    #[must_use]
    pub const fn new(asked: Vec<String>) -> Self {
        Self { asked }
    }

    /// Its columns.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        let text = |name: String| Column { name, kind: Kind::Text };
        let asked = self.asked.iter().map(|option| text(format!("{ASKED}.{option}")));
        let figures = figures().map(|m| Column { name: m.key.clone(), kind: m.kind });
        asked.chain([text(ERROR.into())]).chain(figures).collect()
    }

    /// The cells of a row.
    #[must_use]
    pub fn row(&self, settings: &Settings, result: Result<&StoredResult, &str>) -> Vec<Value> {
        let asked = self.asked.iter().map(|option| settings.value(option));
        let error = [result.err().map(str::to_owned)].into_iter();
        let figure = |metric: &Metric| match result.ok()?.value(&metric.key) {
            Value::Null => None,
            whole if metric.kind == Kind::Json => Some(Value::String(whole.to_string())),
            value => Some(value.clone()),
        };
        let texts = asked.chain(error).map(|text| text.map_or(Value::Null, Value::String));
        texts.chain(figures().map(|metric| figure(metric).unwrap_or(Value::Null))).collect()
    }

    /// The row as an object: `asked`, then the result, or `error`.
    #[must_use]
    pub fn object(&self, settings: &Settings, result: Result<StoredResult, &str>) -> Value {
        let asked = self.asked.iter().filter_map(|option| {
            settings.value(option).map(|value| (option.clone(), Value::String(value)))
        });
        let mut row = Map::new();
        row.insert(ASKED.into(), Value::Object(asked.collect()));
        match result.map(StoredResult::into_json) {
            Ok(Value::Object(result)) => row.extend(result),
            Ok(other) => drop(row.insert("result".into(), other)),
            Err(error) => drop(row.insert(ERROR.into(), error.into())),
        }
        Value::Object(row)
    }
}

fn figures() -> impl Iterator<Item = &'static Metric> {
    metrics().iter().filter(|metric| !metric.key.starts_with(PERFORMANCE))
}

/// Adds a line of comma-separated values.
pub fn csv_line<'a>(text: &mut String, cells: impl IntoIterator<Item = &'a Value>) {
    for (i, cell) in cells.into_iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        match cell {
            Value::Null => {}
            Value::String(cell) if cell.contains([',', '"', '\n', '\r']) => {
                *text += &format!("\"{}\"", cell.replace('"', "\"\""));
            }
            Value::String(cell) => *text += cell,
            other => *text += &other.to_string(),
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Setting;

    #[test]
    fn a_row_has_what_was_asked_and_what_resulted() {
        let table = Table::new(vec!["policy".into(), "banks".into()]);
        let settings = Settings(vec![Setting::new("policy", "cat(a=1, b=2)")]);
        let result = json!({ "config": { "policy": "cat" }, "write_amplification": 1.5 }).into();
        let names: Vec<_> = table.columns().into_iter().map(|column| column.name).collect();
        assert_eq!(names[..4], ["asked.policy", "asked.banks", "error", "schema_version"]);
        assert!(!names.iter().any(|name| name.starts_with("perf.")));
        let row = table.row(&settings, Ok(&result));
        assert_eq!(row.len(), names.len());
        let of = |name: &str| &row[names.iter().position(|n| n == name).expect(name)];
        assert_eq!(*of("write_amplification"), 1.5);
        assert_eq!((of("asked.banks"), of("config.policy").as_str()), (&Value::Null, Some("cat")));
        let mut line = String::new();
        csv_line(&mut line, &table.row(&settings, Err("no \"room\""))[..3]);
        assert_eq!(line, "\"cat(a=1, b=2)\",,\"no \"\"room\"\"\"\n");
        assert_eq!(
            table.object(&settings, Err("x")),
            json!({ "asked": { "policy": "cat(a=1, b=2)" }, "error": "x" })
        );
    }
}
