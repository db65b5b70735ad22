//! Gives the crate a digest of every source that a simulation's result depends on, so that results of
//! another program are never taken for this one's.

use std::{
    collections::BTreeSet,
    env, fs, io,
    path::{Path, PathBuf},
};

/// The crates that a result is computed by; the crates they depend on are found in their manifests, so that
/// none can be forgotten.
const ROOTS: [&str; 2] = ["sim", "workloads"];
/// What else a result depends on, from this package's own folder: settings become simulations in `study`, which
/// depends on much that no result does; devices are data; dependencies have versions.
const MORE: [&str; 3] = ["../../Cargo.lock", "../flash/profiles", "../study/src"];

fn main() -> io::Result<()> {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let mut sources: Vec<String> = MORE.map(str::to_owned).into();
    for name in with_dependencies(&here)? {
        sources.extend(["Cargo.toml", "src"].map(|part| format!("../{name}/{part}")));
    }
    let mut files = Vec::new();
    for source in &sources {
        // Relative, so that a copy of the project watches its own folder.
        println!("cargo::rerun-if-changed={source}");
        collect(&here.join(source), &mut files)?;
    }
    files.sort();
    let mut digest = Fnv::default();
    for file in &files {
        let name = file.strip_prefix(&here).unwrap_or(file);
        digest.add(name.to_string_lossy().as_bytes());
        digest.add(&fs::read(file)?);
    }
    println!("cargo::rustc-env=THERMOCLINE_SOURCES={:016x}", digest.0);
    Ok(())
}

/// [`ROOTS`] and every crate of the project that they depend on.
fn with_dependencies(here: &Path) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<String> = ROOTS.map(str::to_owned).into();
    while let Some(name) = waiting.pop() {
        let manifest = fs::read_to_string(here.join(format!("../{name}/Cargo.toml")))?;
        let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        for line in lines.take_while(|line| !line.starts_with('[')) {
            let dependency = line.strip_prefix("thermocline-").unwrap_or_default();
            let end = dependency.find(|c: char| !c.is_alphanumeric() && c != '-');
            waiting.extend(end.map(|end| dependency[..end].to_owned()));
        }
        found.insert(name);
        waiting.retain(|name| !found.contains(name));
    }
    Ok(found)
}

/// A file, or all below a folder; one that has moved must not be left out of the digest.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else if path.is_file() {
        files.push(path.to_owned());
    } else {
        let why = format!("{}: build.rs of the crate sweep names it", path.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    Ok(())
}

/// FNV-1a, which needs no crate: the sources are not written by an enemy.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().copied().chain((bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
