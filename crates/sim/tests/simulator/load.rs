//! Arrivals at a share of the rate that the device sustains.

use thermocline_sim::{
    Clock, Fill, Input, Job, Progress, SimError, Workload, compare, compare_each, run,
};

use crate::common::{device, done, job, policy, trace, write};

fn uniform(bytes: u64, read_share: f64) -> Workload {
    Workload {
        spec: "uniform".parse().expect("a workload"),
        bytes: Some(bytes),
        request_bytes: None,
        interarrival_ns: None,
        read_share,
    }
}

#[test]
fn waits_are_those_of_a_queue_with_constant_service() {
    // Nothing is cleaned: the mean of M/D/1 is s + s * load / (2 * (1 - load)).
    let mut device = device("slc-generic", 1, 1);
    device.profile.geometry.blocks_per_bank = 1024;
    let service = device.profile.timing.program() as f64 / 1000.0;
    let workload = uniform(160 << 20, 0.0);
    let job = Job {
        fill: Fill::Nothing,
        ..job(device, policy("thermocline"), Input::Workload(&workload))
    };
    for load in [0.3, 0.5, 0.8] {
        let result = done(&Job { load: Some(load), ..job.clone() });
        let told = result.load.expect("a load");
        assert_eq!((result.flash.blocks_erased, result.lifetime.overloaded), (0, false));
        assert!((told.sustained_per_s * service / 1e6 - 1.0).abs() < 1e-9, "{told:?}");
        let arrivals = told.arrivals_per_s / told.sustained_per_s;
        assert!((arrivals / load - 1.0).abs() < 0.02, "{told:?}");
        assert!((told.busy_share / load - 1.0).abs() < 0.02, "{told:?}");
        let expected = service + service * load / (2.0 * (1.0 - load));
        let mean = result.response_us.write.mean.expect("writes");
        println!("load {load}: {mean:.1} us, {expected:.1} expected");
        assert!((mean / expected - 1.0).abs() < 0.05, "{load}: {mean} us, {expected} expected");
    }
}

#[test]
fn the_rate_is_that_of_greedy_whatever_the_policy_and_its_company() {
    let mut device = device("slc-generic", 1, 1);
    device.profile.geometry.blocks_per_bank = 128;
    let workload = uniform(64 << 20, 0.3);
    let at = |name: &str, load| Job {
        load,
        ..job(device.clone(), policy(name), Input::Workload(&workload))
    };
    let alone = done(&Job { clock: Some(Clock::Device), ..at("greedy", None) });
    let sustained = alone.host.requests as f64 / (alone.elapsed_us / 1e6);
    let jobs: Vec<_> =
        ["greedy", "fifo", "random"].iter().map(|name| at(name, Some(0.9))).collect();
    let together = compare(&jobs, 2, &Progress::default()).expect("runs");
    for (job, result) in jobs.iter().zip(&together) {
        assert_eq!(done(job).stable_json(), result.stable_json(), "alone and in company");
        let told = result.load.expect("a load").sustained_per_s;
        assert!((told / sustained - 1.0).abs() < 1e-9, "{told} a second, {sustained} expected");
    }
    let late: Vec<_> = together.iter().map(|result| result.lifetime.overloaded).collect();
    assert_eq!(late, [false, false, true], "random writes more than the device bears");
    assert!(done(&at("greedy", Some(1.2))).lifetime.overloaded);
}

#[test]
fn a_load_is_refused_beside_other_arrivals() {
    let device = device("slc-generic", 1, 1);
    let mut workload = uniform(1 << 20, 0.0);
    let refused = |job: &Job<'_>| match run(job, &Progress::default()) {
        Err(SimError::Usage(text)) => text,
        other => panic!("{other:?}"),
    };
    let given = workload.clone();
    let job = Job { load: Some(0.5), ..job(device, policy("greedy"), Input::Workload(&given)) };
    assert!(refused(&Job { load: Some(0.0), ..job.clone() }).contains("‹load 0%›"));
    assert!(refused(&Job { clock: Some(Clock::Device), ..job.clone() }).contains("‹clock device›"));
    workload.interarrival_ns = Some(1000);
    let job = Job { input: Input::Workload(&workload), ..job };
    assert!(refused(&job).contains("‹interarrival›"));
    assert!(compare_each(&[job], false, 1, &Progress::default()).is_err());
}

#[test]
fn every_part_of_a_trace_has_the_same_load() {
    // Writes of one page, then of sixteen: no cleaning.
    let mut device = device("slc-generic", 1, 1);
    device.profile.geometry.blocks_per_bank = 2048;
    let asks: Vec<_> =
        (0..8192).map(|at| write(at % 512, if at < 4096 { 1 } else { 16 })).collect();
    let trace = trace(&asks, device.profile.geometry.page_size);
    let service = device.profile.timing.program() as f64 / 1000.0;
    let job = Job {
        fill: Fill::Nothing,
        load: Some(0.5),
        ..job(device, policy("greedy"), Input::Trace(&trace, 1))
    };
    let result = done(&job);
    assert_eq!(result.flash.blocks_erased, 0);
    // Each half waits as in a queue of its own.
    let expected = 1.5 * service * (1.0 + 16.0) / 2.0;
    let mean = result.response_us.write.mean.expect("writes");
    assert!((mean / expected - 1.0).abs() < 0.05, "{mean} us, {expected} expected");
}
