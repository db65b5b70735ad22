//! `--delays`: one line a request, which adds up to the result.

mod common;

use common::{done, fails, folder, json};
use serde_json::Value;

struct Delay {
    arrival: f64,
    is_write: bool,
    response: f64,
    delay: f64,
}

/// A run with these arguments, and the delays it wrote down.
fn run(args: &[&str]) -> (Value, Vec<Delay>) {
    let folder = folder();
    let file = folder.path().join("delays.csv");
    let mut all = vec!["run", "-q", "--json", "--delays", file.to_str().expect("UTF-8")];
    all.extend(args);
    let result = json(&all);
    let text = std::fs::read_to_string(&file).expect("written");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("arrival_us,op,response_us,delay_us"));
    let delays = lines
        .map(|line| {
            let cells: Vec<_> = line.split(',').collect();
            let number = |at: usize| cells[at].parse().expect("a number");
            Delay {
                arrival: number(0),
                is_write: cells[1] == "write",
                response: number(2),
                delay: number(3),
            }
        })
        .collect();
    (result, delays)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.01 + b.abs() * 1e-9
}

const UNIFORM: [&str; 8] =
    ["--workload", "uniform", "--capacity", "64MiB", "--bytes", "24MiB", "--request", "16KiB"];

#[test]
fn delays_add_up_to_the_result_on_any_clock() {
    let more: [&[&str]; 5] = [
        &["--reads", "30%", "--policy", "nftl"],
        &["--reads", "30%", "--policy", "slac", "--interarrival", "100ms"],
        &["--policy", "cat", "--queue-depth", "3"],
        &["--policy", "striping-dynamic", "--banks", "4"],
        &["--policy", "striping-dynamic", "--banks", "4", "--interarrival", "1ms"],
    ];
    for more in more {
        let (result, delays) = run(&[&UNIFORM, more].concat());
        assert_eq!(result["host"]["requests"], delays.len());
        let sum = |of: fn(&Delay) -> f64| delays.iter().map(of).sum::<f64>();
        let application = &result["application"];
        let is = |key: &str| application[key].as_f64().expect("a number");
        assert!(near(sum(|d| d.response), is("response_us")), "{more:?}");
        assert!(near(sum(|d| d.delay), is("device_delay_us")), "{more:?}");
        let of_writes = sum(|d| if d.is_write { d.delay } else { 0.0 });
        let pages = result["host"]["pages_written"].as_f64().expect("a number");
        assert!(near(of_writes / pages, is("page_write_us")), "{more:?}");

        // The delay is the response less the time that requests before it took.
        let mut last_end = 0.0_f64;
        for d in &delays {
            let end = d.arrival + d.response;
            assert!(near((end - d.arrival.max(last_end)).max(0.0), d.delay), "{more:?}");
            last_end = last_end.max(end);
        }
        assert!(near(last_end, result["elapsed_us"].as_f64().expect("a number")), "{more:?}");
    }
}

#[test]
fn on_its_own_clock_a_device_is_busy_all_the_time_whatever_came_before() {
    // The arrivals of the requests that make the file system are of no account to it.
    let s2 = ["--workload", "s2", "--capacity", "48MiB", "--bytes", "1MiB", "--clock", "device"];
    for policy in ["nftl", "cat"] {
        let (result, delays) = run(&[&s2[..], &["--policy", policy]].concat());
        assert_eq!(delays[0].arrival, 0.0);
        let delay = result["application"]["device_delay_us"].as_f64().expect("a number");
        assert!(near(delay, result["elapsed_us"].as_f64().expect("a number")), "{policy}");
    }
}

#[test]
fn requests_wait_for_what_prepares_the_device_on_any_of_them() {
    // The in-place baseline is behind by minutes when the file system is made.
    let s2 = ["--workload", "s2", "--capacity", "48MiB", "--bytes", "1MiB"];
    let arrivals = ["in-place", "nftl", "cat"].map(|policy| {
        let (result, delays) = run(&[&s2[..], &["--policy", policy]].concat());
        assert_eq!(delays[0].response, delays[0].delay, "{policy}");
        result["trace"]["arrivals_us"].as_f64().expect("arrivals")
    });
    assert!(arrivals.iter().all(|us| *us == arrivals[0]), "{arrivals:?}");
}

#[test]
fn an_nftl_pair_is_folded_by_the_34th_write_of_a_page() {
    let folder = folder();
    let trace = folder.path().join("same.csv");
    let trace = trace.to_str().expect("UTF-8");
    let arrivals = (0..34).map(|i| format!("{},write,0,0,512\n", i * 100_000_000_u64));
    let text = "time_ns,op,volume,offset,len\n".to_owned() + &arrivals.collect::<String>();
    std::fs::write(trace, text).expect("written");
    let thesis = "toshiba-tc58dvm72-64m";
    let args = ["--trace", trace, "--device", thesis, "--fill", "none", "--capacity", "1MiB"];
    // One write to the primary, 32 to the replacement; the last waits for a fold without copies:
    // 64 · 26 + 400 + 2 · 2000 microseconds.
    let (result, delays) = run(&[&args[..], &["--policy", "nftl"]].concat());
    assert_eq!(result["nftl"], serde_json::json!({ "folds": 1, "forced_folds": 1 }));
    assert_eq!(
        (&result["flash"]["blocks_erased"], &result["flash"]["pages_copied"]),
        (&2.into(), &0.into())
    );
    assert!(delays[..33].iter().all(|d| near(d.delay, 400.0)));
    assert!(near(delays[33].delay, 6064.0));
    // The pair is folded earlier in idle time, and no request waits.
    for policy in ["slac", "slac-thesis"] {
        let (result, delays) = run(&[&args[..], &["--policy", policy]].concat());
        assert_eq!(result["nftl"], serde_json::json!({ "folds": 1, "forced_folds": 0 }));
        assert_eq!(result["cleaning"]["idle_victims"], 1);
        assert!(delays.iter().all(|d| near(d.delay, 400.0)));
    }
}

#[test]
fn delays_have_a_file_of_their_own() {
    let uniform = ["run", "--workload", "uniform", "--capacity", "16MiB", "--bytes", "64KiB"];
    let with = |more: &[&'static str]| [&uniform[..], more].concat();
    fails(2, &with(&["--delays", "-"]), &["--delays -", "name another file"]);
    fails(2, &with(&["--delays", "same", "-o", "same"]), &["--delays same", "another file"]);
    // It shows before a trace is looked for.
    let missing = ["run", "--trace", "no-such-trace", "--delays", "no/such/folder"];
    fails(1, &missing, &["no/such/folder"]);
    if cfg!(target_os = "linux") {
        fails(1, &with(&["--delays", "/dev/full"]), &["/dev/full", "space"]);
    }
    let folder = folder();
    let file = folder.path().join("delays.csv");
    let file = file.to_str().expect("UTF-8");
    done(&[&uniform[..], &["--oracle", "--delays", file]].concat());
    let lines = std::fs::read_to_string(file).expect("written").lines().count();
    assert_eq!(lines, 1 + 16, "the oracle's are not among them");
}
