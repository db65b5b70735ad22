//! `thermocline compare --per-volume`, and what goes with traces of many volumes.

use std::fs;

use serde_json::Value;

use super::common::{done, file, folder, json, stable, thermocline};

/// Writes of five volumes, the first the busiest; the last is only read.
fn fleet() -> String {
    let mut text = String::from("time_ns,op,volume,offset,len\n");
    for i in 0..12_000_u64 {
        let volume = [0, 0, 0, 1, 0, 2, 3, 0][(i % 8) as usize];
        let page = i * 7919 % (400 * (volume + 1));
        text += &format!("{},write,vol-{volume},{},4096\n", i * 100_000, page * 4096);
    }
    text + "1200000000,read,vol-4,0,4096\n"
}

const COMMON: [&str; 5] = ["--policies", "greedy,fifo", "--block-size", "32KiB", "--no-progress"];

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn each_volume_is_a_device_of_its_own() {
    let folder = folder();
    let trace = file(&folder, "fleet.csv", fleet());
    let args = [&["compare", "--trace", &trace, "--per-volume", "--min-volume", "0"], &COMMON[..]]
        .concat();
    let all = rows(&done(&[&args[..], &["--format", "jsonl"]].concat()));
    assert_eq!(all.len(), 10);
    for volume in ["vol-0", "vol-3"] {
        let alone = ["compare", "--trace", &trace, "--volume", volume, "--json"];
        let alone = stable(json(&[&alone[..], &COMMON].concat()));
        let ours = all.iter().filter(|row| row["asked"]["volume"] == volume);
        for (ours, alone) in ours.zip(alone["runs"].as_array().expect("runs")) {
            let mut ours = ours.clone();
            ours.as_object_mut().expect("an object").remove("asked");
            assert_eq!(ours["trace"]["path"], format!("{trace} --volume {volume}"));
            ours["trace"]["path"] = alone["trace"]["path"].clone();
            assert_eq!(ours, *alone, "{volume}");
        }
    }
    // Weighted by writes, and as the rows say.
    let whole = json(&[&args[..], &["--json"]].concat());
    let figure = |row: &Value, key: &str| row.pointer(key).and_then(Value::as_f64);
    for (policy, summary) in
        ["greedy", "fifo"].iter().zip(whole["fleet"].as_array().expect("a list"))
    {
        let of_policy = all.iter().filter(|row| row["asked"]["policy"] == *policy);
        let (mut programs, mut written) = (0.0, 0.0);
        for row in of_policy {
            let pages = figure(row, "/host/pages_written").expect("pages");
            written += pages;
            programs += pages * figure(row, "/write_amplification").unwrap_or(0.0);
        }
        let expected = programs / written;
        let found = figure(summary, "/write_amplification").expect("a figure");
        assert!((found / expected - 1.0).abs() < 1e-12, "{summary}");
        assert_eq!(summary["volumes"], 4);
    }
    let table = done(&args);
    assert!(
        table.contains("write amplification of 5 volumes") && table.contains("Answer: "),
        "{table}"
    );
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn a_fleet_has_a_page_plots_filters_and_a_table_of_policies_and_traces() {
    let folder = folder();
    let (a, b) =
        (file(&folder, "a.csv", fleet()), file(&folder, "b.csv", fleet().replace("vol-", "disk-")));
    let (page, plots) = (folder.path().join("fleet.html"), folder.path().join("plots"));
    let (page, plots) = (page.display().to_string(), plots.display().to_string());
    let args = ["compare", "--trace", &a, "--trace", &b, "--per-volume", "--min-volume", "0"];
    let args = [&args[..], &COMMON].concat();
    let table = done(&[&args[..], &["--report", &page, "--plots", &plots]].concat());
    let place = |text: &str| table.find(text).unwrap_or_else(|| panic!("{text}: {table}"));
    // Policies first, then policies and traces, then volumes.
    let policies = place("write amplification of 10 volumes");
    let traces = place("write amplification of each trace");
    assert!(policies < traces && traces < place("volumes, most written first"), "{table}");
    let row = |name: &str| {
        let row = table[traces..].lines().find(|line| line.trim_start().starts_with(name));
        row.unwrap_or_else(|| panic!("{name}: {table}"))
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("policy"), ["policy", "a.csv", "b.csv"]);
    let greedy = row("greedy");
    assert!(greedy.len() == 3 && greedy[1] == greedy[2], "the traces are alike: {greedy:?}");
    let html = fs::read_to_string(&page).expect("a page");
    assert!(
        html.contains("Policies and traces") && html.contains("a.csv") && html.contains("vol-3")
    );
    assert!(html.contains("Answer: ") && html.matches("<svg").count() >= 3);
    for chart in ["fleet-distribution", "fleet-density", "fleet-best"] {
        for ending in ["svg", "csv"] {
            assert!(fs::metadata(format!("{plots}/{chart}.{ending}")).is_ok_and(|f| f.len() > 40));
        }
    }
    // vol-0 has half of the writes, vol-4 reads alone.
    let volumes = |more: &[&str]| {
        let one = ["compare", &a, "--per-volume", "--min-volume", "0", "--format", "jsonl"];
        let all = rows(&done(&[&one[..], &COMMON, more].concat()));
        let name = |row: &Value| row["asked"]["volume"].as_str().expect("text").to_owned();
        let mut names: Vec<_> = all.iter().map(name).collect();
        names.dedup();
        names
    };
    assert_eq!(volumes(&["--min-written", "20MiB"]), ["vol-0"]);
    assert_eq!(
        volumes(&["--max-written", "20MiB", "--max-reads", "50%"]),
        ["vol-1", "vol-2", "vol-3"]
    );
    assert_eq!(volumes(&["--min-reads", "50%"]), ["vol-4"]);
    let few = thermocline(&[&args[..], &["--min-written", "20MiB"]].concat());
    assert!(few.err.contains("8 of 10 volumes are left out by --min-written"), "{}", few.err);
}

#[test]
fn sweeps_and_searches_take_volumes_one_by_one() {
    let folder = folder();
    let trace = file(&folder, "fleet.csv", fleet());
    let store = folder.path().join("store").display().to_string();
    let shape = ["--block-size", "32KiB", "--over-provisioning", "20%"];
    let all_sizes = ["--min-volume", "0", "--no-progress"];
    let args = [
        "sweep",
        "--trace",
        &trace,
        "--per-volume",
        "--policy",
        "greedy,fifo",
        "--format",
        "jsonl",
    ];
    let all = rows(&done(&[&args[..], &shape, &all_sizes, &["--store", &store]].concat()));
    assert_eq!(all.len(), 10, "five volumes, two policies");
    for (volume, policy) in [("vol-0", "greedy"), ("vol-3", "fifo")] {
        let name = format!("{trace} --volume {volume}");
        let is = |row: &&Value| {
            row["asked"]["trace"] == name.as_str() && row["asked"]["policy"] == policy
        };
        let ours = all.iter().find(is).unwrap_or_else(|| panic!("{name}: {all:?}"));
        let alone = ["run", &trace, "--volume", volume, "--policy", policy, "--json"];
        let alone = json(&[&alone[..], &shape].concat());
        for key in ["/write_amplification", "/flash/blocks_erased", "/host/pages_written"] {
            assert_eq!(ours.pointer(key), alone.pointer(key), "{volume} {policy} {key}");
        }
    }
    // Stored results are found again.
    let kept = fs::read_dir(&store).expect("a store").count();
    let again = thermocline(&[&args[..], &shape, &all_sizes, &["--store", &store]].concat());
    assert_eq!(rows(&again.out), all);
    assert_eq!(fs::read_dir(&store).expect("a store").count(), kept);
    let refused = ["sweep", "--workload", "uniform", "--per-volume", "--policy", "greedy"];
    let refused = thermocline(&refused);
    assert!(
        refused.code == 2 && refused.err.contains("--per-volume is for traces"),
        "{}",
        refused.err
    );
    let tune =
        ["tune", "--trace", &trace, "--per-volume", "--policy", "greedy,fifo", "--budget", "4"];
    let tune = [&tune[..], &["--no-parameters"], &shape, &all_sizes].concat();
    let tuned = thermocline(&[&tune[..], &["--json"]].concat());
    let found: Value = serde_json::from_str(&tuned.out).expect(&tuned.err);
    let found = found.as_array().expect("a list");
    assert_eq!(found.len(), 5);
    assert_eq!(found[0]["volume"], "vol-0");
    let command = found[0]["tuned"]["best"]["command"].as_str().expect("text");
    assert!(command.contains(" --volume vol-0") && !command.contains('\''), "{command}");
    let table = thermocline(&tune);
    assert!(table.out.contains("vol-3") && table.out.contains("Answer: of "), "{}", table.out);
}

#[test]
fn a_sweep_takes_traces_as_a_shell_writes_them() {
    let folder = folder();
    let (a, b) = (file(&folder, "a.csv", fleet()), file(&folder, "b.csv", fleet()));
    let grid = file(&folder, "grid.toml", "policy = \"greedy\"\nblock-size = \"32KiB\"\n");
    let store = folder.path().join("store").display().to_string();
    for order in [[&a, &b, &grid].map(String::as_str), [&b, &a, &grid].map(String::as_str)] {
        let args =
            [&["sweep", "--trace"][..], &order, &["--store", &store, "--format", "jsonl"]].concat();
        let traces: Vec<_> =
            rows(&done(&args)).iter().map(|row| row["asked"]["trace"].clone()).collect();
        assert_eq!(traces, order[..2]);
    }
    let ran = thermocline(&["sweep", &a, "--policy", "greedy"]);
    assert!(ran.code == 3 && ran.err.contains(&format!("named by --trace {a}")), "{}", ran.err);
}

#[test]
fn a_volume_too_small_for_its_over_provisioning_is_left_out() {
    let folder = folder();
    // Of 300 and 30 blocks of 32 KiB: 15 % are 45 blocks and 4, and a log needs 9.
    let writes = |volume, pages: u64| {
        let page = move |i: u64| i * 7919 % pages * 4096;
        (0..3 * pages).map(move |i| format!("{i},write,{volume},{},4096\n", page(i)))
    };
    let lines: String = writes("large", 2401).chain(writes("small", 239)).collect();
    let trace = file(&folder, "two.csv", format!("time_ns,op,volume,offset,len\n{lines}"));
    let fleet = |more: &[&str]| {
        let args = [&["compare", "--trace", &trace, "--per-volume"], &COMMON[..], more].concat();
        let ran = thermocline(&[&args[..], &["--json"]].concat());
        let told: Value = serde_json::from_str(&ran.out).expect("JSON");
        (told["runs"].as_array().expect("a list").len(), told["excluded"].as_u64(), ran.err)
    };
    let (runs, excluded, told) = fleet(&[]);
    assert_eq!((runs, excluded), (2, Some(1)));
    assert!(told.contains("1 of 2 volumes are left out"), "{told}");
    let (runs, excluded, told) = fleet(&["--min-volume", "0"]);
    assert!(runs == 4 && excluded == Some(0) && !told.contains("left out"), "{told}");
    assert_eq!(fleet(&["--min-volume", "100MiB"]).1, Some(2));
    // Sweeps and searches have the same rule; a stored result belongs to one choice only.
    let (store, page) = (folder.path().join("store"), folder.path().join("page.html"));
    let (store, page) = (store.display().to_string(), page.display().to_string());
    let shape = ["--policy", "greedy,fifo", "--block-size", "32KiB", "--no-progress"];
    let sweep = ["sweep", "--trace", &trace, "--per-volume", "--store", &store];
    let sweep = |more: &[&str]| thermocline(&[&sweep[..], &shape, more].concat());
    for (least, count) in [(&[][..], 2), (&["--min-volume", "0"], 4), (&[], 2)] {
        let ran = sweep(&[&["--format", "jsonl"], least].concat());
        assert_eq!((ran.code, rows(&ran.out).len()), (0, count), "{}", ran.err);
        assert_eq!(ran.err.contains("1 of 2 volumes are left out: their over"), count == 2);
    }
    assert_eq!(rows(&sweep(&["--format", "jsonl", "--max-written", "1MiB"]).out).len(), 0);
    // A combination of settings stands where a comparison has a policy.
    let spaces = ["--over-provisioning", "20%,40%", "--format", "table", "--report", &page];
    let told = sweep(&spaces).out;
    assert!(told.contains("write amplification of 1 volume"), "{told}");
    assert!(told.contains("greedy, 20%") || told.contains("20%, greedy"), "{told}");
    let page = fs::read_to_string(&page).expect("a page");
    assert!(page.contains("How the volumes spread") && page.contains("4 policies on 1 volume"));
    let tune = ["tune", "--trace", &trace, "--per-volume", "--budget", "2", "--no-parameters"];
    let tuned = thermocline(&[&tune[..], &shape, &["--json"]].concat());
    let found: Value = serde_json::from_str(&tuned.out).expect(&tuned.err);
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{}", tuned.err);
    assert!(tuned.code == 0 && tuned.err.contains("1 of 2 volumes are left out"), "{}", tuned.err);
    // Alone or beside others, a policy has the same figure.
    let of = |policies: &str| {
        let args = ["compare", "--trace", &trace, "--per-volume", "--policies", policies];
        let told = json(&[&args[..], &["--block-size", "32KiB", "--json"]].concat());
        told["fleet"][0]["write_amplification"].as_f64()
    };
    assert_eq!(of("greedy"), of("greedy,sep-bit,fadac"));
}

#[test]
fn shards_of_a_fleet_joined_are_the_whole() {
    let folder = folder();
    let trace = file(&folder, "fleet.csv", fleet());
    let store = folder.path().join("store");
    let store = store.to_str().expect("UTF-8");
    let form = ["--per-volume", "--min-volume", "0", "--format", "csv"];
    let args = [&["compare", "--trace", &trace], &form[..], &COMMON[..]].concat();
    let whole = done(&args);
    let (header, rows) = whole.split_once('\n').expect("a header");
    let mut joined = String::new();
    for part in ["1/3", "2/3", "3/3"] {
        let part = done(&[&args[..], &["--shard", part, "--store", store]].concat());
        joined += part.strip_prefix(header).expect("the same header").trim_start();
    }
    assert_eq!(joined, rows);
    // The parts' store has all there is: the whole takes it from there.
    let files = || fs::read_dir(store).expect("a store").count();
    assert_eq!(files(), 5);
    assert_eq!(done(&[&args[..], &["--store", store]].concat()), whole);
    assert_eq!(files(), 5);
}

#[test]
fn volumes_taken_for_one_device_are_warned_of_and_split() {
    let folder = folder();
    let trace = file(&folder, "fleet.csv", fleet());
    for args in [&["run", "--policy", "greedy"][..], &["compare", "--policies", "greedy"]] {
        let ran = thermocline(&[args, &["--trace", &trace]].concat());
        assert!(
            ran.code == 0 && ran.err.contains("its 5 volumes are simulated as one device"),
            "{ran:?}"
        );
        let one = thermocline(&[args, &["--trace", &trace, "--volume", "vol-1"]].concat());
        assert!(one.code == 0 && !one.err.contains("as one device"), "{one:?}");
    }
    let info = &json(&["trace", "info", &trace, "--json"])["traces"][0];
    let names: Vec<_> =
        info["volumes"].as_array().expect("a list").iter().map(|v| &v["name"]).collect();
    assert_eq!(names, ["vol-0", "vol-1", "vol-2", "vol-3", "vol-4"]);
    assert_eq!(info["volume_skew"]["volumes_of_90_percent"], 4);
    let parts = folder.path().join("parts");
    done(&["trace", "split", &trace, parts.to_str().expect("UTF-8")]);
    assert_eq!(fs::read_dir(&parts).expect("there").count(), 5);
    let part = parts.join("vol-2.tct");
    let args = ["run", "--policy", "greedy", "--json", "--trace"];
    let split = stable(json(&[&args[..], &[part.to_str().expect("UTF-8")]].concat()));
    let chosen = stable(json(&[&args[..], &[&trace, "--volume", "vol-2"]].concat()));
    assert_eq!(split["host"], chosen["host"]);
    assert_eq!(split["write_amplification"], chosen["write_amplification"]);
}
