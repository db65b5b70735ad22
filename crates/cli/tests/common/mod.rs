//! Runs the binary and captures its output.
#![allow(dead_code)]

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

/// The paper's run that the README opens with.
pub const CARD: [&str; 8] = [
    "--device",
    "intel-series2plus-24m",
    "--fill",
    "90%",
    "--workload",
    "hot-cold:90/10",
    "--bytes",
    "192MiB",
];

/// The result of a run of the binary.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// The binary, with these arguments.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thermocline"));
    command.args(args).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
    command
}

pub fn thermocline(args: &[&str]) -> Ran {
    fed(args, b"")
}

/// With something on standard input.
pub fn fed(args: &[&str], input: &[u8]) -> Ran {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    // A program that failed early does not read it.
    let feeder = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let output = child.wait_with_output().expect("it ends");
    feeder.join().expect("fed");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        code: output.status.code().expect("no signal"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// A run that must succeed; its standard output.
pub fn done(args: &[&str]) -> String {
    let ran = thermocline(args);
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    ran.out
}

/// A run that must succeed with JSON.
pub fn json(args: &[&str]) -> Value {
    serde_json::from_str(&done(args)).expect("JSON")
}

/// Without what differs from run to run.
pub fn stable(mut value: Value) -> Value {
    match &mut value {
        Value::Object(object) => {
            object.remove("perf");
            object.values_mut().for_each(|v| *v = stable(v.take()));
        }
        Value::Array(values) => values.iter_mut().for_each(|v| *v = stable(v.take())),
        _ => {}
    }
    value
}

/// A run that must fail with this code, one line on standard error and nothing on standard output.
pub fn fails(code: i32, args: &[&str], says: &[&str]) {
    check_failure(&thermocline(args), code, args, says);
}

pub fn check_failure(ran: &Ran, code: i32, args: &[&str], says: &[&str]) {
    assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
    assert_eq!(ran.out, "", "{args:?}");
    assert!(ran.err.starts_with("thermocline: "), "{args:?}: {}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{args:?}: {}", ran.err);
    for part in says {
        assert!(ran.err.contains(part), "{args:?}: `{part}` is not in: {}", ran.err);
    }
    assert!(!ran.err.contains("panicked"), "{args:?}: {}", ran.err);
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A trace recorded for the repository.
pub fn corpus(name: &str) -> String {
    let path = repository().join("corpus").join(name);
    assert!(path.is_file(), "{} is part of the repository", path.display());
    path.to_str().expect("UTF-8").to_owned()
}

/// The beginning of a log that nbdkit wrote, as a Zstandard archive.
pub fn nbdkit_log() -> String {
    let path = repository().join("crates/trace/tests/data/nbdkit-ext4.log.zst");
    path.to_str().expect("UTF-8").to_owned()
}

/// A file in a temporary folder.
pub fn file(folder: &tempfile::TempDir, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A small trace in our CSV: `rows` writes of 4 KiB, a millisecond apart, over `pages` pages.
pub fn csv_trace(rows: u64, pages: u64) -> String {
    let mut text = String::from("time_ns,op,volume,offset,len\n");
    for i in 0..rows {
        text += &format!("{},write,disk,{},4096\n", i * 1_000_000, i * 7919 % pages * 4096);
    }
    text
}
