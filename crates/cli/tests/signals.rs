//! Pipes that close, disks that are full, users who press Ctrl-C.
#![cfg(unix)]

mod common;

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use common::{CARD, command, done, folder};

#[test]
fn a_closed_pipe_is_no_failure() {
    // More than a pipe holds, so that the writer notices.
    let folder = folder();
    let trace = folder.path().join("long.tct");
    let trace = trace.to_str().expect("UTF-8");
    done(&["trace", "generate", "uniform", trace, "--bytes", "256MiB"]);
    for args in [
        &["trace", "convert", trace, "-", "--to", "csv"][..],
        &["policies"],
        &["completions", "bash"],
    ] {
        let mut child =
            command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut first = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        out.read_line(&mut first).expect("a line");
        drop(out);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert!(!first.is_empty());
    }
    let nobody = command(&["run", "--help"]).stdout(closed()).status().expect("it ends");
    assert_eq!(nobody.code(), Some(0));
    let nobody = command(&[&["run"], &CARD[..]].concat()).stdout(closed()).status();
    assert_eq!(nobody.expect("it ends").code(), Some(0));
}

/// The writing end of a pipe that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_a_failure() {
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    for args in [
        [&["run"], &CARD[..], &["--json"]].concat(),
        [&["compare"], &CARD[..], &["--policies", "greedy"]].concat(),
        vec!["trace", "generate", "uniform", "-", "--to", "csv", "--bytes", "1MiB"],
        vec!["devices"],
    ] {
        let output = command(&args).stdout(full()).output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {err}");
        assert!(err.contains("No space left") && err.lines().count() == 1, "{args:?}: {err}");
    }
    let args = [&["run"], &CARD[..], &["--output", "/dev/full"]].concat();
    common::fails(1, &args, &["/dev/full", "No space left"]);
    assert!(std::fs::metadata("/dev/full").is_ok_and(|m| !m.is_file()), "it was not replaced");
}

fn interrupt(mut child: Child, after: Duration) -> (Option<i32>, String, String) {
    sleep(after);
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    // Held open, so that reading blocks.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().expect("it ends");
    drop(stdin);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn start(args: &[&str]) -> Child {
    command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

#[test]
fn interrupted_work_ends_soon_and_leaves_nothing() {
    let folder = folder();
    let path = folder.path().join("out");
    let path = path.to_str().expect("UTF-8");
    let trace = format!("{path}.csv");
    let long = ["--workload", "uniform", "--bytes", "1024TiB"];
    for args in [
        [&["run"], &long[..], &["--json"]].concat(),
        [&["compare"], &long[..], &["--output", path]].concat(),
        vec!["trace", "generate", "uniform", &trace, "--bytes", "1TiB"],
        // Nothing ever comes on standard input.
        vec!["run", "--trace", "-"],
    ] {
        let child = start(&args);
        let started = Instant::now();
        let (code, out, err) = interrupt(child, Duration::from_millis(700));
        assert_eq!((code, out.as_str()), (Some(130), ""), "{args:?}: {err}");
        assert_eq!(err, "thermocline: interrupted\n", "{args:?}");
        assert!(started.elapsed() < Duration::from_secs(20), "{args:?}");
    }
    // The other end of the pipe may hear of it first.
    let mut child = start(&["run", "--trace", "-"]);
    let stdin = child.stdin.take();
    sleep(Duration::from_millis(300));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    sleep(Duration::from_millis(300));
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(output.stderr, b"thermocline: interrupted\n");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("there").collect();
    assert!(left.is_empty(), "{left:?}");
}
