//! Gives the crate a digest of every source that a simulation's result depends on, so that results of
//! another program are never taken for this one's.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// What a result depends on, from this package's own folder: the simulator and all below it, what makes
/// simulations of settings, and the versions of dependencies.
const SOURCES: [&str; 13] = [
    "../../Cargo.lock",
    "../assembly/src",
    "../filehost/src",
    "../flash/profiles",
    "../flash/src",
    "../fswatch/src",
    "../ftl/src",
    "../policy/src",
    "../sim/src",
    "../study/src",
    "../trace/src",
    "../units/src",
    "../workloads/src",
];

fn main() -> io::Result<()> {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let mut files = Vec::new();
    for source in SOURCES {
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

/// A file, or all below a folder; one that has moved must not be left out of the digest.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else if path.is_file() {
        files.push(path.to_owned());
    } else {
        let why = format!("{}: SOURCES in build.rs names it", path.display());
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
