//! The chips that `serve` exports: their names, and whether they conflict.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use crate::{args::store::Exported, exit::Failure};

/// The name of an export.
pub fn name(exported: &Exported) -> String {
    exported.name.clone().unwrap_or_else(|| exported.chip.name())
}

/// Refuses conflicting exports, before any of them is opened.
pub fn check(all: &[Exported]) -> Result<(), Failure> {
    for (number, one) in all.iter().enumerate() {
        check_path(one)?;
        for before in &all[..number] {
            let (a, b) = (&before.chip, &one.chip);
            if a.path().zip(b.path()).is_some_and(|(a, b)| is_same(a, b)) {
                return Err(Failure::usage(format!(
                    "{a} and {b} are the same chip, and a chip is exported once; name it once"
                )));
            }
            let called = name(one);
            if called == name(before) {
                return Err(Failure::usage(format!(
                    "two exports are called {called:?}: {a} and {b}; give one another name, as in \
                     NAME={b}"
                )));
            }
        }
    }
    Ok(())
}

/// A file whose name has an equals sign in it looks like a name and a file.
fn check_path(exported: &Exported) -> Result<(), Failure> {
    let (Some(name), Some(path)) = (&exported.name, exported.chip.path()) else { return Ok(()) };
    let whole = format!("{name}={}", path.display());
    if path.exists() || !Path::new(&whole).exists() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "there is no {}: `{whole}` is the image {} exported as {name}; if it is a file, write ./{whole}",
        path.display(),
        path.display()
    )))
}

fn is_same(a: &Path, b: &Path) -> bool {
    let id = |path| fs::metadata(path).map(|is| (is.dev(), is.ino()));
    matches!((id(a), id(b)), (Ok(a), Ok(b)) if a == b)
}
