//! Statistics that begin within a run: the stretches of a run add up to the whole, on either clock.

use thermocline_assembly::device::Overrides;
use thermocline_sim::{Device, Input, Job, Progress, RunResult, Workload, run};

use crate::common::{job, policy};

const MIB: u64 = 1 << 20;

fn workload(mib: u64, arrivals: bool) -> Workload {
    Workload {
        spec: "hot-cold:90/10".parse().expect("a workload"),
        bytes: Some(mib * MIB),
        request_bytes: None,
        interarrival_ns: arrivals.then_some(1_000_000),
        read_share: 0.1,
    }
}

fn device() -> Device {
    let shape = Overrides { capacity: Some(16 * MIB), ..Default::default() };
    Device::load("slc-generic").and_then(|device| device.with(&shape)).expect("a device")
}

fn stretch(name: &str, from: u64, to: u64, arrivals: bool) -> RunResult {
    let workload = workload(to, arrivals);
    let job =
        Job { warm_up: from * MIB, ..job(device(), policy(name), Input::Workload(&workload)) };
    run(&job, &Progress::default()).expect("it runs")
}

/// The compared counts of a run.
fn counts(run: &RunResult) -> [u64; 5] {
    [
        run.host.pages_written,
        run.host.requests,
        run.flash.blocks_erased,
        run.flash.pages_copied,
        run.wear.max.into(),
    ]
}

#[test]
fn stretches_add_up_to_the_run() {
    for (name, arrivals) in
        [("dac", false), ("dac", true), ("nftl", false), ("update-interval", true)]
    {
        let whole = stretch(name, 0, 64, arrivals);
        let parts = [stretch(name, 0, 40, arrivals), stretch(name, 40, 64, arrivals)];
        let [first, second] = parts.each_ref().map(counts);
        let all = counts(&whole);
        // Either stretch may end with reads, so only pages and their consequences are compared.
        for i in [0, 2, 3] {
            assert_eq!(first[i] + second[i], all[i], "{name}, {i}");
        }
        assert!(second[4] <= all[4] && second[4] > 0, "{name}");
        let page = u64::from(whole.config.device.geometry.page_size);
        assert_eq!(parts[1].config.warm_up_pages, Some(40 * MIB / page));
        assert_eq!(whole.config.warm_up_pages, None);
        // With arrivals and a queue, a stretch ends after the next one begins.
        if !arrivals {
            let elapsed = parts[0].elapsed_us + parts[1].elapsed_us;
            assert!((elapsed / whole.elapsed_us - 1.0).abs() < 0.01, "{name}: {elapsed}");
        }
    }
}

#[test]
fn a_warm_up_as_long_as_the_input_leaves_nothing_and_a_longer_one_is_refused() {
    assert_eq!(stretch("greedy", 8, 8, false).host.pages_written, 0);
    let workload = workload(8, false);
    let job =
        Job { warm_up: 9 * MIB, ..job(device(), policy("greedy"), Input::Workload(&workload)) };
    let error = run(&job, &Progress::default()).expect_err("too long").to_string();
    let page = u64::from(device().profile.geometry.page_size);
    let pages = format!("after {} of {} pages", 8 * MIB / page, 9 * MIB / page);
    assert!(error.contains(&pages) && error.contains("a shorter warm-up"), "{error}");
}
