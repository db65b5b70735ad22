//! The settings of a run: options of the simulator by name, which mean nothing here.

use std::collections::BTreeMap;

use toml::Value;

use crate::error::Wrong;

/// Options by name. `Setting::Flag(false)` takes an option away that was set below.
pub type Settings = BTreeMap<String, Setting>;

/// Before the name of a file in the folder of traces.
const TRACES: &str = "traces:";
/// Before the name of a file beside the experiment.
const BESIDE: &str = "paper:";

/// What an option is set to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// Given without a value, or not given.
    Flag(bool),
    /// Given once.
    One(Text),
    /// Given several times.
    Many(Vec<Text>),
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Text {
    /// As it stands.
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
    /// From TOML, in a file of this folder.
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

/// Settings from a table of TOML, in a file of this folder.
pub(crate) fn of_table(table: &toml::Table, folder: &str) -> Result<Settings, Wrong> {
    let setting = |(name, value): (&String, &Value)| {
        let setting = Setting::of(value, folder).map_err(|wrong| wrong.within(name))?;
        Ok((name.clone(), setting))
    };
    table.iter().map(setting).collect()
}

/// Lays settings over others.
pub(crate) fn lay(over: &Settings, below: &mut Settings) {
    below.extend(over.iter().map(|(name, setting)| (name.clone(), setting.clone())));
}
