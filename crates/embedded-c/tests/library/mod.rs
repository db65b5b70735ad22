//! The static library that a test links, and programs that must succeed.

use std::{env, path::PathBuf, process::Command};

/// The static library that belongs to this test: beside it, where Cargo puts what it builds.
pub fn archive() -> PathBuf {
    let test = env::current_exe().expect("a test knows its path");
    let folder = test.parent().expect("a file is in a folder").to_owned();
    let candidates = [folder.join("libthermocline_c.a"), folder.join("../libthermocline_c.a")];
    let newest = std::fs::read_dir(&folder)
        .expect("the folder is there")
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with("libthermocline_c") && name.ends_with(".a")
        })
        .chain(candidates)
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .max();
    newest.expect("cargo builds the library before its tests").1
}

pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}{text}");
    text
}
