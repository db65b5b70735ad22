//! A result as stores keep it and tables show it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RunResult;
use crate::metric::{Metric, Trust};

/// A result in JSON, perhaps of another version of this program: a key may be absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoredResult(Value);

impl StoredResult {
    /// The value of a key, with dots between levels; null if it is absent.
    #[must_use]
    pub fn value(&self, key: &str) -> &Value {
        static NONE: Value = Value::Null;
        key.split('.').fold(&self.0, |value, part| value.get(part).unwrap_or(&NONE))
    }

    /// The value of a key as a number, if it is one.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<f64> {
        self.value(key).as_f64()
    }

    /// The value of a key as a count, if it is one.
    #[must_use]
    pub fn count(&self, key: &str) -> Option<u64> {
        self.value(key).as_u64()
    }

    /// The value of a key as text, if it is one.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.value(key).as_str()
    }

    /// Whether the device could not keep up with the arrivals.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        self.value("lifetime.overloaded") == &Value::Bool(true)
    }

    /// Whether the value of a metric belongs to a queue that grows during the whole run.
    #[must_use]
    pub fn is_of_queue(&self, metric: &Metric) -> bool {
        metric.look.trust == Trust::InTime && self.is_overloaded()
    }

    /// Sets the name of the input, as it was given.
    pub fn name_trace(&mut self, name: &str) {
        if let Some(path) = self.0.pointer_mut("/trace/path") {
            *path = name.into();
        }
    }

    /// The JSON value.
    #[must_use]
    pub const fn as_json(&self) -> &Value {
        &self.0
    }

    /// The JSON value.
    #[must_use]
    pub fn into_json(self) -> Value {
        self.0
    }
}

impl fmt::Display for StoredResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<&RunResult> for StoredResult {
    fn from(result: &RunResult) -> Self {
        Self(result.stable_json())
    }
}

impl From<Value> for StoredResult {
    fn from(json: Value) -> Self {
        Self(json)
    }
}
