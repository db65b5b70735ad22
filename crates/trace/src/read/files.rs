//! The files that a path given by the user refers to.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::formats::REGISTRY;
use crate::TraceError;

#[cfg(not(target_family = "wasm"))]
pub(super) fn open(path: &Path) -> io::Result<std::fs::File> {
    std::fs::File::open(path)
}

/// Opens a file that a page holds.
#[cfg(target_family = "wasm")]
pub type Opener = fn(&Path) -> io::Result<Box<dyn io::Read + Send>>;

#[cfg(target_family = "wasm")]
static OPENER: std::sync::OnceLock<Opener> = std::sync::OnceLock::new();

/// Says how files are opened where the system has none. The first call counts.
#[cfg(target_family = "wasm")]
pub fn open_by(opener: Opener) {
    OPENER.get_or_init(|| opener);
}

#[cfg(target_family = "wasm")]
pub(super) fn open(path: &Path) -> io::Result<Box<dyn io::Read + Send>> {
    OPENER.get().ok_or(io::ErrorKind::Unsupported).map(|open| open(path))?
}

/// Adds the files for `path`: the file itself or, for a directory or a common prefix, the files of
/// a trace that consists of several.
pub(super) fn expand(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), TraceError> {
    if path.as_os_str() == "-" || (path.exists() && !path.is_dir()) {
        files.push(path.to_owned());
        return Ok(());
    }
    let kinds = || REGISTRY.iter().filter_map(|entry| Some((entry, entry.special.parts.as_ref()?)));
    let before = files.len();
    for (_, parts) in kinds() {
        match (parts.find)(path) {
            Ok(found) => files.extend(found),
            Err(source) if path.is_dir() => {
                return Err(TraceError::Io { path: path.to_owned(), source });
            }
            // A directory that cannot be listed is treated like a missing file.
            Err(_) => {}
        }
    }
    if files.len() > before {
        return Ok(());
    }
    if path.is_dir() {
        let kinds: Vec<_> = kinds()
            .map(|(entry, parts)| format!("{} files ({})", entry.name, parts.named))
            .collect();
        return Err(TraceError::Format {
            path: path.to_owned(),
            what: format!("the directory holds no {}", kinds.join(" or ")),
            remedy: "name the trace files themselves".into(),
        });
    }
    files.push(path.to_owned());
    Ok(())
}
