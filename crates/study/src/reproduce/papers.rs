//! The papers' experiments, as they are built in.

use thermocline_papers::File;

/// Every file of `papers/` at the time of the build, by its path.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// The names of the papers.
pub fn names() -> Vec<&'static str> {
    let folders = FILES.iter().filter_map(|(path, _)| path.split_once('/')).map(|(name, _)| name);
    let mut names: Vec<_> = folders.collect();
    names.dedup();
    names
}

/// The TOML files of a paper.
pub fn files(paper: &str) -> Vec<File> {
    FILES
        .iter()
        .filter_map(|(path, bytes)| Some((path.strip_prefix(paper)?.strip_prefix('/')?, bytes)))
        .filter(|(name, _)| name.ends_with(".toml") && !name.contains('/'))
        .map(|(name, bytes)| File {
            name: name.to_owned(),
            text: String::from_utf8_lossy(bytes).into_owned(),
        })
        .collect()
}

/// A file in the folder of a paper.
pub fn file(paper: &str, name: &str) -> Option<&'static [u8]> {
    let path = format!("{paper}/{name}");
    FILES.iter().find(|(known, _)| *known == path).map(|(_, bytes)| *bytes)
}
