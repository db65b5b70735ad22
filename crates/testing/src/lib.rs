//! What the tests of several crates share: random numbers, and the programs and traces that a machine may lack.
//!
//! A test that cannot run says so by [`skip`]. `make test` prints these reasons at its end.

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
};

mod draws;
mod known;

pub use draws::Draws;
pub use known::{Deed, Known};

/// Names the file that [`skip`] appends to.
const SKIPPED: &str = "THERMOCLINE_SKIPPED";
/// Set on machines that cannot install the programs of `make test-tools`.
const WITHOUT_TOOLS: &str = "THERMOCLINE_WITHOUT_TOOLS";
/// Names the folder of traces that cannot be redistributed.
const TRACES: &str = "THERMOCLINE_TRACES";
/// Names the folder of measurements of real drives, which are not ours to distribute.
const MEASURED: &str = "THERMOCLINE_MEASURED";

/// Notes that a test did not run, and why.
///
/// # Panics
///
/// If the file of `THERMOCLINE_SKIPPED` cannot be written.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(path) = env::var_os(SKIPPED) {
        // One write: test binaries append at the same time.
        let noted = fs::File::options()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(format!("{why}\n").as_bytes()));
        assert!(noted.is_ok(), "{}: {noted:?}", Path::new(&path).display());
    }
}

/// Where a program is.
///
/// # Panics
///
/// If it is missing, unless `THERMOCLINE_WITHOUT_TOOLS` is set: a missing program is then skipped.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|program| program.is_file());
    if found.is_none() {
        assert!(
            env::var_os(WITHOUT_TOOLS).is_some(),
            "{name} is missing: run `make test-tools`, or set {WITHOUT_TOOLS}=1 to do without"
        );
        skip(&format!("{name} is missing and {WITHOUT_TOOLS} is set"));
    }
    found
}

/// The folder of real traces, if it is there.
pub fn traces() -> Option<PathBuf> {
    there(folder())
}

/// One of the real traces, if it is there.
pub fn trace(name: &str) -> Option<PathBuf> {
    there(folder().join(name))
}

/// One of the measurements of real drives, if it is there.
pub fn measured(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/measured");
    let path = env::var_os(MEASURED).map_or_else(beside, PathBuf::from).join(name);
    if path.exists() {
        return Some(path);
    }
    let path = path.display();
    skip(&format!("{path} is not there; {MEASURED} names the folder of measured drives"));
    None
}

/// The folder that `THERMOCLINE_TRACES` names, else `shared/traces` beside the repository.
fn folder() -> PathBuf {
    env::var_os(TRACES).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
        PathBuf::from,
    )
}

fn there(path: PathBuf) -> Option<PathBuf> {
    if path.exists() {
        return Some(path);
    }
    skip(&format!("{} is not there; {TRACES} names the folder of real traces", path.display()));
    None
}
