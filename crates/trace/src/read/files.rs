//! Which files a path given by the user stands for.

use std::path::{Path, PathBuf};

use super::formats::REGISTRY;
use crate::TraceError;

/// Adds the files that `path` stands for: itself, or, where it is a directory or the beginning of
/// names, the files of a trace that is kept in several.
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
            // A directory that cannot be listed is no worse than a file that is not there.
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
