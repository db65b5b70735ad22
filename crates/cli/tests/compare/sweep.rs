//! `thermocline sweep`: the grid, the store, searches.

use std::{collections::BTreeMap, fs, path::Path, time::SystemTime};

use serde_json::Value;

use super::common::{command, csv_trace, done, fails, file, folder, json, stable, thermocline};

const PATTERN: [&str; 8] =
    ["--workload", "zipf:0.99", "--capacity", "8MiB", "--bytes", "16MiB", "--block-size", "32KiB"];

/// The columns of some names.
fn columns(csv: &str, names: &[&str]) -> Vec<Vec<String>> {
    let mut lines = csv.lines().map(cells);
    let header = lines.next().expect("a header");
    let at = |name: &&str| header.iter().position(|n| n == name).expect("a column");
    let places: Vec<_> = names.iter().map(at).collect();
    lines.map(|line| places.iter().map(|at| line[*at].clone()).collect()).collect()
}

/// The cells of a line. Commas in quotes are none between cells.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("one at least").push(c),
        }
    }
    cells
}

#[test]
fn people_get_a_table_of_what_differs_and_of_the_figures_there_is_room_for() {
    let folder = folder();
    let store = folder.path().join("store").display().to_string();
    let own = ["--policy", "greedy,cat", "--over-provisioning", "10%,20%", "--store", &store];
    let args = [&["sweep"][..], &PATTERN, &own].concat();
    let csv = done(&args);
    assert!(csv.starts_with("asked.") && csv.lines().count() == 5, "elsewhere it is CSV: {csv}");
    let mut figures = 0;
    for width in [80, 120, 200] {
        let asked = [&args[..], &["--format", "table"]].concat();
        let output = command(&asked).env("COLUMNS", width.to_string()).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        // The workload and the block size are the same in all rows.
        assert!(!text.contains("32KiB") && !text.contains("zipf"), "{text}");
        let rows: Vec<_> = text.lines().filter(|line| line.contains("0%")).collect();
        assert_eq!(rows.len(), 4, "{text}");
        let more = rows[0].split_whitespace().count();
        assert!(more > figures, "{width}: {text}");
        figures = more;
        let amplified = &columns(&csv, &["write_amplification"])[0][0];
        let amplified: f64 = amplified.parse().expect("a number");
        assert!(rows[0].contains(&format!("{amplified:.3}")), "{amplified}: {text}");
    }
}

/// When each file of a store was written.
fn times(store: &Path) -> BTreeMap<String, SystemTime> {
    let entry = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.expect("an entry");
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        (entry.file_name().to_string_lossy().into_owned(), modified.expect("a time"))
    };
    fs::read_dir(store).expect("a store").map(entry).collect()
}

#[test]
fn rows_stand_in_the_order_of_the_grid_and_are_computed_once() {
    let folder = folder();
    let trace = file(&folder, "t.csv", csv_trace(6000, 900));
    let (out, one) = (folder.path().join("all.csv"), folder.path().join("one.jsonl"));
    let (out, one) = (out.to_str().expect("UTF-8"), one.to_str().expect("UTF-8"));
    let grid = [
        "sweep",
        "--trace",
        &trace,
        "--policy",
        "greedy,FIFO",
        "--over-provisioning",
        "10..20%/10",
    ];
    done(&[&grid[..], &["--output", out, "--block-size", "64KiB"]].concat());
    let table = fs::read_to_string(out).expect("a table");
    let rows = columns(
        &table,
        &[
            "asked.policy",
            "asked.over-provisioning",
            "config.device.geometry.pages_per_block",
            "error",
        ],
    );
    let expected = [["greedy", "10%"], ["greedy", "20%"], ["FIFO", "10%"], ["FIFO", "20%"]]
        .map(|[p, o]| [p, o, "16", ""]);
    assert_eq!(rows, expected);
    // A larger grid reuses the stored cells of the smaller one; threads change nothing.
    let store = format!("{out}.store");
    let before = times(Path::new(&store));
    assert_eq!(before.len(), 4);
    let more = ["--block-size", "64KiB,128KiB", "--store", &store, "--format", "jsonl", "-j1"];
    done(&[&grid[..], &more, &["--output", one]].concat());
    let after = times(Path::new(&store));
    assert_eq!(after.len(), 8);
    assert!(before.iter().all(|(name, time)| after.get(name) == Some(time)), "nothing twice");
    let lines = fs::read_to_string(one).expect("a table");
    let first: Value = serde_json::from_str(lines.lines().next().expect("a row")).expect("JSON");
    assert_eq!(first["asked"]["block-size"], "64KiB");
    // So does an equal grid in other words.
    let grid =
        ["sweep", "--trace", &trace, "--policy", "Greedy,fi-fo", "--over-provisioning", "0.1,0.2"];
    done(&[&grid[..], &["--block-size", "64k,131072", "--seed", "1", "--store", &store]].concat());
    assert_eq!(times(Path::new(&store)), after);
    // So do arguments of a policy.
    let policies = ["--policy", "cat(tau=84min),CAT(tau=5040s)", "--over-provisioning", "10%"];
    done(&[&["sweep", "--trace", &trace, "--store", &store], &policies[..]].concat());
    assert_eq!(times(Path::new(&store)).len(), after.len() + 1);
    // A row is what `run` says.
    let args = ["run", "--trace", &trace, "--policy", "greedy", "--over-provisioning", "10%"];
    let run = stable(json(&[&args[..], &["--block-size", "64KiB", "--json"]].concat()));
    let mut result = first;
    result.as_object_mut().expect("an object").remove("asked");
    assert_eq!(result, run);
}

#[test]
fn shards_one_behind_another_are_the_whole() {
    let folder = folder();
    let store = folder.path().join("store");
    let store = store.to_str().expect("UTF-8");
    let grid = [
        &["sweep"],
        &PATTERN[..],
        &["--policy", "greedy,fifo,cat", "--seeds", "3", "--store", store],
    ]
    .concat();
    let whole = done(&grid);
    let (header, rows) = whole.split_once('\n').expect("a header");
    let seeds: Vec<_> = columns(&whole, &["asked.seed"]).into_iter().flatten().collect();
    assert_eq!(seeds.concat(), "123123123");
    let parts = (1..=4).map(|part| {
        let part = done(&[&grid[..], &["--shard", &format!("{part}/4")]].concat());
        part.strip_prefix(header).expect("the same header").trim_start().to_owned()
    });
    assert_eq!(parts.collect::<String>(), rows);
}

#[test]
fn a_file_is_the_same_sweep() {
    let folder = folder();
    let store = folder.path().join("store");
    let store = ["--store", store.to_str().expect("UTF-8")];
    let text = "workload = 'zipf:0.99'\ncapacity = '8MiB'\nbytes = '16MiB'\nblock-size = '32KiB'\n\
                policy = ['greedy', 'cat(tau=1h, offset=0)']\nbanks = [1, 2]\ncheck = true\nseeds = 2\n";
    let toml = file(&folder, "grid.toml", text);
    let by_file = done(&[&["sweep", &toml], &store[..]].concat());
    let by_options =
        ["--policy", "greedy,cat(tau=1h, offset=0)", "--banks", "1,2", "--check", "--seeds", "2"];
    assert_eq!(by_file, done(&[&["sweep"], &PATTERN[..], &by_options, &store].concat()));
    // The command line comes first.
    let one = done(&[&["sweep", &toml, "--policy", "greedy", "--banks", "2"], &store[..]].concat());
    assert_eq!(columns(&one, &["asked.policy", "asked.banks"]), [["greedy", "2"], ["greedy", "2"]]);
    let wrong = file(&folder, "wrong.toml", "workload = 'uniform'\npolicies = 'greedy'\n");
    fails(
        3,
        &["sweep", &wrong, store[0], store[1]],
        &["wrong.toml", "`policies`: there is no such setting"],
    );
}

#[test]
fn a_cell_that_fails_stops_no_other() {
    let folder = folder();
    let store = folder.path().join("store");
    let (trace, gone) =
        (file(&folder, "t.csv", csv_trace(3000, 500)), folder.path().join("gone.csv"));
    let gone = gone.to_str().expect("UTF-8");
    let args = ["sweep", "--trace", gone, "--trace", &trace, "--policy", "greedy,fifo", "--store"];
    let ran = thermocline(&[&args[..], &[store.to_str().expect("UTF-8")]].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.err.contains("gone.csv, policy greedy: ") && ran.err.contains("no such file"),
        "{}",
        ran.err
    );
    let errors = columns(&ran.out, &["error", "host.pages_written"]);
    assert_eq!(errors.len(), 4);
    assert!(errors[1][0].contains("no such file") && errors[1][1].is_empty());
    assert_eq!(errors[2], ["", "3000"]);
}

#[test]
fn what_is_wrong_with_a_sweep_shows_at_once() {
    for (more, says) in [
        (&["--policy", "greedy"][..], "--trace or --workload"),
        (&["--trace", "-"], "standard input cannot be read again"),
        (&["--workload", "uniform", "--over-provisioning", "7%..9%"], "has no steps"),
        (&["--workload", "uniform", "--over-provisioning", "7%..5%/1%"], "begins behind its end"),
        (&["--workload", "uniform", "--banks", "one"], "--banks"),
        (&["--workload", "uniform", "--until", "write_amplification<=1"], "a range without steps"),
        (
            &["--workload", "uniform", "--seed", "1,2", "--seeds", "2"],
            "--seeds counts from one --seed",
        ),
        (&["--workload", "uniform", "--absolute"], "is for a --trace"),
        (&["--workload", "uniform", "--shard", "5/4"], "3/16"),
    ] {
        let folder = folder();
        let store = folder.path().join("store");
        fails(2, &[&["sweep", "--store", store.to_str().expect("UTF-8")], more].concat(), &[says]);
    }
}

#[test]
fn the_over_provisioning_for_a_write_amplification_is_found() {
    let folder = folder();
    let (store, table) = (folder.path().join("store"), folder.path().join("tried.csv"));
    let (store, table) = (store.to_str().expect("UTF-8"), table.to_str().expect("UTF-8"));
    let search = [
        &["sweep"],
        &PATTERN[..],
        &["--policy", "greedy,fifo", "--until", "write_amplification<=2", "--store", store],
        &["--over-provisioning", "5%..80%", "--tolerance", "1%"],
    ]
    .concat();
    let answer = done(&[&search[..], &["--output", table]].concat());
    let lines: Vec<_> = answer.lines().collect();
    assert_eq!(lines.len(), 2, "{answer}");
    let tried = fs::read_to_string(table).expect("a table");
    let tried =
        columns(&tried, &["asked.policy", "asked.over-provisioning", "write_amplification"]);
    for (line, policy) in lines.iter().zip(["greedy", "fifo"]) {
        let begin = format!(
            "policy {policy}: write_amplification <= 2 takes over-provisioning of at least "
        );
        let rest = line.strip_prefix(&begin).unwrap_or_else(|| panic!("{answer}"));
        let found: u32 = rest.split('%').next().and_then(|n| n.parse().ok()).expect("a number");
        assert!(line.ends_with("(tolerance 1%)."), "{line}");
        // The found value meets the aim, and one step below does not.
        let at = |value: u32| {
            let row = tried.iter().find(|row| row[0] == policy && row[1] == format!("{value}%"));
            row.unwrap_or_else(|| panic!("{value}% was tried"))[2].parse::<f64>().expect("a figure")
        };
        assert!(at(found) <= 2.0 && at(found - 1) > 2.0, "{line}");
    }
    assert!(tried.len() <= 20, "{}", tried.len());
    let none =
        [&search[..search.len() - 4], &["--over-provisioning", "5%..6%", "--tolerance", "1%"]]
            .concat();
    let ran = thermocline(&none);
    assert!(
        ran.code == 1 && ran.out.contains("holds with no over-provisioning from 5% to 6%"),
        "{ran:?}"
    );
}

#[test]
fn a_search_is_confirmed_and_does_not_depend_on_the_threads() {
    let folder = folder();
    let trace = folder.path().join("t.csv");
    let trace = trace.to_str().expect("UTF-8");
    done(&["trace", "generate", "hot-cold:90/10", trace, "--span", "4MiB", "--bytes", "24MiB"]);
    let search = [
        "tune",
        "--trace",
        trace,
        "--policy",
        "greedy,dac",
        "--budget",
        "12",
        "--block-size",
        "64KiB",
        "--over-provisioning",
        "10%,20%",
        "--json",
    ];
    let found = json(&search);
    assert_eq!(found, json(&[&search[..], &["-j1"]].concat()));
    assert_eq!(found["requests"], serde_json::json!([3686, 2458]));
    assert!(found["trials"].as_array().expect("trials").len() >= 12);
    assert!(!found["front"].as_array().expect("a front").is_empty());
    let best = &found["best"];
    let policy = best["policy"].as_str().expect("a policy");
    // The search used the beginning of the trace, as `run` does.
    let over_provisioning = best["settings"]["over-provisioning"].as_str().expect("a share");
    let high: Vec<_> = best["command"].as_str().expect("a command").split(" --high ").collect();
    let mut run = vec!["run", "--trace", trace, "--policy", policy, "--block-size", "64KiB"];
    run.extend(["--over-provisioning", over_provisioning, "--limit", "3686", "--json"]);
    if let [_, high] = high[..] {
        run.extend(["--high", high.split(' ').next().expect("a number")]);
    }
    assert_eq!(json(&run)["write_amplification"], best["searched"]["write_amplification"]);
    assert!(best["confirmed"]["write_amplification"].as_f64().expect("confirmed") >= 1.0);
    assert!(found["untuned"]["distance"].is_number());
    let small = thermocline(&["tune", "--trace", trace, "--budget", "2"]);
    assert_eq!(small.code, 2);
    assert!(small.err.contains("name fewer with --policy"), "{}", small.err);
}

#[test]
fn a_queue_that_grows_has_no_response_times_to_search_by() {
    let folder = folder();
    let store = folder.path().join("store").display().to_string();
    let busy = [&PATTERN[..], &["--interarrival", "10us", "--policy", "greedy"]].concat();
    let tune = [&["tune"], &busy[..], &["--budget", "1", "--no-parameters"]].concat();
    let words = "the device is overloaded with every policy, and response times are those of a growing queue";
    fails(1, &[&tune[..], &["--aim", "p99"]].concat(), &[words]);
    let result = json(&[&tune[..], &["--json"]].concat());
    let searched = &result["best"]["searched"];
    assert!(searched["overloaded"] == true && searched["write_p99_us"].is_null(), "{searched}");
    let until = ["--over-provisioning", "10%..20%", "--until", "write.p99<=1ms", "--store", &store];
    let ran = thermocline(&[&["sweep"], &busy[..], &until].concat());
    assert!(ran.out.matches(" (overloaded) at ").count() == 2, "{ran:?}");
}
