//! Which files a path given by the user stands for.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::TraceError;

/// What the names of blktrace's per-CPU files hold before the CPU's number.
const PER_CPU: &str = ".blktrace.";

/// Adds the files that `path` stands for: itself, or, for a directory or a prefix such as `sda`,
/// the files `sda.blktrace.0`, `sda.blktrace.1`, …
pub(super) fn expand(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), TraceError> {
    let io_error = |source| TraceError::Io { path: path.to_owned(), source };
    if path.as_os_str() == "-" {
        files.push(path.to_owned());
        return Ok(());
    }
    if path.is_dir() {
        let found = per_cpu(path, "").map_err(io_error)?;
        if found.is_empty() {
            return Err(TraceError::Format {
                path: path.to_owned(),
                what: "the directory holds no blktrace files (*.blktrace.0, …)".into(),
                remedy: "name the trace files themselves".into(),
            });
        }
        files.extend(found);
        return Ok(());
    }
    if !path.exists()
        && let Some(name) = path.file_name().and_then(|name| name.to_str())
    {
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let prefix = if name.ends_with(".blktrace") {
            format!("{name}.")
        } else {
            format!("{name}{PER_CPU}")
        };
        // A directory that cannot be listed is no worse than a file that is not there.
        let found = per_cpu(directory, &prefix).unwrap_or_default();
        if !found.is_empty() {
            files.extend(found);
            return Ok(());
        }
    }
    files.push(path.to_owned());
    Ok(())
}

/// The per-CPU files in a directory whose names begin with `prefix`, by device and CPU.
fn per_cpu(directory: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some((device, rest)) = name.split_once(PER_CPU)
            && name.starts_with(prefix)
            && let Ok(cpu) = rest.split('.').next().unwrap_or_default().parse::<u32>()
        {
            let key = (device.to_owned(), cpu);
            found.push((key, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}
