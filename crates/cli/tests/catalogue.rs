//! The commands that list, and help.

mod common;

use serde_json::Value;

use common::{done, fails, json, thermocline};

#[test]
fn policies_are_listed_with_their_sources() {
    let table = done(&["policies"]);
    let list = json(&["policies", "--json"]);
    for entry in list.as_array().expect("a list") {
        let name = entry["name"].as_str().expect("text");
        assert!(table.lines().any(|line| line.trim().starts_with(name)), "{name}");
        assert!(!entry["source"].as_str().expect("text").is_empty(), "{name}");
    }
    let cat = done(&["policies", "cat"]);
    for part in ["preset cat", "victim cat", "tau", "default", "offset", "84min"] {
        assert!(cat.contains(part), "{part}: {cat}");
    }
    assert!(done(&["policies", "M6"]).contains("fine-grained"));
    let entries = json(&["policies", "greedy", "--json"]);
    assert_eq!(entries.as_array().map(Vec::len), Some(2));
}

#[test]
fn devices_are_listed_with_their_figures() {
    let table = done(&["devices"]);
    for name in ["intel-series2plus-24m", "jasmine-64g", "slc-generic", "tlc-generic"] {
        assert!(table.contains(name), "{table}");
        let device = json(&["devices", name, "--json"]);
        assert_eq!(device["name"], name);
        assert!(device["timing"]["program_us"].is_f64());
        assert!(done(&["devices", name]).contains("sources"));
    }
    fails(2, &["devices", "slc"], &["`thermocline devices`"]);
}

#[test]
fn a_device_as_toml_is_the_same_device() {
    let folder = common::folder();
    for name in ["slc-generic", "jasmine-64g"] {
        let toml = common::file(&folder, "own.toml", done(&["devices", name, "--toml"]));
        assert_eq!(json(&["devices", &toml, "--json"]), json(&["devices", name, "--json"]));
        assert_eq!(done(&["devices", &toml, "--toml"]), done(&["devices", name, "--toml"]));
    }
    fails(2, &["devices", "--toml"], &["NAME"]);
}

#[test]
fn keys_are_listed_with_units_and_found_by_words() {
    let all = json(&["keys", "--json"]);
    let all = all.as_array().expect("a list");
    let unit = |key: &str| {
        let found = all.iter().find(|entry| entry["key"] == key).expect(key);
        assert!(found["meaning"].as_str().is_some_and(|text| text.len() > 5), "{found}");
        found["unit"].as_str().expect("text").to_owned()
    };
    assert_eq!(unit("write_amplification"), "");
    assert_eq!(unit("response_us.write.p99"), "µs");
    assert_eq!(unit("response_us.write.count"), "");
    assert_eq!(unit("lifetime.tbw_bytes"), "bytes");
    assert_eq!(unit("config.over_provisioning"), "");
    assert_eq!(unit("lifetime.years"), "years");
    // Every key of a run is there.
    let run = json(&["run", "--workload", "uniform", "--capacity", "16MiB", "--json"]);
    for (part, value) in run.as_object().expect("an object") {
        let known = |entry: &Value| {
            let key = entry["key"].as_str().unwrap_or_default();
            key == part || key.starts_with(&format!("{part}."))
        };
        assert!(all.iter().any(known), "{part}: {value}");
    }
    let found = done(&["keys", "p99"]);
    assert!(found.contains("response_us.write.p99  (number, µs)"), "{found}");
    assert!(!found.contains("lifetime"), "{found}");
    assert!(done(&["keys", "drive writes"]).contains("dwpd"), "by their meanings too");
    fails(2, &["keys", "no-such-key"], &["`no-such-key`", "thermocline keys"]);
}

#[test]
fn two_files_of_results_are_compared_figure_by_figure() {
    let folder = common::folder();
    let run = |op: &str, policies: &str, form: &str, name: &str| {
        let args = ["compare", "--workload", "zipf:0.99", "--capacity", "8MiB", "--bytes", "16MiB"];
        let own = ["--block-size", "32KiB", "--over-provisioning", op, "--policies", policies];
        let text = done(&[&args[..], &own, &["--format", form]].concat());
        common::file(&folder, name, text)
    };
    let a = run("10%", "greedy,cat", "json", "a.json");
    let b = run("20%", "cat,greedy,fifo", "jsonl", "b.jsonl");
    let found = json(&["diff", &a, &b, "--json"]);
    let pairs = found["pairs"].as_array().expect("a list");
    let policies: Vec<_> = pairs.iter().map(|pair| pair["policy"].as_str()).collect();
    assert_eq!(policies, [Some("greedy"), Some("cat")]);
    assert_eq!(found["only_b"][0]["policy"], "fifo");
    let differs = |key: &str| {
        let all = pairs[0]["differences"].as_array().expect("a list");
        all.iter().find(|one| one["key"] == key).cloned()
    };
    let amplified = differs("write_amplification").expect("it differs");
    let change = amplified["b"].as_f64().zip(amplified["a"].as_f64()).map(|(b, a)| b / a - 1.0);
    assert_eq!(amplified["change"].as_f64(), change);
    assert!(change < Some(0.0) && differs("config.over_provisioning").is_some());
    assert!(differs("host.pages_written").is_some() || differs("config.seed").is_none());
    let text = done(&["diff", &a, &b]);
    assert!(text.contains("write_amplification") && text.contains("only in"), "{text}");
    assert!(!text.contains("perf."), "{text}");
    let same = done(&["diff", &a, &a]);
    assert_eq!(same.matches("no figure differs").count(), 2, "{same}");
    let bad = common::file(&folder, "bad.json", "{\"x\": 1}");
    fails(3, &["diff", &a, &bad], &["bad.json", "--json"]);
    let broken = common::file(&folder, "broken.json", "{\"x\"");
    fails(3, &["diff", &broken, &a], &["broken.json", "--json"]);
    fails(3, &["diff", "gone.json", &a], &["gone.json"]);
}

#[test]
fn a_disk_is_recorded_by_the_tool_that_is_there() {
    use std::os::unix::fs::PermissionsExt;
    let folder = common::folder();
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).expect("a folder");
    let record = |args: &[&str]| {
        let mut command = common::command(&[&["record"], args].concat());
        // The shell of the fake tools is found by its whole name.
        command.current_dir(folder.path()).env("PATH", &tools);
        let ran = command.output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
    };
    let (code, _, said) = record(&["/dev/null", "--for", "10m"]);
    assert_eq!(code, Some(2), "{said}");
    for part in ["blktrace and bpftrace are not installed", "apt install blktrace", "dnf install"] {
        assert!(said.contains(part), "{said}");
    }
    let install = |name: &str, script: &str| {
        let path = tools.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        let all = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, all).expect("a program");
    };
    // A fake bpftrace prints the output of the real one.
    install(
        "bpftrace",
        r#"echo "$@" > told
           printf 'time_ns,op,offset_bytes,size_bytes\n1000,WS,0,4096\n2000,DS,4096,8192\n3000,FF,0,0\n' > "$3""#,
    );
    let (code, out, said) = record(&["/dev/null", "--for", "10m"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        out.contains("null.csv") && out.contains("next: thermocline trace info null.csv"),
        "{out}"
    );
    let told = std::fs::read_to_string(folder.path().join("told")).expect("it ran");
    // /dev/null is 1:3.
    for part in ["-q -o null.csv -e", "args->dev == 1048579/", "interval:s:600"] {
        assert!(told.contains(part), "{told}");
    }
    let trace = folder.path().join("null.csv").display().to_string();
    let info = json(&["trace", "info", &trace, "--json"]);
    let report = &info["traces"][0];
    let counts = ["writes", "trims", "flushes"].map(|key| report[key].as_u64());
    assert_eq!(counts, [Some(1), Some(1), Some(1)], "{info}");
    let (code, _, said) = record(&["/dev/null", "--for", "10m"]);
    assert!(
        code == Some(2) && said.contains("null.csv exists") && said.contains("--output"),
        "{said}"
    );
    // blktrace is the better one; its files are named by their beginning.
    install("blktrace", r#"echo "$@" > told; echo x > "$8.blktrace.0"; echo y > "$8.blktrace.1""#);
    let (code, out, said) = record(&["/dev/null", "--for", "90s", "-o", "my disk"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        out.contains("my disk.blktrace.*: 2 files") && out.contains("compare 'my disk'"),
        "{out}"
    );
    let told = std::fs::read_to_string(folder.path().join("told")).expect("it ran");
    assert_eq!(told.trim(), "-a issue -d /dev/null -w 90 -o my disk");
    // What fails, or records nothing, is no success.
    install("blktrace", "exit 5");
    let (code, out, said) = record(&["/dev/null", "--for", "1s", "-o", "other"]);
    assert!(code != Some(0) && out.is_empty() && said.contains("sudo"), "{out} {said}");
    install("blktrace", "exit 0");
    let (code, _, said) = record(&["/dev/null", "--for", "1s", "-o", "other"]);
    assert!(code != Some(0) && said.contains("recorded nothing"), "{said}");
    // A job is run with its log.
    std::fs::write(folder.path().join("job.fio"), "[one]\nrw=randwrite\n").expect("written");
    let (code, _, said) = record(&["job.fio", "--for", "5m"]);
    assert!(code == Some(2) && said.contains("fio is not installed"), "{said}");
    install(
        "fio",
        r#"while read -r line; do case "$line" in
             write_iolog=*) printf 'fio version 2 iolog\n/f add\n/f open\n/f write 0 4096\n/f close\n' > "${line#*=}";;
             runtime=*) echo "$line" > told;;
           esac; done < "$1""#,
    );
    let (code, out, said) = record(&["job.fio", "--for", "5m"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("next: thermocline trace info job.iolog"), "{out}");
    assert_eq!(
        std::fs::read_to_string(folder.path().join("told")).expect("it ran"),
        "runtime=300\n"
    );
    let trace = folder.path().join("job.iolog").display().to_string();
    assert_eq!(json(&["trace", "info", &trace, "--json"])["traces"][0]["writes"], 1);
    let (code, _, said) = record(&["/dev/null", "--for", "soon"]);
    assert!(code == Some(2) && said.contains("10m"), "{said}");
}

#[test]
fn a_server_has_its_options_from_a_file() {
    let folder = common::folder();
    let config = |text: &str| common::file(&folder, "disk.toml", text);
    let serve = |file: &str, more: &[&str]| {
        let mut command = common::command(&[&["serve", "--config", file], more].concat());
        command.env("CREDENTIALS_DIRECTORY", folder.path()).current_dir(folder.path());
        let ran = command.output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
    };
    let whole = "chips = [\"one=ram:\", \"two=ram:\"]\ncapacity = \"16MiB\"\nlog = \"error\"\n\
                 unix = \"disk.sock\"\nread-only = true\npidfile = \"${CREDENTIALS_DIRECTORY}/disk.pid\"\n\
                 run = \"test -s disk.pid && echo $unixsocket\"\n";
    let file = config(whole);
    let (code, out, said) = serve(&file, &[]);
    assert!(code == Some(0) && out.trim().ends_with("/disk.sock"), "{out} {said}");
    // The command line comes first.
    let (code, out, said) = serve(&file, &["--unix", "other.sock", "--run=echo $unixsocket"]);
    assert!(code == Some(0) && out.trim().ends_with("/other.sock"), "{out} {said}");
    for (text, told) in [
        ("chips = [\"ram:\"]\nunixx = \"s\"\n", "`unixx` is no option"),
        ("chips = [\"ram:\"]\nconfig = \"x\"\n", "`config` is no option"),
        ("chips = [\"ram:\"]\nmax-connections = \"few\"\n", "few"),
        ("chips = [\n", "disk.toml:"),
        ("unix = \"s\"\n", "IMAGE"),
    ] {
        let (code, _, said) = serve(&config(text), &[]);
        assert!(code == Some(2) && said.contains(told), "{text}: {said}");
    }
    let (code, _, said) = serve("gone.toml", &[]);
    assert!(code == Some(2) && said.contains("gone.toml"), "{said}");
    let credentials = config("chips = [\"ram:\"]\nunix = \"${CREDENTIALS_DIRECTORY}/s\"\n");
    let mut without = common::command(&["serve", "--config", &credentials]);
    let ran = without.env_remove("CREDENTIALS_DIRECTORY").output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("LoadCredential") && ran.status.code() == Some(2), "{said}");
}

#[test]
fn everything_is_installed_where_it_belongs() {
    let folder = common::folder();
    let root = folder.path().join("root");
    let mut make = std::process::Command::new("make");
    make.args(["--no-print-directory", "install", "PREFIX=/opt/tc"])
        .arg(format!("BINARY={}", env!("CARGO_BIN_EXE_thermocline")))
        .arg(format!("DESTDIR={}", root.display()))
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .env_remove("MAKEFLAGS")
        .current_dir(common::repository());
    let ran = make.output().expect("make runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    for (file, says) in [
        ("share/man/man1/thermocline.1", "policies for flash memory"),
        ("share/man/man1/thermocline-trace-info.1", "thermocline"),
        ("share/bash-completion/completions/thermocline", "compare"),
        ("share/zsh/site-functions/_thermocline", "compare"),
        ("share/fish/vendor_completions.d/thermocline.fish", "compare"),
        ("lib/systemd/system/thermocline@.service", "ExecStart=/opt/tc/bin/thermocline serve"),
        ("lib/systemd/system/thermocline@.socket", "ListenStream"),
    ] {
        let text = std::fs::read_to_string(root.join("opt/tc").join(file));
        let text = text.unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(text.contains(says), "{file}: no {says}");
    }
    assert!(root.join("opt/tc/bin/thermocline").is_file());
}

#[test]
fn workloads_are_listed() {
    let table = done(&["workloads"]);
    let list = json(&["workloads", "--json"]);
    assert!(table.contains("hot-cold:X/Y") && table.contains("cell-phone"));
    for entry in list.as_array().expect("a list") {
        for column in ["syntax", "summary", "when", "source"] {
            assert!(entry[column].as_str().is_some_and(|text| !text.is_empty()), "{entry}");
        }
    }
}

#[test]
fn shells_complete_names() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(done(&["completions", shell]).contains("compare"), "{shell}");
    }
    let bash = done(&["completions", "bash"]);
    for name in ["cost-benefit", "slc-generic", "fine-grained", "blkparse"] {
        assert!(bash.contains(name), "{name}");
    }
}

#[test]
fn help_teaches_by_examples_and_versions_are_told() {
    let number = concat!("thermocline ", env!("CARGO_PKG_VERSION"));
    assert_eq!(done(&["-V"]), format!("{number}\n"));
    let version = done(&["--version"]);
    assert!(version.starts_with(&format!("{number} (commit ")), "{version}");
    assert!(version.contains("; features: ") && version.ends_with(")\n"), "{version}");
    for args in [
        &["--help"][..],
        &["run", "--help"],
        &["compare", "--help"],
        &["trace", "--help"],
        &["trace", "info", "--help"],
        &["trace", "convert", "--help"],
        &["trace", "generate", "--help"],
        &["policies", "--help"],
        &["devices", "--help"],
        &["workloads", "--help"],
        &["completions", "--help"],
    ] {
        assert!(done(args).contains("Examples:"), "{args:?}");
    }
    let nothing = thermocline(&[]);
    assert_eq!((nothing.code, nothing.out.as_str()), (2, ""));
    assert!(nothing.err.contains("Usage:"));
}

#[test]
fn every_medium_is_in_the_help_and_in_the_reference() {
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/server-reference.md");
    let reference = std::fs::read_to_string(reference).expect("the reference of the server");
    let help = done(&["serve", "--help"]);
    let help: Vec<_> = help.split_whitespace().collect();
    let help = help.join(" ");
    for medium in thermocline_media::MEDIA {
        assert!(help.contains(medium.summary), "{}: {help}", medium.scheme);
        let row = format!("\n| `{}` |", medium.example);
        assert!(reference.contains(&row), "docs/server-reference.md has no row {row}");
    }
}
