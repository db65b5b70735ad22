//! Pipes that close, disks that are full, users who press Ctrl-C.
#![cfg(unix)]

mod common;

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use common::{CARD, command, done, folder};
use rustix::process::{Pid, Signal, kill_process};

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
        let mut child = Running::start(args);
        let mut first = String::new();
        let mut out = BufReader::new(child.0.stdout.take().expect("piped"));
        out.read_line(&mut first).expect("a line");
        drop(out);
        let (code, _, err) = child.end();
        assert_eq!((code, err.as_str()), (Some(0), ""), "{args:?}");
        assert!(!first.is_empty());
    }
    let nobody = command(&["run", "--help"]).stdout(closed()).status().expect("it ends");
    assert_eq!(nobody.code(), Some(0));
    let nobody = command(&[&["run"], &CARD[..]].concat()).stdout(closed()).status();
    assert_eq!(nobody.expect("it ends").code(), Some(0));
}

/// The writing end of a pipe without a reader.
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

/// A running command. It is killed where a test fails before the command ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail where it has ended, as it should have.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn start(args: &[&str]) -> Self {
        let mut command = command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().expect("it starts"))
    }

    /// As Ctrl-C does, once the command listens: before that it would just die.
    fn interrupt(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.catches_interrupts() && Instant::now() < deadline {
            sleep(Duration::from_millis(2));
        }
        kill_process(Pid::from_child(&self.0), Signal::INT).expect("it runs");
    }

    /// Whether it has a handler for SIGINT, if the system reports that.
    fn catches_interrupts(&self) -> bool {
        let Ok(status) = fs::read_to_string(format!("/proc/{}/status", self.0.id())) else {
            return true;
        };
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        caught.is_none_or(|mask| mask >> (Signal::INT.as_raw() - 1) & 1 == 1)
    }

    /// Its exit code and output.
    fn end(&mut self) -> (Option<i32>, String, String) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let status = self.wait_until(deadline);
        let mut texts = [String::new(), String::new()];
        let [out, err] = &mut texts;
        if let Some(mut pipe) = self.0.stdout.take() {
            pipe.read_to_string(out).expect("UTF-8");
        }
        if let Some(mut pipe) = self.0.stderr.take() {
            pipe.read_to_string(err).expect("UTF-8");
        }
        let [out, err] = texts;
        (status.code(), out, err)
    }

    /// Little is printed, so that no pipe fills meanwhile.
    fn wait_until(&mut self, deadline: Instant) -> ExitStatus {
        loop {
            if let Some(status) = self.0.try_wait().expect("a child of ours") {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end");
            sleep(Duration::from_millis(10));
        }
    }
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
        // Nothing ever comes on standard input, which stays open.
        vec!["run", "--trace", "-"],
    ] {
        let mut child = Running::start(&args);
        sleep(Duration::from_millis(700));
        child.interrupt();
        let (code, out, err) = child.end();
        assert_eq!((code, out.as_str()), (Some(130), ""), "{args:?}: {err}");
        assert_eq!(err, "thermocline: interrupted\n", "{args:?}");
    }
    // The other end of the pipe may get the signal first.
    let mut child = Running::start(&["run", "--trace", "-"]);
    let stdin = child.0.stdin.take();
    sleep(Duration::from_millis(300));
    child.interrupt();
    sleep(Duration::from_millis(300));
    drop(stdin);
    let (code, _, err) = child.end();
    assert_eq!((code, err.as_str()), (Some(130), "thermocline: interrupted\n"));
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("there").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn who_is_told_to_end_leaves_no_file_that_is_not_whole() {
    let folder = folder();
    let (trace, image) = (folder.path().join("out.csv"), folder.path().join("disk.img"));
    let (trace, image) = (trace.to_str().expect("UTF-8"), image.to_str().expect("UTF-8"));
    let count = || fs::read_dir(folder.path()).expect("there").count();
    // Larger than it can be written before the signal comes; the image is all holes, or nearly.
    let raw = tempfile::NamedTempFile::new().expect("a file");
    raw.as_file().set_len(1 << 40).expect("sparse");
    rustix::fs::fallocate(raw.as_file(), rustix::fs::FallocateFlags::empty(), 0, 64 << 20)
        .expect("room");
    let raw = raw.path().to_str().expect("UTF-8");
    for (signal, code, args) in [
        (Signal::TERM, 143, vec!["trace", "generate", "uniform", trace, "--bytes", "1TiB"]),
        (Signal::INT, 130, vec!["trace", "generate", "uniform", trace, "--bytes", "1TiB"]),
        (
            Signal::TERM,
            143,
            vec!["import", raw, image, "--page-size", "64k", "--block-size", "64m"],
        ),
    ] {
        let mut child = Running::start(&args);
        let deadline = Instant::now() + Duration::from_secs(60);
        while count() == 0 && Instant::now() < deadline {
            sleep(Duration::from_millis(2));
        }
        kill_process(Pid::from_child(&child.0), signal).expect("it runs");
        let (ended, _, err) = child.end();
        assert_eq!((ended, err.as_str()), (Some(code), "thermocline: interrupted\n"), "{args:?}");
        assert_eq!(count(), 0, "{args:?}");
    }
}

#[test]
fn a_sweep_goes_on_where_it_was_stopped() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let traces = [("a.tct", "zipf:0.99", "1"), ("b.tct", "hot-cold:90/10", "2")].map(
        |(name, spec, seed)| {
            let size = ["--span", "8MiB", "--bytes", "48MiB", "--seed", seed];
            done(&[&["trace", "generate", spec, &path(name)], &size[..]].concat());
            path(name)
        },
    );
    let grid = [
        &["sweep", "--trace", &traces[0], "--trace", &traces[1]][..],
        &["--over-provisioning", "7%,15%,28%", "--block-size", "64KiB,256KiB"],
        &["--policy", "greedy,fifo,cost-benefit,sep-gc,sep-bit,lfs"],
    ]
    .concat();
    let (whole, stopped) = (path("whole.csv"), path("stopped.csv"));
    done(&[&grid[..], &["--output", &whole]].concat());
    let (grid, store) = ([&grid[..], &["--output", &stopped]].concat(), format!("{stopped}.store"));
    let kept = || -> Vec<_> {
        let files = fs::read_dir(&store).into_iter().flatten().flatten();
        let results = files.filter(|file| file.file_name().to_string_lossy().ends_with(".json"));
        let mut all: Vec<_> = results
            .map(|file| {
                (file.file_name(), file.metadata().and_then(|m| m.modified()).expect("a time"))
            })
            .collect();
        all.sort();
        all
    };
    let started_until = |results: usize| {
        let child = Running::start(&grid);
        let deadline = Instant::now() + Duration::from_secs(60);
        while kept().len() < results && Instant::now() < deadline {
            sleep(Duration::from_millis(1));
        }
        child
    };
    let mut child = started_until(5);
    child.interrupt();
    let (code, _, err) = child.end();
    assert_eq!(code, Some(130), "{err}");
    assert!(err.contains("the same command goes on from there"), "{err}");
    let first = kept();
    let mut child = started_until(first.len() + 5);
    child.0.kill().expect("it runs");
    child.0.wait().expect("it ended");
    let second = kept();
    assert!(first.len() < second.len() && second.len() < 72, "{} {}", first.len(), second.len());
    assert!(!fs::exists(&stopped).expect("a name"), "no table before its time");
    done(&grid);
    assert_eq!(kept().len(), 72);
    assert!(first.iter().chain(&second).all(|result| kept().contains(result)), "nothing twice");
    let table = |path: &str| fs::read_to_string(path).expect("a table");
    assert!(table(&whole) == table(&stopped), "the tables differ");
    assert_eq!(table(&whole).lines().count(), 73);
}
