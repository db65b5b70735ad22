//! The digest of everything that a result depends on: settings, contents of files, and the program's
//! results number.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use thermocline_sim::{Progress, SimError, result::SCHEMA_VERSION};

use crate::{Setting, Settings};

/// Options whose values are files: their contents count, not their names.
const FILES: [&str; 2] = ["trace", "device"];

/// The number of the simulations' results. A change of any figure raises it, and stores no longer return earlier
/// results. `crates/cli/tests/results.rs` has figures of every policy and layer, and refuses a new recording under the
/// same number.
pub const RESULTS: u32 = 3;

/// Digests of files, each read once.
#[derive(Debug, Default)]
pub struct Contents(HashMap<PathBuf, String>);

impl Contents {
    /// Takes a digest on trust, of a file that is elsewhere.
    pub fn know(&mut self, path: &Path, digest: &str) {
        self.0.insert(path.to_owned(), digest.to_owned());
    }

    /// SHA-256 of a file's bytes; of a folder's files, or of all whose names begin so, where a trace is
    /// kept in several.
    ///
    /// # Errors
    /// [`SimError::Input`] if it cannot be read; [`SimError::Interrupted`].
    pub fn of(&mut self, path: &Path, progress: &Progress) -> Result<String, SimError> {
        if let Some(known) = self.0.get(path) {
            return Ok(known.clone());
        }
        let unreadable =
            |error: std::io::Error| SimError::Input(format!("{}: {error}", path.display()));
        let files = files(path).map_err(unreadable)?;
        if files.is_empty() {
            return Err(SimError::Input(format!(
                "{}: there is no such file; check the name",
                path.display()
            )));
        }
        let mut hash = Sha256::new();
        let mut bytes = vec![0; 1 << 20];
        for file in files {
            let mut file = File::open(file).map_err(unreadable)?;
            loop {
                let read = file.read(&mut bytes).map_err(unreadable)?;
                if read == 0 {
                    break;
                }
                if progress.is_cancelled() {
                    return Err(SimError::Interrupted);
                }
                hash.update(&bytes[..read]);
            }
        }
        let digest = hex(&hash.finalize());
        self.0.insert(path.to_owned(), digest.clone());
        Ok(digest)
    }

    /// The digest of a simulation with these settings.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn of_job(&mut self, settings: &Settings, progress: &Progress) -> Result<String, SimError> {
        let mut parts = Vec::new();
        for Setting { option, value } in &settings.0 {
            let value = value.as_deref().unwrap_or_default();
            let path = Path::new(value);
            let is_file = option == FILES[0] || FILES.contains(&option.as_str()) && path.is_file();
            let value = if is_file { self.of(path, progress)? } else { value.to_owned() };
            parts.push(format!("{option}={value}"));
        }
        // The order of options means nothing, that of one option's values may.
        parts.sort_by(|a, b| a.split('=').next().cmp(&b.split('=').next()));
        Ok(of_parts(&parts))
    }
}

/// The digest of anything that these words distinguish, with the results of this program.
#[must_use]
pub fn of_parts<T: AsRef<str>>(parts: &[T]) -> String {
    let mut hash = Sha256::new();
    let program = format!("results {RESULTS} schema {SCHEMA_VERSION}");
    for part in [program.as_str()].into_iter().chain(parts.iter().map(AsRef::as_ref)) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

/// The files that a path stands for, in order.
fn files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let (folder, begin) = match path.is_dir() {
        true => (path, String::new()),
        false => {
            let begin = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            (folder.unwrap_or(Path::new(".")), begin.unwrap_or_default())
        }
    };
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().is_file() && entry.file_name().to_string_lossy().starts_with(&begin) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_count_and_names_do_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("written");
            Setting::new("trace", path.to_string_lossy())
        };
        let digest = |settings: &[&Setting]| {
            let settings = Settings(settings.iter().map(|setting| (*setting).clone()).collect());
            Contents::default().of_job(&settings, &Progress::default()).expect("a digest")
        };
        let (a, b, c) = (file("a", "one"), file("b", "one"), file("c", "two"));
        let policy = Setting::new("policy", "greedy");
        assert_eq!(digest(&[&a, &policy]), digest(&[&policy, &b]));
        assert_ne!(digest(&[&a, &policy]), digest(&[&c, &policy]));
        assert_ne!(digest(&[&a, &policy]), digest(&[&a]));
        assert_ne!(of_parts(&["ab", "c"]), of_parts(&["a", "bc"]));
        let gone = Setting::new("trace", "/nowhere/at/all");
        assert!(Contents::default().of_job(&Settings(vec![gone]), &Progress::default()).is_err());
    }
}
