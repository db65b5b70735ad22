//! Puts the papers' experiments into the binary: every file of `papers/`, by its path.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// The folder, from this package's own. Cargo watches all that is in it.
const PAPERS: &str = "../../papers";

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).unwrap_or_default();
    // Relative, so that a copy of the project and its target watches its own folder.
    println!("cargo::rerun-if-changed={PAPERS}");
    let papers = variable("CARGO_MANIFEST_DIR").join(PAPERS).canonicalize()?;
    let mut files = Vec::new();
    collect(&papers, &mut files)?;
    files.sort();
    let mut code = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&papers).unwrap_or(file).to_string_lossy().replace('\\', "/");
        // Writing to a string cannot fail.
        let _ = writeln!(code, "    ({name:?}, include_bytes!({:?})),", file.display().to_string());
    }
    code += "]\n";
    fs::write(variable("OUT_DIR").join("papers.rs"), code)
}

/// All files below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
