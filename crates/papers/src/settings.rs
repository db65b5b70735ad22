//! The settings of a run: options of the simulator by name, which this crate does not interpret.

use std::collections::BTreeMap;

use toml::Value;

use crate::error::Wrong;

/// Options by name. `Setting::Flag(false)` removes an option set at a lower level.
pub type Settings = BTreeMap<String, Setting>;

/// Prefix of the name of a file in the folder of traces.
const TRACES: &str = "traces:";
/// Prefix of the name of a file beside the experiment.
const BESIDE: &str = "paper:";

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// Present without a value, or absent.
    Flag(bool),
    /// One value.
    One(Text),
    /// Several values.
    Many(Vec<Text>),
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Text {
    /// Literal text.
    Plain(String),
    /// A file in the folder of traces.
    Trace(String),
    /// A file of a paper's folder.
    Beside {
        /// The paper's folder.
        folder: String,
        /// The file in it.
        file: String,
    },
}

impl Setting {
    /// A setting from TOML, in a file of this folder.
    pub(crate) fn of(value: &Value, folder: &str) -> Result<Self, Wrong> {
        Ok(match value {
            Value::Boolean(given) => Self::Flag(*given),
            Value::Array(values) => Self::Many(
                values.iter().map(|value| text(value, folder)).collect::<Result<_, _>>()?,
            ),
            one => Self::One(text(one, folder)?),
        })
    }
}

fn text(value: &Value, folder: &str) -> Result<Text, Wrong> {
    Ok(match value {
        Value::String(text) => match (text.strip_prefix(TRACES), text.strip_prefix(BESIDE)) {
            (Some(file), _) => Text::Trace(file.into()),
            (_, Some(file)) => Text::Beside { folder: folder.into(), file: file.into() },
            _ => Text::Plain(text.clone()),
        },
        Value::Integer(number) => Text::Plain(number.to_string()),
        Value::Float(number) => Text::Plain(number.to_string()),
        other => {
            return Err(Wrong::new(
                format!("an option cannot be set to a {}", other.type_str()),
                "write what stands behind the option on the command line, as a string",
            ));
        }
    })
}

/// Settings from a TOML table, in a file of this folder.
pub(crate) fn of_table(table: &toml::Table, folder: &str) -> Result<Settings, Wrong> {
    let setting = |(name, value): (&String, &Value)| {
        let setting = Setting::of(value, folder).map_err(|wrong| wrong.within(name))?;
        Ok((name.clone(), setting))
    };
    table.iter().map(setting).collect()
}

/// Overrides settings by others.
pub(crate) fn lay(over: &Settings, below: &mut Settings) {
    below.extend(over.iter().map(|(name, setting)| (name.clone(), setting.clone())));
}
