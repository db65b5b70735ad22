//! A run as data: settings by name, in JSON or any serde format.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, Visitor},
};
use serde_json::{Map, Value, json};

use crate::{
    run::RunSpec,
    table::{Group, Info, Values},
};

/// A value of a setting in data.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Datum {
    Flag(bool),
    Whole(u64),
    Number(f64),
    Text(String),
    Many(Vec<Datum>),
}

impl Datum {
    /// The value as texts, one for each time the setting is given.
    fn texts(self) -> Vec<String> {
        match self {
            Self::Flag(set) => vec![set.to_string()],
            Self::Whole(number) => vec![number.to_string()],
            Self::Number(number) => vec![number.to_string()],
            Self::Text(text) => vec![text],
            Self::Many(all) => all.into_iter().flat_map(Self::texts).collect(),
        }
    }
}

/// Serialises the settings that differ from their defaults, in a fixed order and in canonical form.
impl Serialize for RunSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = Self::table().iter();
        serializer.collect_map(fields.filter_map(|field| {
            let mut shown = field.shown(self);
            let text = shown.pop()?;
            let datum = match (field.info.value, field.info.repeats) {
                ("", _) => Datum::Flag(true),
                (_, true) => {
                    Datum::Many(shown.into_iter().chain([text]).map(Datum::Text).collect())
                }
                _ => Datum::Text(text),
            };
            Some((field.info.name, datum))
        }))
    }
}

impl<'de> Deserialize<'de> for RunSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Settings;

        impl<'de> Visitor<'de> for Settings {
            type Value = RunSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("settings by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RunSpec, A::Error> {
                let mut given: Vec<(String, Option<String>)> = Vec::new();
                while let Some((name, datum)) = map.next_entry::<String, Datum>()? {
                    match datum {
                        Datum::Flag(false) => {}
                        Datum::Flag(true) => given.push((name, None)),
                        other => {
                            given.extend(
                                other.texts().into_iter().map(|text| (name.clone(), Some(text))),
                            );
                        }
                    }
                }
                let given = given.iter().map(|(name, text)| (&**name, text.as_deref()));
                RunSpec::of(given).map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_map(Settings)
    }
}

impl PartialEq for RunSpec {
    fn eq(&self, other: &Self) -> bool {
        self.given() == other.given()
    }
}

impl Eq for RunSpec {}

impl Hash for RunSpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.given().hash(state);
    }
}

/// The JSON schema of a run.
#[must_use]
pub fn schema() -> Value {
    let property = |info: &'static Info| {
        let one = match info.values {
            _ if info.value.is_empty() => json!({ "type": "boolean" }),
            Values::Choices(_) | Values::Listed(_) => {
                let names = info.values.names().into_iter().map(|(name, _)| name);
                json!({ "type": "string", "enum": names.collect::<Vec<_>>() })
            }
            _ => json!({ "type": ["string", "number"] }),
        };
        let mut property = match info.repeats {
            true => json!({ "anyOf": [one, { "type": "array", "items": one }] }),
            false => one,
        };
        property["description"] = info.help.as_str().into();
        if let Some(default) = info.default {
            property["default"] = default.into();
        }
        (info.name.to_owned(), property)
    };
    let properties: Map<_, _> =
        RunSpec::table().iter().map(|field| property(&field.info)).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A run of Thermocline",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}
