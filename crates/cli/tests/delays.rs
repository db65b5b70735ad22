//! `run --delays`: what each request waited, written down.

mod common;

use common::{CARD, csv_trace, fails, file, folder, json, thermocline};
use serde_json::Value;

/// A line of the file, times in nanoseconds.
struct Line {
    arrival: u128,
    op: String,
    response: u128,
    delay: u128,
}

fn nanoseconds(us: &str) -> u128 {
    (us.parse::<f64>().expect("a number") * 1000.0).round() as u128
}

/// Runs with `--delays`, and without; both must say the same.
fn logged(args: &[&str]) -> (Vec<Line>, Value) {
    let folder = folder();
    let path = file(&folder, "delays.csv", "old");
    let args = [&["run"], args, &["--json", "-q"]].concat();
    let result = json(&[&args[..], &["--delays", &path]].concat());
    assert_eq!(common::stable(json(&args)), common::stable(result.clone()));
    let text = std::fs::read_to_string(&path).expect("written");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("arrival_us,op,response_us,delay_us"));
    let line = |line: &str| {
        let fields: Vec<_> = line.split(',').collect();
        let [arrival, op, response, delay] = fields[..] else { panic!("four fields: {line}") };
        let [arrival, response, delay] = [arrival, response, delay].map(nanoseconds);
        Line { arrival, op: op.to_owned(), response, delay }
    };
    (lines.map(line).collect(), result)
}

/// The sums of the lines equal the result.
fn agree(lines: &[Line], result: &Value, reads_and_writes: usize) {
    assert_eq!(lines.len(), reads_and_writes);
    let us = |path: [&str; 2]| nanoseconds(&result[path[0]][path[1]].to_string());
    let sum = |part: fn(&Line) -> u128| lines.iter().map(part).sum::<u128>();
    assert_eq!(sum(|line| line.response), us(["application", "response_us"]));
    assert_eq!(sum(|line| line.delay), us(["application", "device_delay_us"]));
    assert!(lines.iter().all(|line| line.delay <= line.response));
    for op in ["write", "read"] {
        let longest = lines.iter().filter(|line| line.op == op).map(|line| line.response).max();
        let max = &result["response_us"][op]["max"];
        assert_eq!(longest, max.as_f64().map(|_| nanoseconds(&max.to_string())), "{op}");
    }
    let writes: u128 = lines.iter().filter(|line| line.op == "write").map(|line| line.delay).sum();
    let pages = result["host"]["pages_written"].as_f64().expect("a number");
    let each = result["application"]["page_write_us"].as_f64().expect("written");
    assert!((writes as f64 / pages / 1000.0 / each - 1.0).abs() < 1e-9);
    assert!(lines.windows(2).all(|two| two[0].arrival <= two[1].arrival));
}

/// Reads, writes, trims and flushes, in bursts that queue up.
fn busy_trace(rows: u64) -> String {
    let mut text = String::from("time_ns,op,volume,offset,len\n");
    for i in 0..rows {
        let op =
            ["write", "write", "read", "write", "trim", "read", "write", "flush"][i as usize % 8];
        let (time, len) = (i / 64 * 80_000_000 + i % 64 * 10_000, (1 + i % 3) * 4096);
        let len = if op == "flush" { 0 } else { len };
        text += &format!("{time},{op},disk,{},{len}\n", i * 7919 % 800 * 4096);
    }
    text
}

#[test]
fn every_read_and_write_has_a_line_and_the_lines_add_up() {
    let folder = folder();
    let trace = file(&folder, "busy.csv", busy_trace(8000));
    let block = ["--trace", trace.as_str(), "--block-size", "64KiB"];
    let variants: [&[&str]; 7] = [
        &["--policy", "cat"],
        &["--policy", "cat", "--clock", "device"],
        &["--policy", "greedy", "--trigger", "eager"],
        &["--policy", "greedy", "--banks", "4", "--channels", "2", "--queue-depth", "3"],
        &["--policy", "greedy", "--banks", "2", "--clock", "device"],
        &["--policy", "in-place"],
        &["--policy", "slac"],
    ];
    for variant in variants {
        let (lines, result) = logged(&[&block[..], variant].concat());
        agree(&lines, &result, 6000);
        assert_eq!(lines.iter().filter(|line| line.op == "read").count(), 2000, "{variant:?}");
        assert!(lines.iter().any(|line| line.response > 0), "{variant:?}");
    }
    // A request comes when the trace says.
    let (lines, _) = logged(&block);
    assert_eq!((lines[0].arrival, lines[48].arrival), (0, 80_000_000));
    assert!(lines.iter().any(|line| line.delay < line.response), "bursts queue up");
}

#[test]
fn on_the_devices_own_clock_each_comes_when_the_last_has_ended() {
    let (lines, result) = logged(&[&CARD[..], &["--reads", "30%"]].concat());
    let requests = result["host"]["requests"].as_u64().expect("a number");
    agree(&lines, &result, requests as usize);
    assert_eq!(lines[0].arrival, 0);
    for two in lines.windows(2) {
        assert_eq!(two[1].arrival, two[0].arrival + two[0].response);
        assert_eq!(two[0].delay, two[0].response);
    }
    let last = lines.last().expect("lines");
    assert_eq!(last.arrival + last.response, nanoseconds(&result["elapsed_us"].to_string()));
}

#[test]
fn statistics_and_lines_begin_after_the_prelude_of_a_file_workload() {
    let args = ["--workload", "s2", "--bytes", "2MiB", "--device", "toshiba-tc58dvm72-64m"];
    for policy in ["nftl", "combo"] {
        let (lines, result) = logged(&[&args[..], &["--policy", policy]].concat());
        let flushes = result["host"]["flushes"].as_u64().expect("a number") as usize;
        let requests = result["host"]["requests"].as_u64().expect("a number") as usize;
        agree(&lines, &result, requests - flushes);
        assert_eq!(result["trace"]["requests"], requests);
    }
}

#[test]
fn one_run_writes_the_file_though_the_oracle_runs_too() {
    let folder = folder();
    let trace = file(&folder, "t.csv", csv_trace(5000, 1000));
    let (lines, result) = logged(&["--trace", &trace, "--policy", "greedy", "--oracle"]);
    assert!(result["oracle"]["excess"].is_f64());
    agree(&lines, &result, 5000);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let folder = folder();
    let trace = file(&folder, "t.csv", csv_trace(20_000, 1000));
    let run = |delays: &str| {
        let ran = thermocline(&["run", "--trace", &trace, "--delays", delays, "-q"]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
        assert!(ran.err.starts_with("thermocline: ") && ran.err.contains(delays), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        ran.err
    };
    assert!(run("/dev/full").contains("No space left"));
    assert!(run("/nowhere/delays.csv").contains("No such file"));
    assert!(run(folder.path().to_str().expect("UTF-8")).contains("directory"));
    // So short that nothing is written before the end.
    let short = file(&folder, "short.csv", csv_trace(3, 3));
    fails(1, &["run", "--trace", &short, "--delays", "/dev/full", "-q"], &["/dev/full"]);
    // A comparison is not one run.
    fails(2, &["compare", "--trace", &trace, "--delays", "x.csv"], &["--delays"]);
}
