//! Tables 4 and 6 of the CAT paper: 24 MB card, 128 KB segments, 4 KB blocks, 90 % full, 192 MB
//! written. Sequential rows are exact. The others are within 3 % (erasures) and 5 % (copies) of an
//! independent simulation of the same mechanisms, on the device's clock (Table 4, Pentium) and on
//! the trace clock (Table 6).

use thermocline_sim::{Device, Fill, Input, Job, PolicySpec, Progress, RunResult, Workload, run};

fn table_run(workload: &str, policy: &str, interarrival_ns: Option<u64>, seed: u64) -> RunResult {
    let workload = Workload {
        spec: workload.parse().expect("a workload"),
        bytes: Some(192 << 20),
        request_bytes: None,
        interarrival_ns,
        read_share: 0.0,
    };
    let device = Device::load("intel-series2plus-24m").expect("built in");
    let policy = PolicySpec::parse(policy, None, None).expect("a preset");
    let job = Job {
        fill: Fill::Share(0.9),
        check: true,
        seed,
        ..Job::new(device, policy, Input::Workload(&workload))
    };
    run(&job, &Progress::default()).expect("the paper's run")
}

fn within(name: &str, measured: f64, expected: f64, band: f64) {
    let off = measured / expected - 1.0;
    assert!(off.abs() <= band, "{name}: {measured} for {expected}, off by {:.1} %", off * 100.0);
}

#[test]
fn sequential_rows_are_exact() {
    for (policy, erases, wear) in
        [("greedy", 1567, "2.633"), ("cost-benefit", 1568, "2.636"), ("cat", 1568, "2.636")]
    {
        for interarrival in [None, Some(24_610_000_000)] {
            let r = table_run("sequential", policy, interarrival, 1);
            assert_eq!(
                (r.flash.blocks_erased, r.flash.pages_copied, format!("{:.3}", r.wear.stddev)),
                (erases, 0, wear.to_owned()),
                "{policy}"
            );
        }
    }
}

#[test]
fn random_and_locality_rows_are_in_their_bands() {
    // workload, policy, device clock (erases, copies, wear), trace clock (erases, copies)
    let rows = [
        ("uniform", "greedy", (7098.0, 171_468.0, 4.02), (7101.0, 171_549.0)),
        ("uniform", "cost-benefit", (7273.0, 176_870.0, 3.33), (7280.0, 177_093.0)),
        ("uniform", "cat", (7289.0, 177_374.0, 3.02), (7286.0, 177_296.0)),
        ("hot-cold:90/10", "greedy", (8824.0, 224_966.0, 11.76), (8822.0, 224_921.0)),
        ("hot-cold:90/10", "cost-benefit", (5764.0, 130_095.0, 8.83), (5665.0, 127_018.0)),
        ("hot-cold:90/10", "cat", (4129.0, 79_422.0, 6.36), (4043.0, 76_757.0)),
    ];
    for (workload, policy, device, trace) in rows {
        let name = format!("{workload} {policy}");
        let r = table_run(workload, policy, None, 1);
        println!(
            "{name}: E {} C {} D {:.2} T {:.0} KiB/s",
            r.flash.blocks_erased,
            r.flash.pages_copied,
            r.wear.stddev,
            r.throughput_kib_s.unwrap_or(0.0)
        );
        within(&name, r.flash.blocks_erased as f64, device.0, 0.03);
        within(&name, r.flash.pages_copied as f64, device.1, 0.05);
        within(&name, r.wear.stddev, device.2, 0.15);
        // A gap that is longer than any service time: the papers' trace clock.
        let r = table_run(workload, policy, Some(24_610_000_000), 1);
        println!("{name}, trace clock: E {} C {}", r.flash.blocks_erased, r.flash.pages_copied);
        within(&name, r.flash.blocks_erased as f64, trace.0, 0.03);
        within(&name, r.flash.pages_copied as f64, trace.1, 0.05);
    }
}

#[test]
fn throughput_follows_from_the_fitted_times() {
    // Table 4(b), in bytes a second (the table's "Kbytes/s" is a misprint).
    let rows = [
        ("sequential", "greedy", 134_441.0),
        ("uniform", "greedy", 27_989.0),
        ("uniform", "cost-benefit", 27_118.0),
        ("uniform", "cat", 25_055.0),
        ("hot-cold:90/10", "greedy", 22_680.0),
        ("hot-cold:90/10", "cost-benefit", 34_980.0),
        ("hot-cold:90/10", "cat", 44_263.0),
    ];
    for (workload, policy, bytes_per_s) in rows {
        let r = table_run(workload, policy, None, 1);
        let measured = r.throughput_kib_s.expect("time passed") * 1024.0;
        println!("{workload} {policy}: {measured:.0} for {bytes_per_s}");
        within(&format!("{workload} {policy}"), measured, bytes_per_s, 0.04);
    }
}

#[test]
fn in_place_updates_cost_an_erase_each() {
    for workload in ["sequential", "uniform", "hot-cold:90/10"] {
        let r = table_run(workload, "in-place", None, 1);
        assert_eq!(r.flash.blocks_erased, 49152);
        assert_eq!(r.flash.pages_programmed, 31 * 49152);
        within("KB/s", r.throughput_kib_s.expect("time passed") * 1024.0, 4300.0, 0.01);
    }
}

#[test]
fn one_seed_gives_one_result() {
    let a = table_run("hot-cold:90/10", "cat", None, 7).stable_json();
    let b = table_run("hot-cold:90/10", "cat", None, 7).stable_json();
    let c = table_run("hot-cold:90/10", "cat", None, 8).stable_json();
    assert_eq!(a.to_string(), b.to_string());
    assert_ne!(a["flash"], c["flash"]);
}

#[test]
fn the_mean_by_epochs_changes_erasures_by_less_than_one_percent() {
    for workload in ["uniform", "hot-cold:90/10", "zipf:0.99"] {
        let exact = table_run(workload, "cat", None, 1).flash.blocks_erased as f64;
        let near = table_run(workload, "cat(exact=0)", None, 1).flash.blocks_erased as f64;
        println!("{workload}: {near} by epochs, {exact} exactly");
        within(workload, near, exact, 0.01);
    }
}
