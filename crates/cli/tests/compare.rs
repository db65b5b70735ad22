//! `thermocline compare`.

mod common;

use std::time::Instant;

use common::{
    CARD, corpus, csv_trace, done, fails, fed, file, folder, json, real_traces, stable, thermocline,
};

#[test]
fn recorded_traces_are_compared_in_input_major_order() {
    let (sqlite, camera) =
        (corpus("sqlite-ext4.nbdkit.log.zst"), corpus("camera-fat32.nbdkit.log.zst"));
    let args =
        ["compare", "--trace", &sqlite, "--trace", &camera, "--policies", "greedy,cat", "--json"];
    let result = json(&args);
    let runs = result["runs"].as_array().expect("a list");
    let named: Vec<_> = runs
        .iter()
        .map(|r| (r["trace"]["path"].as_str(), r["config"]["policy"].as_str()))
        .collect();
    let expected = [(&sqlite, "greedy"), (&sqlite, "cat"), (&camera, "greedy"), (&camera, "cat")];
    assert_eq!(named, expected.map(|(t, p)| (Some(t.as_str()), Some(p))));
    assert!(runs.iter().all(|r| r["flash"]["blocks_erased"].as_u64() > Some(0)));
}

#[test]
fn the_best_of_each_column_is_marked() {
    let sqlite = corpus("sqlite-ext4.nbdkit.log.zst");
    let table = done(&["compare", "--trace", &sqlite]);
    let row = |policy: &str| {
        let starts = |line: &&str| line.split_whitespace().next() == Some(policy);
        table.lines().find(starts).unwrap_or_else(|| panic!("{policy}: {table}")).to_owned()
    };
    assert!(table.starts_with(&format!("{sqlite}: 224,814 requests, ")), "{table}");
    assert!(table.ends_with("* best of its column\n"), "{table}");
    assert!(!table.contains("in-place"), "{table}");
    let erases = |policy: &str| row(policy).split_whitespace().nth(1).expect("a figure").to_owned();
    let policies = [
        "greedy",
        "cost-benefit",
        "lfs",
        "cat",
        "dac",
        "linux-ftl",
        "page-mapping",
        "hot-cold",
        "double-hot-cold",
        "update-interval",
        "fifo",
        "random",
        "d-choices",
    ];
    let marked: Vec<_> =
        policies.into_iter().filter(|policy| erases(policy).ends_with('*')).collect();
    let count = |policy| erases(policy).replace([',', '*'], "").parse::<u64>().expect("a number");
    let least = policies.map(count).into_iter().min();
    assert!(!marked.is_empty());
    assert!(marked.iter().all(|policy| Some(count(policy)) == least), "{table}");
}

#[test]
fn ties_are_all_marked_and_a_single_row_is_not() {
    let args = ["compare", "--policies", "greedy,fifo", "--workload", "sequential"];
    let table = done(&[&args[..], &["--capacity", "16MiB"]].concat());
    let copies = |policy: &str| {
        let line = table.lines().find(|line| line.trim_start().starts_with(policy));
        line.expect("a row").split_whitespace().nth(2).expect("a figure").to_owned()
    };
    assert_eq!((copies("greedy").as_str(), copies("fifo").as_str()), ("0*", "0*"), "{table}");
    let single = ["compare", "--policies", "cat", "--workload", "uniform", "--capacity", "16MiB"];
    assert!(!done(&single).contains('*'));
}

#[test]
fn threads_do_not_change_the_results() {
    let run = |threads| {
        let args = [&["compare"], &CARD[..], &["--json", threads]].concat();
        stable(json(&args)).to_string()
    };
    assert_eq!(run("-j1"), run("-j2"));
    let table = |threads| done(&[&["compare"], &CARD[..], &[threads]].concat());
    assert_eq!(table("-j1"), table("-j2"));
}

#[test]
fn every_victim_goes_with_every_placement() {
    let grid = ["--victim", "greedy,cat(tau=5s, offset=0)", "--placement", "M1,age-sort"];
    let args = [&["compare"], &CARD[..], &grid, &["--json"]].concat();
    let result = json(&args);
    let names: Vec<_> = result["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|r| r["config"]["policy"].as_str().expect("text"))
        .collect();
    let cat = "cat(tau=5s, offset=0)";
    assert_eq!(
        names,
        ["greedy + M1", "greedy + age-sort", &format!("{cat} + M1"), &format!("{cat} + age-sort")]
    );
}

#[test]
fn rows_have_the_same_columns_whatever_the_device() {
    let header = |device| {
        let args = ["compare", "--workload", "uniform", "--bytes", "1MiB", "--device", device];
        let csv = done(
            &[&args[..], &["--format", "csv", "--policies", "greedy,in-place", "-q"]].concat(),
        );
        let mut lines = csv.lines().map(str::to_owned);
        let header = lines.next().expect("a header");
        assert_eq!(lines.count(), 2, "{csv}");
        header
    };
    let columns = header("slc-generic");
    assert_eq!(columns, header("intel-series2plus-24m"));
    for name in ["config.policy", "flash.blocks_erased", "response_us.write.p999", "energy_mj"] {
        assert!(columns.split(',').any(|column| column == name), "{name}: {columns}");
    }
    assert!(columns.starts_with("schema_version,config.policy,"), "{columns}");
}

#[test]
fn standard_input_is_a_trace_once() {
    let trace = csv_trace(5000, 500);
    let args = ["compare", "--trace", "-", "--policies", "greedy,cat", "--json", "-q"];
    let ran = fed(&args, trace.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.out.matches("\"path\": \"-\"").count(), 2);
    fails(2, &["compare", "--trace", "-", "--trace", "-"], &["standard input"]);
}

#[test]
fn parquet_is_written_or_the_remedy_named() {
    let folder = folder();
    let path = folder.path().join("runs.parquet");
    let args = ["compare", "--workload", "uniform", "--bytes", "1MiB", "-q", "--format", "parquet"];
    let args = [&args[..], &["--output", path.to_str().expect("UTF-8")]].concat();
    if cfg!(feature = "parquet") {
        done(&args);
        let bytes = std::fs::read(&path).expect("written");
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    } else {
        fails(2, &args, &["--features parquet", "make full"]);
        assert!(!path.exists());
    }
}

#[test]
fn colours_come_only_where_they_are_wanted() {
    let trace = file(&folder(), "gone.csv", "");
    assert!(thermocline(&["compare", "--trace", &trace]).code == 3);
    let args = ["compare", "--workload", "uniform", "--bytes", "1MiB", "--capacity", "16MiB", "-q"];
    let styled = common::command(&args).env("CLICOLOR_FORCE", "1").output().expect("it runs");
    assert!(styled.stdout.contains(&0x1b));
    let plain = common::command(&args).env("NO_COLOR", "1").output().expect("it runs");
    assert!(!plain.stdout.contains(&0x1b));
}

#[test]
fn real_traces_are_compared_to_their_end() {
    let Some(folder) = real_traces() else { return };
    let mut traces: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "zst"))
        .collect();
    traces.sort();
    assert!(!traces.is_empty(), "no trace in the folder");
    for trace in &traces {
        let started = Instant::now();
        let args = [
            "compare",
            "--policies",
            "greedy,cost-benefit,lfs,cat",
            "--json",
            "--check",
            "--trace",
        ];
        let result = json(&[&args[..], &[trace.to_str().expect("UTF-8")]].concat());
        let runs = result["runs"].as_array().expect("a list");
        assert_eq!(runs.len(), 4);
        let pages = runs[0]["host"]["pages_written"].as_u64().expect("a number");
        assert!(pages > 0 && runs.iter().all(|r| r["host"]["pages_written"] == pages));
        println!("{:6.2} s  {}", started.elapsed().as_secs_f64(), trace.display());
    }
}
