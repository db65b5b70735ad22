//! What lists what there is, and help.

mod common;

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
