//! Making and serving chips: refusals, their time and their text.

mod common;

use std::{net::TcpListener, process::Command};

use common::{done, fails, folder, thermocline};
use tempfile::TempDir;

/// A fresh image of this name.
fn image(folder: &TempDir, name: &str) -> String {
    let path = path(folder, name);
    done(&["format", &path, "--capacity", "32MiB"]);
    path
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().expect("UTF-8").to_owned()
}

/// Serves an image for a command. Returns the exit code and the command's output.
fn served(image: &str, more: &[&str], command: &str) -> (i32, String) {
    let ran =
        thermocline(&[&["serve", image, "--log", "error"], more, &["--run", command]].concat());
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    (ran.code, ran.out)
}

#[test]
fn a_chip_that_is_too_small_is_told_the_least_that_is_enough() {
    let folder = folder();
    let chip = path(&folder, "a.img");
    let format = |capacity| thermocline(&["format", &chip, "--capacity", capacity, "--force"]);
    let mut least = None;
    for capacity in ["256KiB", "1MiB", "2MiB"] {
        let refused = format(capacity);
        assert_eq!(refused.code, 3, "{capacity}: {}", refused.err);
        let (_, rest) = refused.err.split_once("it takes --capacity ").expect("it is told");
        let (told, _) = rest.split_once(" at least").expect("it is told");
        assert_eq!(*least.get_or_insert(told.to_owned()), told, "{capacity}");
    }
    let least = least.expect("it was told");
    let made = format(&least);
    assert_eq!(made.code, 0, "{}", made.err);
    let blocks: u64 = done(&["stat", &chip, "--json"])
        .lines()
        .find_map(|line| line.trim().strip_prefix("\"blocks\": ")?.strip_suffix(',')?.parse().ok())
        .expect("a number of blocks");
    let less = format!("{}KiB", (blocks - 1) * 256);
    assert_eq!(format(&less).code, 3, "{less}");
    // No size helps against that.
    let none = ["format", &chip, "--force", "--over-provisioning", "0%"];
    fails(3, &none, &["--over-provisioning 0.3% or more"]);
}

#[test]
fn a_file_that_is_there_is_a_matter_of_usage_and_one_that_cannot_be_made_is_a_failure() {
    let folder = folder();
    let chip = image(&folder, "a.img");
    fails(2, &["format", &chip, "--capacity", "32MiB"], &["a.img: exists already", "--force"]);
    done(&["format", &chip, "--capacity", "16MiB", "--force"]);
    let here = path(&folder, ".");
    fails(2, &["format", &here], &["is a folder"]);
    fails(1, &["format", "/nowhere/a.img"], &["/nowhere/a.img: ", "No such file"]);
    fails(3, &["stat", "/nowhere/a.img"], &["/nowhere/a.img: "]);
    fails(2, &["format", "mtd:/dev/mtd0", "--capacity", "32MiB"], &["--capacity", "raw NAND"]);
}

#[test]
fn options_of_a_device_are_refused_for_an_image_that_is_one_already() {
    let folder = folder();
    let chip = image(&folder, "a.img");
    let options =
        [["--device", "slc-generic"], ["--capacity", "1GiB"], ["--over-provisioning", "7%"]];
    for option in options {
        let args = [&["serve", &chip, "--run", "true"], &option[..]].concat();
        fails(2, &args, &[option[0], "`ram:`", "leave it out"]);
    }
    let both = ["ram:", "--capacity", "32MiB"];
    assert_eq!(served(&chip, &both, "true").0, 0, "they are for the other one");
}

#[test]
fn names_are_checked_before_anything_is_mounted() {
    let folder = folder();
    let (a, b) = (image(&folder, "a.img"), image(&folder, "b.img"));
    let link = path(&folder, "link.img");
    std::os::unix::fs::symlink(&a, &link).expect("a link");
    let refused = |chips: &[&str], says: &[&str]| {
        fails(2, &[&["serve"], chips, &["--run", "true"]].concat(), says);
    };
    refused(&[&a, &a], &["the same chip"]);
    refused(&[&a, &link], &["the same chip", "link.img"]);
    refused(&[&format!("x={a}"), &format!("x={b}")], &["called \"x\"", "NAME="]);
    refused(&["ram:", "ram:"], &["called \"ram\""]);
    refused(&["=d.img"], &["no name before the equals sign", "./=d.img"]);
    refused(&["d="], &["no image behind"]);
    fails(3, &["serve", &a, "/nowhere/b.img", "--run", "true"], &["/nowhere/b.img: "]);
    // A file that looks like a name and a file.
    std::fs::copy(&a, folder.path().join("n=c.img")).expect("copied");
    let ran = common::command(&["serve", "n=c.img", "--log", "error", "--run", "true"])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(2), "{told}");
    assert!(told.contains("if it is a file, write ./n=c.img"), "{told}");
    let ran = common::command(&["serve", "./n=c.img", "--log", "error", "--run", "true"])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn addresses_are_checked_before_anything_is_mounted() {
    let folder = folder();
    let chip = image(&folder, "a.img");
    let refused = |code, option: &str, value: &str, says: &[&str]| {
        fails(code, &["serve", &chip, option, value, "--run", "true"], says);
    };
    for option in ["--tcp", "--metrics"] {
        for value in ["10809", "host", "host:port", "::1:10809", ":10809", ""] {
            refused(2, option, value, &[option, "127.0.0.1:10809"]);
        }
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = taken.local_addr().expect("it is bound").to_string();
        refused(1, option, &address, &[&address, "take another port"]);
    }
    refused(1, "--record", "/nowhere/week.tct", &["/nowhere/week.tct: "]);
    refused(1, "--unix", &path(&folder, &"x".repeat(108)), &["at most 107"]);
    assert_eq!(served(&chip, &["--tcp", "localhost:0"], "true").0, 0);
}

#[test]
fn words_that_say_nothing_are_refused() {
    let refused = |option: &str, value: &str, says: &[&str]| {
        fails(2, &["serve", "ram:", option, value, "--run", "true"], says);
    };
    refused("--log", "foo", &["`foo` is not a log level", "thermocline_server=debug"]);
    refused("--log", "", &["is not a log level"]);
    refused("--inject", "", &["names no fault", "flip=1e-6"]);
    refused("--inject", "flip", &["`flip` is not a fault"]);
    let ram = ["--capacity", "32MiB"];
    for log in ["off", "INFO", "warn,thermocline_server=debug"] {
        let args = [&["serve", "ram:", "--log", log, "--run", "true"], &ram[..]].concat();
        assert_eq!(thermocline(&args).code, 0, "{log}");
    }
}

#[test]
fn a_command_is_told_where_the_server_is_and_the_server_ends_as_it_did() {
    let folder = folder();
    let chip = image(&folder, "a.img");
    let socket = path(&folder, "a b&c=d%ü.sock");
    let (code, told) = served(&chip, &["--unix", &socket], r#"echo "$uri"; echo "$unixsocket""#);
    assert_eq!(code, 0);
    let (uri, plain) = told.trim_end().split_once('\n').expect("two lines");
    assert_eq!(plain, socket);
    let encoded = "nbd+unix:///?socket=";
    assert!(uri.starts_with(encoded) && uri.ends_with("/a%20b%26c%3Dd%25%C3%BC.sock"), "{uri}");
    assert_eq!(served(&chip, &[], "exit 7").0, 7);
    assert_eq!(served(&chip, &[], "kill -9 $$").0, 128 + 9);
    assert_eq!(served(&chip, &[], "kill -15 $$").0, 128 + 15);
}

#[test]
fn a_pidfile_of_a_process_that_lives_is_left_alone_and_a_stale_one_is_taken_over() {
    let folder = folder();
    let chip = image(&folder, "a.img");
    let file = path(&folder, "pid");
    let args = ["serve", &chip, "--run", "true", "--pidfile", &file];
    let write = |text: &str| std::fs::write(&file, text).expect("written");
    let read = || std::fs::read_to_string(&file).expect("there");

    let living = format!("{}\n", std::process::id());
    write(&living);
    fails(1, &args, &[&format!("process {}", std::process::id()), "alive", "another file"]);
    assert_eq!(read(), living);
    write("precious data\n");
    fails(1, &args, &["is no pidfile"]);
    assert_eq!(read(), "precious data\n");

    let mut dead = Command::new("true").spawn().expect("it starts");
    dead.wait().expect("it ends");
    write(&format!("{}\n", dead.id()));
    let show = format!("cat {file}; echo $PPID");
    let with = ["--pidfile", &file];
    let (code, told) = served(&chip, &with, &show);
    let (own, parent) = told.trim_end().split_once('\n').expect("two lines");
    assert_eq!((code, own), (0, parent));
    assert!(!std::path::Path::new(&file).exists(), "it is gone with its server");

    assert_eq!(served(&chip, &with, &format!("echo 1 > {file}")).0, 0);
    assert_eq!(read(), "1\n", "somebody else's");
}

#[test]
fn a_header_page_of_a_nor_chip_is_no_data() {
    let folder = folder();
    let card = path(&folder, "card.img");
    done(&["format", &card, "--device", "intel-series2plus-24m"]);
    fails(2, &["dump", &card, "page", "0", "0"], &["header page", "block 0", "begin at page 1"]);
    assert!(done(&["dump", &card, "page", "0", "1"]).contains("blank"));
}

#[test]
fn a_chip_that_answers_at_once_is_simulated_as_one() {
    let folder = folder();
    let chip = image(&folder, "a.img");
    let with_times = |ns: &str| {
        let profile = done(&["dump", &chip, "device"]);
        let lines = profile.lines().map(|line| match line.split_once('=') {
            Some((name, _)) if name.contains("_us") => format!("{name}= {ns}\n"),
            _ => format!("{line}\n"),
        });
        common::file(&folder, "device.toml", lines.collect::<String>())
    };
    let trace = common::file(&folder, "t.csv", common::csv_trace(2000, 50));
    let run = |device: &str, clock: &'static str| {
        let device = device.to_owned();
        ["run", "--device", &device, "--trace", &trace, "-q", "--clock", clock].map(str::to_owned)
    };
    let device = with_times("0.0");
    let args = run(&device, "arrivals");
    done(&args.each_ref().map(String::as_str));
    let args = run(&device, "device");
    fails(2, &args.each_ref().map(String::as_str), &["all its times are 0", "--clock arrivals"]);
}

#[test]
fn a_file_that_is_less_than_a_header_is_told_from_one_that_is_no_image() {
    let folder = folder();
    let chip = image(&folder, "a.img");
    let whole = std::fs::read(&chip).expect("readable");
    let cut = common::file(&folder, "cut.img", &whole[..1000]);
    fails(3, &["stat", &cut], &["cut.img: 1000 bytes long", "complete copy"]);
}

#[test]
fn a_recording_of_nothing_is_said_to_be_empty_once() {
    let folder = folder();
    let chip = image(&folder, "a.img");
    let trace = path(&folder, "empty.tct");
    assert_eq!(served(&chip, &["--record", &trace], "true").0, 0);
    fails(3, &["run", "--trace", &trace], &["empty.tct: the trace has no requests"]);
    fails(3, &["compare", "--trace", &trace], &["empty.tct: the trace has no requests"]);
}

/// The content of a folder: names, kinds and lengths.
fn listing(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).expect("readable");
    let mut all: Vec<_> = entries
        .map(|entry| {
            let entry = entry.expect("readable");
            let is = entry.path().symlink_metadata().expect("there");
            format!("{:?} {:?} {}", entry.file_name(), is.file_type(), is.len())
        })
        .collect();
    all.sort();
    all
}

/// Makes a pipe, or a device node where this process may. Whether it could.
fn node(path: &str, words: &[&str]) -> bool {
    let mut mknod = Command::new("mknod");
    let made = mknod.arg(path).args(words).stderr(std::process::Stdio::null()).status();
    let made = made.expect("mknod runs").success();
    if !made {
        thermocline_testing::skip("device nodes are left alone: mknod is not allowed");
    }
    made
}

#[test]
fn format_replaces_nothing_but_a_file() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("folder")).expect("made");
    std::os::unix::fs::symlink("pipe", folder.path().join("link")).expect("a link");
    assert!(node(&path(&folder, "pipe"), &["p"]), "anybody may make a pipe");
    let mut targets = vec![("folder", "a folder"), ("pipe", "a pipe"), ("link", "a pipe")];
    if node(&path(&folder, "disk"), &["b", "7", "200"]) {
        targets.push(("disk", "a block device"));
    }
    let before = listing(&folder);
    for (name, kind) in targets {
        let target = path(&folder, name);
        for force in [&["--force"][..], &[]] {
            let args = [&["format", &target, "--capacity", "32MiB"], force].concat();
            fails(2, &args, &[&format!("/{name}: is {kind}"), "a regular file"]);
        }
        for command in ["stat", "check"] {
            fails(3, &[command, &target], &[kind]);
        }
        assert_eq!(listing(&folder), before);
    }
}

#[test]
fn format_keeps_an_image_until_its_successor_is_complete() {
    let folder = folder();
    let (chip, link) = (image(&folder, "a.img"), path(&folder, "link.img"));
    std::os::unix::fs::symlink("a.img", &link).expect("a link");
    let before = (listing(&folder), std::fs::read(&chip).expect("readable"));
    let unchanged = |why: &str| {
        assert!((listing(&folder), std::fs::read(&chip).expect("readable")) == before, "{why}");
    };
    // As on a full disk: the successor cannot be written.
    let binary = env!("CARGO_BIN_EXE_thermocline");
    let limited = format!("trap '' XFSZ; ulimit -f 1024; {binary} format {chip} --force");
    let ran = Command::new("sh").args(["-c", &limited]).output().expect("it runs");
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
    unchanged("no room for another");
    fails(3, &["format", &chip, "--capacity", "1MiB", "--force"], &["--capacity"]);
    unchanged("no store fits");
    let format = format!("{binary} format {chip} --force");
    let (code, told) = served(&chip, &[], &format!("{format} 2>&1"));
    assert!(code == 1 && told.contains("in use"), "{code}: {told}");
    done(&["format", &link, "--capacity", "48MiB", "--force"]);
    assert!(std::path::Path::new(&link).is_symlink());
    assert!(std::fs::metadata(&chip).expect("there").len() > 48 << 20, "it is the new one");
}

#[test]
fn a_raw_disk_is_no_image_and_the_line_that_brings_it_in_is_given() {
    let folder = folder();
    let raw = path(&folder, "raw.img");
    std::fs::write(&raw, [7; 8192]).expect("written");
    let line = format!("`thermocline import {raw} NEW.img`");
    for command in [&["serve", &raw, "--run", "true"][..], &["check", &raw], &["stat", &raw]] {
        fails(3, command, &["not an image", &line]);
    }
    done(&["import", &raw, &path(&folder, "new.img")]);
}

#[test]
fn outputs_replace_a_file_at_the_end_and_nothing_else_ever() {
    let folder = folder();
    let trace = common::file(&folder, "t.csv", common::csv_trace(2000, 50));
    let (out, link) = (common::file(&folder, "out.csv", "precious"), path(&folder, "link.csv"));
    std::os::unix::fs::symlink("out.csv", &link).expect("a link");
    std::fs::create_dir(folder.path().join("folder.csv")).expect("made");
    let run = |target: &str, option: &str| -> Vec<String> {
        let run = ["run", "--trace", &trace, "-q", option, target];
        let convert = ["trace", "convert", "-q", &trace, target];
        let words = if option.is_empty() { &convert[..] } else { &run[..] };
        words.iter().map(|&word| word.to_owned()).collect()
    };
    let before = listing(&folder);
    for option in ["--output", "--delays", ""] {
        let args = run(&path(&folder, "folder.csv"), option);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let ran = thermocline(&args);
        assert_eq!(ran.code, 1, "{option}: {}", ran.err);
        assert!(ran.err.contains("folder.csv"), "{}", ran.err);
        // As on a full disk.
        let line = run(&link, option).join(" ");
        let binary = env!("CARGO_BIN_EXE_thermocline");
        let json = if option == "--output" { "--json" } else { "" };
        let line = format!("trap '' XFSZ; ulimit -f 1; {binary} {line} {json}");
        let ran = Command::new("sh").args(["-c", &line]).output().expect("it runs");
        assert_eq!(ran.status.code(), Some(1), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(listing(&folder), before, "{line}");
        assert_eq!(std::fs::read_to_string(&out).expect("readable"), "precious", "{line}");
    }
    let (null, pipe) = (path(&folder, "null.csv"), path(&folder, "pipe.csv"));
    let mut targets = vec![];
    if node(&null, &["c", "1", "3"]) {
        targets.push(null);
    }
    assert!(node(&pipe, &["p"]), "anybody may make a pipe");
    targets.push(pipe.clone());
    let before = listing(&folder);
    for option in ["--output", "--delays", ""] {
        for target in &targets {
            let reads = (*target == pipe).then(|| {
                Command::new("cat").arg(&pipe).stdout(std::process::Stdio::null()).spawn()
            });
            let args = run(target, option);
            done(&args.iter().map(String::as_str).collect::<Vec<_>>());
            if let Some(reader) = reads {
                reader.expect("cat runs").wait().expect("it ends");
            }
            assert_eq!(listing(&folder), before, "{target}");
        }
        let args = run(&link, option);
        done(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_ne!(std::fs::read_to_string(&out).expect("readable"), "precious");
        assert!(std::path::Path::new(&link).is_symlink());
        std::fs::write(&out, "precious").expect("written");
    }
}
