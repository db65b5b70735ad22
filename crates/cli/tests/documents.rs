//! The commands of the documents, as they are printed. Those that would take long run on the first requests of their
//! trace, or on a small device.

mod common;

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    sync::Mutex,
};

use common::{corpus, done, folder, repository};

/// Commands that are typed here.
const TYPED: [&str; 11] = [
    "compare",
    "devices",
    "diff",
    "metrics",
    "policies",
    "predict",
    "run",
    "sweep",
    "trace",
    "watch",
    "workloads",
];

/// Beginnings of lines that are not typed, and why.
const NOT_TYPED: [(&str, &str); 9] = [
    (
        "thermocline compare --device toshiba-tc58dvm72-64m --over-provisioning 14.2858% --workload s1",
        "it takes seconds",
    ),
    ("thermocline compare drawn.csv", "another program draws the hints"),
    ("thermocline compare --trace hplajw.srt", "the trace is not free"),
    ("thermocline run --capacity 4TiB", "it fills four terabytes"),
    ("thermocline run --device solidigm-d7-p5520", "it writes thousands of gigabytes first"),
    ("thermocline run --device micron-7450-800g", "so does it"),
    ("thermocline trace info stick.pcap", "there is no recording of a stick"),
    ("thermocline run --trace stick.pcap", "as above"),
    ("thermocline compare --trace stick.pcapng", "as above"),
];

/// Files of a reader that the commands name, made of the first requests of a recorded trace.
const FILES: [&str; 11] = [
    "a.csv.zst",
    "b.csv.zst",
    "c.csv.zst",
    "big.csv.zst",
    "t.csv.zst",
    "mylog.csv.zst",
    "big.csv.gz",
    "fleet.csv.gz",
    "week.tct",
    "fleet.csv",
    "disk.tct",
];

/// Logs of a reader whose columns the commands name.
const TEXTS: [(&str, &str); 2] = [
    (
        "mylog.csv",
        "when,rw,addr,len,disk\n2026-01-01 00:00:00.5,W,0x1000,8,sda\n2026-01-01 00:00:00.6,R,0x1000,8,sda\n",
    ),
    ("mylog.txt", "0.5 1 sda W 100 8\n0.6 1 sda R 100 8\n"),
];

/// A folder as a reader's, with the corpus in it.
fn desk() -> tempfile::TempDir {
    let desk = folder();
    let recorded = repository().join("corpus").canonicalize().expect("it is there");
    std::os::unix::fs::symlink(recorded, desk.path().join("corpus")).expect("linked");
    desk
}

fn typed(command: &str, desk: &Path) -> Output {
    let own = Path::new(env!("CARGO_BIN_EXE_thermocline")).parent().expect("a folder");
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap_or_default());
    let mut bash = Command::new("bash");
    bash.args(["-c", command]).current_dir(desk).env("PATH", &path).env_remove("COLUMNS");
    bash.output().expect("there is bash")
}

/// Each command of the page is followed by what it prints.
#[test]
fn the_exercises_for_lecturers_print_what_the_page_shows() {
    let page = fs::read_to_string(repository().join("docs/exercises.md")).expect("the page");
    // A sweep leaves a store beside it.
    let desk = desk();
    let mut commands = 0;
    for part in page.split("```sh\n").skip(1) {
        let (command, rest) = part.split_once("```\n\n```text\n").expect("what it prints");
        let (shown, _) = rest.split_once("```\n").expect("its end");
        let ran = typed(command, desk.path());
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(String::from_utf8_lossy(&ran.stdout), shown, "{command}");
        commands += 1;
    }
    assert!(commands >= 5);
}

/// The commands in blocks of code, each on one line.
fn commands(page: &str) -> Vec<String> {
    let mut fenced = false;
    let mut all = Vec::new();
    for line in page.replace("\\\n", " ").lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let in_block = fenced || line.starts_with("    ");
        let line = line.trim_start().trim_start_matches("$ ");
        let is_typed = line
            .strip_prefix("thermocline ")
            .is_some_and(|rest| TYPED.contains(&rest.split(' ').next().unwrap_or_default()));
        // An ellipsis stands for what the reader adds.
        if in_block && is_typed && !line.contains('…') && !line.contains("...") {
            let command = line.split(" #").next().unwrap_or(line);
            all.push(command.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    all
}

/// The command with less to do.
fn short(command: &str) -> String {
    let has = |option: &str| command.contains(option);
    let of = command.split(' ').nth(1).unwrap_or_default();
    let mut short = command.to_owned();
    if !["run", "compare", "sweep", "watch"].contains(&of) || has(".toml") {
        return short;
    }
    if has("--workload") {
        if let Some((before, after)) = command.split_once(" --bytes ") {
            let (_, rest) = after.split_once(' ').unwrap_or((after, ""));
            short = format!("{before} {rest}");
        }
        short += " --bytes 4MiB";
        if !has("--capacity") && !has("--device") {
            short += " --capacity 64MiB";
        }
    } else if has(" corpus/") && !has("--limit") {
        short += " --limit 400";
    }
    if has("--hint ") {
        // The device is to have room for a stream each.
        short += " --capacity 64MiB";
    }
    // Drawing is tested elsewhere.
    if let Some((before, after)) = short.split_once(" --report ") {
        let (_, rest) = after.split_once(' ').unwrap_or((after, ""));
        short = format!("{before} {rest}");
    }
    if of == "watch" && !has("--output") {
        short += " --output watched.html";
    }
    if of == "compare" && !has("--no-oracle") {
        short += " --no-oracle";
    }
    short
}

#[test]
fn commands_of_the_documents_run() {
    let desk = desk();
    for file in FILES {
        let path = desk.path().join(file).display().to_string();
        done(&[
            "trace",
            "convert",
            "--quiet",
            "--limit",
            "2000",
            &corpus("sqlite-ext4.tct"),
            &path,
        ]);
    }
    for (file, text) in TEXTS {
        fs::write(desk.path().join(file), text).expect("written");
    }
    let mut pages = Vec::new();
    for entry in fs::read_dir(repository().join("docs")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "md") {
            let mut commands = commands(&fs::read_to_string(&path).expect("text"));
            commands
                .retain(|command| !NOT_TYPED.iter().any(|(begin, _)| command.starts_with(begin)));
            pages.push((path, commands));
        }
    }
    pages.sort();
    let count: usize = pages.iter().map(|(_, commands)| commands.len()).sum();
    let (pages, wrong) = (Mutex::new(pages), Mutex::new(Vec::new()));
    // A command may need what one before it on its page has written.
    let type_all = || {
        while let Some((page, commands)) = { pages.lock().expect("not poisoned").pop() } {
            for command in commands {
                let command = short(&command);
                let ran = typed(&command, desk.path());
                if !ran.status.success() {
                    let why = String::from_utf8_lossy(&ran.stderr);
                    let why = format!("{}: {command}: {why}", page.display());
                    wrong.lock().expect("not poisoned").push(why);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (0..2).for_each(|_| drop(scope.spawn(type_all)));
    });
    let wrong = wrong.into_inner().expect("not poisoned");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "{count} commands");
}
