//! Drives as they are sold: what they export, their own translation layer, and how they were written before.

mod common;

use common::{fails, file, folder, json};
use serde_json::Value;

const MICRON: [&str; 5] = ["run", "--device", "micron-7450-800g", "--scale", "1/4096"];

fn run(options: &[&str]) -> Value {
    json(&[&MICRON[..], &["--json", "-q"], options].concat())
}

fn written(options: &[&str]) -> f64 {
    run(options)["write_amplification"].as_f64().expect("something was written")
}

#[test]
fn a_drive_exports_what_it_is_sold_with_and_cleans_as_its_profile_says() {
    let result = run(&["--workload", "sequential", "--bytes", "32TB"]);
    let config = &result["config"];
    assert_eq!((&config["policy"], &config["victim"]), (&"drive".into(), &"greedy".into()));
    assert_eq!((&config["placement"], &config["scale"]), (&"sep-gc".into(), &4096.into()));
    let exported = config["logical_pages"].as_f64().expect("a number") * 4096.0 * 4096.0;
    assert!((exported / 800_166_076_416.0 - 1.0).abs() < 0.005, "{exported}");
    // Sequential writing copies nothing: what is left is what the drive programs beside its pages.
    assert_eq!(result["write_amplification"], 1.0);
    assert_eq!(result["drive_write_amplification"], 1.033);
    // Lifetimes are those of the whole drive, whose flash wears 3000 times.
    let tbw = result["lifetime"]["tbw_bytes"].as_f64().expect("blocks were erased");
    assert!((tbw / (800.166e9 * 1.452 * 3000.0) - 1.0).abs() < 0.05, "{tbw}");
    let cat = run(&["--workload", "sequential", "--policy", "cat"]);
    assert_eq!(cat["config"]["policy"], "cat");
    let chip = json(&["run", "--workload", "uniform", "--capacity", "64MiB", "--json", "-q"]);
    assert!(chip.get("drive_write_amplification").is_none());
    assert!(chip["config"].get("scale").is_none());
}

#[test]
fn what_was_written_before_decides_what_is_copied() {
    let sequential =
        |how| written(&["--workload", "sequential", "--bytes", "800GB", "--preconditioned", how]);
    assert_eq!((sequential("sequential"), sequential("fresh")), (1.0, 1.0));
    assert!(sequential("shuffled") > 1.1, "{}", sequential("shuffled"));
    let fresh = run(&["--workload", "uniform", "--bytes", "800GB", "--preconditioned", "fresh"]);
    assert_eq!(
        (&fresh["config"]["filled_pages"], &fresh["cleaning"]["victims"]),
        (&0.into(), &0.into())
    );
    let shuffled = run(&["--workload", "uniform", "--preconditioned", "shuffled"]);
    assert_eq!(shuffled["config"]["preconditioned"], "shuffled");
}

#[test]
fn a_part_that_is_used_leaves_the_rest_as_over_provisioning() {
    let half = run(&["--workload", "uniform", "--used", "372.6GiB"]);
    let used = half["config"]["used_pages"].as_f64().expect("a number");
    let logical = half["config"]["logical_pages"].as_f64().expect("a number");
    assert!((used / logical - 0.5).abs() < 0.005);
    // Four times what is used.
    assert!((half["host"]["pages_written"].as_f64().expect("a number") / used - 4.0).abs() < 0.01);
    let half = half["write_amplification"].as_f64().expect("something was written");
    // As much as a device with this over-provisioning throughout: 2 · 1.452 - 1.
    let alike = written(&["--workload", "uniform", "--over-provisioning", "190.4%"]);
    let all = written(&["--workload", "uniform"]);
    assert!((half / alike - 1.0).abs() < 0.01 && half < 1.1 && all > 1.7, "{half} {alike} {all}");
}

#[test]
fn zones_that_are_trimmed_cost_by_their_size_and_number() {
    let zones = |which| written(&["--workload", which, "--request", "512KiB", "--bytes", "2400GB"]);
    // A zone of many superblocks leaves most of them empty at once; one of half a superblock does not.
    let (large, small) = (zones("zones:1/16GiB"), zones("zones:1/1GiB"));
    assert!(large < 1.01 && small > 1.05, "{large} {small}");
    assert!(zones("zones:16/8GiB") > large + 0.1);
    // What nobody trims is copied until it is overwritten.
    assert!(zones("zones:4/8GiB/untrimmed") > zones("zones:4/8GiB"));
}

#[test]
fn the_most_popular_page_may_be_the_first() {
    let spread = |which| {
        let result = json(&[
            "run",
            "--workload",
            which,
            "--capacity",
            "16MiB",
            "--bytes",
            "64MiB",
            "--json",
            "-q",
        ]);
        result["trace"]["path"].as_str().map(str::to_owned)
    };
    assert_eq!(spread("zipf:0.8/in-order"), Some("zipf:0.8/in-order --bytes 64MiB".into()));
    fails(2, &["run", "--workload", "zipf:0.8/backwards"], &["zipf:0.99/in-order"]);
}

#[test]
fn what_makes_no_drive_is_refused_with_the_remedy() {
    let folder = folder();
    let run = |options: &[&str], said: &[&str]| fails(2, &[&MICRON[..], options].concat(), said);
    run(&["--workload", "uniform", "--sample", "1/2"], &["--sample"]);
    run(&["--workload", "s1"], &["--scale is for patterns"]);
    run(
        &["--workload", "uniform", "--policy", "nftl"],
        &["--scale is for policies that map pages"],
    );
    run(&["--workload", "uniform", "--used", "900GB"], &["--used", "exports"]);
    run(&["--workload", "uniform", "--used", "1"], &["--used", "at least a page"]);
    run(&["--workload", "uniform", "--fill", "none", "--used", "1GiB"], &["--fill"]);
    run(&["--workload", "zones:400/8GiB"], &["has room for 93"]);
    run(&["--workload", "zones:0/8GiB"], &["zones:OPEN/SIZE"]);
    let trace = file(&folder, "t.csv", "time_ns,op,volume,offset,len\n1,write,a,0,4096\n");
    run(&["--trace", &trace], &["--sample 1/4096"]);
    let whole =
        ["run", "--device", "micron-7450-800g", "--scale", "1/65536", "--workload", "uniform"];
    fails(2, &whole, &["--scale 1/65536 leaves 8", "1/16724"]);
    let toml = common::done(&["devices", "micron-7450-800g", "--toml"]);
    for (was, is, said) in [
        ("exported_bytes = 800166076416", "exported_bytes = 2800166076416", "exported_bytes"),
        ("overhead = 0.033", "overhead = 33.0", "overhead"),
        ("victim = \"greedy\"", "victim = \"greed\"", "greedy"),
    ] {
        let own = file(&folder, "own.toml", toml.replace(was, is));
        let ran = common::thermocline(&[
            "run",
            "--device",
            &own,
            "--scale",
            "1/4096",
            "--workload",
            "uniform",
        ]);
        assert!(ran.code > 1 && ran.err.contains(said), "{} {}", ran.code, ran.err);
    }
}
