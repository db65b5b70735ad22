//! Results on disk, by their digests.
//!
//! A result is written to a temporary file and renamed: after Ctrl-C, `kill -9` or a full disk it is
//! there, or it is not. After a loss of power a file may be cut off; it is then taken for absent and
//! computed again. Several processes may share a store, over a network file system too: each writes its
//! own files, and equal names have equal contents.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Number, Value, json};
use thermocline_files::Successor;
use thermocline_sim::{SimError, history::History};

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Store(PathBuf);

/// A file of the store: the result, and for people how to have it again.
#[derive(Serialize)]
struct Entry<'a> {
    made_by: &'a str,
    result: Value,
}

/// The key of a number as text.
const NUMBER: &str = "f64";

impl Store {
    /// Opens a store, and makes it where there is none.
    ///
    /// # Errors
    /// [`SimError::Failed`] if the folder cannot be made.
    pub fn open(folder: &Path) -> Result<Self, SimError> {
        let store = Self(folder.to_owned());
        fs::create_dir_all(folder).map_err(|error| store.failed(&error))?;
        Ok(store)
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Whether it has a result.
    #[must_use]
    pub fn has(&self, digest: &str) -> bool {
        self.get::<Value>(digest).is_some()
    }

    /// The history of a run, if it is there and whole.
    #[must_use]
    pub fn history(&self, digest: &str) -> Option<History> {
        self.get(&of_history(digest))
    }

    /// Keeps the history of a run, beside its result.
    ///
    /// # Errors
    /// [`SimError::Failed`] if it cannot be written.
    pub fn put_history(
        &self,
        digest: &str,
        made_by: &str,
        history: &History,
    ) -> Result<(), SimError> {
        self.put(&of_history(digest), made_by, history)
    }

    /// A result, if it is there and whole.
    #[must_use]
    pub fn get<T: DeserializeOwned>(&self, digest: &str) -> Option<T> {
        let text = fs::read(self.path(digest)).ok()?;
        let mut entry: Value = serde_json::from_slice(&text).ok()?;
        let result = with_numbers(entry.get_mut("result")?.take());
        serde_json::from_value(result).ok()
    }

    /// Keeps a result.
    ///
    /// # Errors
    /// [`SimError::Failed`] if it cannot be written.
    pub fn put(
        &self,
        digest: &str,
        made_by: &str,
        result: &impl Serialize,
    ) -> Result<(), SimError> {
        let write = || {
            let result = with_texts(serde_json::to_value(result)?);
            let file = Successor::beside(&self.path(digest))?;
            let mut text = serde_json::to_vec(&Entry { made_by, result })?;
            text.push(b'\n');
            file.file().write_all(&text)?;
            file.finish_unsynced()
        };
        write().map_err(|error: std::io::Error| self.failed(&error))
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.0.join(format!("{digest}.json"))
    }

    fn failed(&self, error: &std::io::Error) -> SimError {
        SimError::Failed(format!(
            "the store {}: {error}; name another folder with ‹store›",
            self.0.display()
        ))
    }
}

fn of_history(digest: &str) -> String {
    format!("{digest}.history")
}

/// Floating-point numbers become texts, because `serde_json` reads some numbers off by a bit.
fn with_texts(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => json!({ NUMBER: number.to_string() }),
        Value::Array(values) => values.into_iter().map(with_texts).collect(),
        Value::Object(values) => {
            values.into_iter().map(|(key, value)| (key, with_texts(value))).collect()
        }
        other => other,
    }
}

/// The reverse.
fn with_numbers(value: Value) -> Value {
    match value {
        Value::Array(values) => values.into_iter().map(with_numbers).collect(),
        Value::Object(values) => {
            let text = values.get(NUMBER).and_then(Value::as_str);
            let number = text.and_then(|text| text.parse().ok()).and_then(Number::from_f64);
            match number {
                Some(number) => Value::Number(number),
                None => values.into_iter().map(|(key, value)| (key, with_numbers(value))).collect(),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_whole_or_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("a/b")).expect("a store");
        assert_eq!(store.get::<Value>("x"), None);
        // Numbers come back as they were, to the last bit.
        let result =
            json!({ "third": 1.0 / 3.0, "tiny": 5e-324, "all": [0.1 + 0.2, 7, null, "1.5"] });
        store.put("x", "thermocline run", &result).expect("kept");
        assert_eq!(store.get("x"), Some(result));
        let path = store.path("x");
        let text = fs::read(&path).expect("there");
        fs::write(&path, &text[..text.len() / 2]).expect("cut off");
        assert_eq!(store.get::<Value>("x"), None);
        let left = fs::read_dir(store.folder()).expect("there").count();
        assert_eq!(left, 1, "no temporary file is left");
    }
}
