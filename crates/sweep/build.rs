//! Gives the crate a digest of every source that a simulation's result depends on, so that results of
//! another program are never taken for this one's.

use std::{
    env,
    fs::{self},
    io,
    path::{Path, PathBuf},
};

/// The crates below the simulator, from this package's own folder.
const CRATES: [&str; 10] = [
    "assembly",
    "filehost",
    "flash",
    "fswatch",
    "ftl",
    "policy",
    "sim",
    "trace",
    "units",
    "workloads",
];

fn main() -> io::Result<()> {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let mut files = Vec::new();
    for name in CRATES {
        // Relative, so that a copy of the project watches its own folder.
        println!("cargo::rerun-if-changed=../{name}/src");
        collect(&here.join("..").join(name).join("src"), &mut files)?;
    }
    println!("cargo::rerun-if-changed=../flash/profiles");
    collect(&here.join("../flash/profiles"), &mut files)?;
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

/// All files below a folder; none where a package was taken out of the project.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
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
