//! File workloads, and comparisons of layers that have nothing in common.

mod common;

use common::{csv_trace, done, fails, file, folder, json, stable, thermocline};
use serde_json::Value;

const CHIP: [&str; 6] =
    ["--device", "toshiba-tc58dvm72-64m", "--workload", "s2", "--bytes", "4MiB"];
/// Pages of 4 KiB.
const PAGES: [&str; 8] =
    ["--device", "slc-generic", "--capacity", "64MiB", "--workload", "s2", "--bytes", "4MiB"];

fn with<'a>(command: &'a str, input: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&[command], input, more].concat()
}

fn count(result: &Value, group: &str, key: &str) -> u64 {
    result[group][key].as_u64().unwrap_or_else(|| panic!("{group}.{key}: {result}"))
}

#[test]
fn files_run_on_small_pages_and_are_seen_through() {
    let run = |policy| json(&with("run", &CHIP, &["--policy", policy, "--json", "-q", "--check"]));
    let [plain, watched] = ["nftl", "fsaf"].map(run);
    // The same host, and only what it did after the prelude.
    assert_eq!(plain["host"], watched["host"]);
    let bytes = count(&plain, "host", "bytes_written");
    assert!((4 << 20..6 << 20).contains(&bytes), "{bytes}");
    assert_eq!(count(&plain, "host", "pages_written"), bytes / 512);
    assert_eq!(plain["trace"]["path"], "s2 --bytes 4MiB");
    assert!(plain.get("dead_data").is_none());
    let dead = &watched["dead_data"];
    // It was found in the prelude, and never let go.
    assert_eq!((dead["armed"].as_u64(), dead["disarmed"].as_u64()), (Some(1), Some(0)), "{dead}");
    assert!(dead["sectors_marked"].as_u64() > Some(1000), "{dead}");
    assert!(dead["memory_bytes"].as_u64() > Some(0));
    assert_eq!(plain["config"]["filled_pages"], 0);
}

#[test]
fn files_run_on_pages_of_several_sectors() {
    let run = |dead| {
        let more = ["--policy", "cat", "--dead-data", dead, "--json", "-q", "--check"];
        json(&with("run", &PAGES, &more))
    };
    let [trim, fsaf] = ["trim", "fsaf"].map(run);
    assert_eq!(trim["host"], fsaf["host"]);
    assert_eq!(trim["config"]["device"]["geometry"]["page_size"], 4096);
    assert!(count(&fsaf, "dead_data", "sectors_marked") > 1000, "{fsaf}");
    assert_eq!(count(&fsaf, "dead_data", "sectors_marked") % 8, 0);
    assert_eq!(count(&fsaf, "dead_data", "disarmed"), 0);
    assert!(trim["clock"].is_null() && trim["config"]["clock"] == "arrivals");
}

#[test]
fn what_a_host_decides_is_refused() {
    for command in ["run", "compare"] {
        for option in [["--interarrival", "1ms"], ["--request", "4k"], ["--reads", "10%"]] {
            let says = [option[0], "s2", "leave out"];
            fails(2, &with(command, &PAGES, &option), &says);
        }
        for option in [&["--loop", "2"][..], &["--absolute"], &["--wrap"]] {
            fails(2, &with(command, &PAGES, option), &[option[0], "the input is a --workload"]);
        }
    }
    let tiny = ["run", "--workload", "s2", "--capacity", "4MiB", "--device", "slc-generic"];
    let ran = thermocline(&tiny);
    assert!((2..=3).contains(&ran.code) && ran.err.lines().count() == 1, "{}", ran.err);
    fails(2, &["run", "--workload", "s4"], &["s4"]);
}

#[test]
fn a_watcher_without_a_file_system_says_so() {
    let said = |args: &[&str]| {
        let ran = thermocline(args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err
    };
    let uniform = ["--workload", "uniform", "--bytes", "1MiB", "--capacity", "64MiB"];
    let steady = said(&with("run", &uniform, &["--policy", "greedy", "--dead-data", "fsaf"]));
    assert!(
        steady.contains("no FAT, exFAT, ext or NTFS")
            && steady.contains("use a file workload (s1, s2, ...)"),
        "{steady}"
    );
    let several = ["--policies", "greedy,cat", "--dead-data", "fsaf", "--no-oracle"];
    let compared = said(&with("compare", &uniform, &several));
    assert!(compared.contains("no FAT, exFAT, ext or NTFS"), "{compared}");
    assert!(compared.contains("use a file workload (s1, s2, ...)"), "{compared}");
    // A file workload has a prelude and is generated: it cannot be looped, and no device is sized
    // by it.
    for command in ["run", "compare"] {
        let policy = if command == "run" { "--policy" } else { "--policies" };
        let none = with(command, &PAGES, &[policy, "greedy", "--dead-data", "fsaf"]);
        let ran = said(&none);
        assert!(!ran.contains("no FAT32") && !ran.contains("the trace"), "{command}: {ran}");
        assert!(!ran.contains("--loop"), "{command}: {ran}");
    }
}

#[test]
fn a_trace_beside_them_is_looped_alone() {
    let folder = folder();
    let trace = file(&folder, "t.csv", csv_trace(2000, 500));
    let more = ["--policies", "greedy", "--no-oracle", "--json", "-q", "--trace", &trace];
    let run = |times: &[&str]| json(&with("compare", &PAGES, &[&more[..], times].concat()));
    let [once, twice] = [run(&[]), run(&["--loop", "2"])];
    let requests = |result: &Value, at: usize| count(&result["runs"][at], "host", "requests");
    assert_eq!((requests(&once, 0), requests(&twice, 0)), (2000, 4000));
    assert_eq!(stable(once["runs"][1].clone()), stable(twice["runs"][1].clone()));
}

/// Layers of four kinds, with and without idle work and a watcher.
const MIXED: [&str; 3] =
    ["--policies", "greedy,in-place,nftl,fsaf,combo,slac,cat(tau=1min)", "--no-oracle"];

#[test]
fn rows_have_the_same_columns_whatever_the_layer() {
    let csv = done(&with("compare", &CHIP, &[&MIXED[..], &["--format", "csv", "-q"]].concat()));
    let lines: Vec<Vec<String>> = csv.lines().map(fields).collect();
    assert_eq!(lines.len(), 8, "{csv}");
    let header = &lines[0];
    for line in &lines {
        assert_eq!(line.len(), header.len(), "{line:?}");
    }
    let at = |name: &str| {
        let places: Vec<_> = (0..header.len()).filter(|at| header[*at] == name).collect();
        assert_eq!(places.len(), 1, "{name}: {header:?}");
        places[0]
    };
    // The order of the JSON result.
    let order = [
        "schema_version",
        "config.policy",
        "config.layer",
        "config.victim",
        "config.placement",
        "config.bank_assignment",
        "config.queue_depth",
        "config.reads_first",
        "config.suspend_program_us",
        "config.idle.policy",
        "config.idle.free_blocks",
        "config.dead_data",
        "config.device.name",
        "config.device.energy",
        "config.logical_pages",
        "trace.path",
        "host.requests",
        "write_amplification",
        "oracle.policy",
        "oracle.write_amplification",
        "oracle.excess",
        "cleaning.runs",
        "cleaning.retired_blocks",
        "nftl.folds",
        "nftl.forced_folds",
        "dead_data.sectors_marked",
        "dead_data.sectors_revived",
        "dead_data.pages_left",
        "dead_data.blocks_reclaimed",
        "dead_data.extra_reads",
        "dead_data.armed",
        "dead_data.disarmed",
        "dead_data.memory_bytes",
        "wear.min",
        "application.response_us",
        "elapsed_us",
        "banks",
        "perf.wall_s",
    ];
    let places: Vec<_> = order.iter().map(|name| at(name)).collect();
    assert!(places.is_sorted(), "{header:?}");

    // Every figure stands under its own name.
    let json = json(&with("compare", &CHIP, &[&MIXED[..], &["--json", "-q"]].concat()));
    let runs = json["runs"].as_array().expect("a list");
    assert_eq!(runs.len(), 7);
    for (run, line) in runs.iter().zip(&lines[1..]) {
        for (name, cell) in header.iter().zip(line).filter(|(name, _)| !name.starts_with("perf.")) {
            let value = name.split('.').fold(run, |value, key| &value[key]);
            let expected = match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            // Reading a number may be off by its last digit.
            let near = |(a, b): (f64, f64)| (a - b).abs() <= 1e-12 * a.abs();
            let numbers = cell.parse().ok().zip(expected.parse().ok());
            assert!(
                *cell == expected || numbers.is_some_and(near),
                "{name} of {}: {cell} {expected}",
                run["config"]["policy"]
            );
        }
        let leaves = leaves("", run);
        for leaf in leaves.iter().filter(|leaf| !leaf.starts_with("perf.")) {
            assert!(header.contains(leaf), "{leaf} has no column");
        }
    }
    // Another device and another input have the same columns.
    let other = ["compare", "--workload", "uniform", "--bytes", "1MiB", "--capacity", "16MiB"];
    let other = [&other[..], &["--policies", "greedy,nftl", "--format", "csv", "-q"]].concat();
    assert_eq!(done(&other).lines().next(), csv.lines().next());
}

/// The names of all figures of a result, those in one column together as one.
fn leaves(prefix: &str, value: &Value) -> Vec<String> {
    const WHOLE: [&str; 4] =
        ["config.device.energy", "cleaning.choices", "cleaning.policy", "banks"];
    match value {
        Value::Object(object) if !WHOLE.contains(&prefix) => object
            .iter()
            .flat_map(|(key, value)| {
                let dot = if prefix.is_empty() { "" } else { "." };
                leaves(&format!("{prefix}{dot}{key}"), value)
            })
            .collect(),
        _ => vec![prefix.to_owned()],
    }
}

/// The cells of a line of CSV.
fn fields(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let cell = cells.last_mut().expect("there is one");
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                cell.push('"');
                characters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cell.push(c),
        }
    }
    cells
}

#[test]
fn a_mixed_comparison_is_the_same_on_any_number_of_threads() {
    let run = |threads| {
        let args = with("compare", &CHIP, &[&MIXED[..], &["--json", "-q", threads]].concat());
        stable(json(&args)).to_string()
    };
    let one = run("-j1");
    assert_eq!(one, run("-j2"));
    let other = with("compare", &CHIP, &[&MIXED[..], &["--json", "-q", "--seed", "2"]].concat());
    assert_ne!(one, stable(json(&other)).to_string());
}

#[test]
fn files_are_compared_with_the_oracle_on_a_page_mapped_device() {
    let result = json(&with("compare", &PAGES, &["--policies", "greedy,cat", "--json", "-q"]));
    for run in result["runs"].as_array().expect("a list") {
        assert!(run["oracle"]["excess"].is_f64(), "{run}");
    }
}
