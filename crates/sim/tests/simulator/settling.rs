//! Whether a device has settled, and runs that continue until it has.

use thermocline_assembly::device::Overrides;
use thermocline_sim::{Device, Input, Job, Progress, RunResult, Workload, run};

use crate::common::{job, policy};

const MIB: u64 = 1 << 20;

fn settled(bytes: u64, arrivals: bool, change: impl Fn(&mut Job<'_>)) -> RunResult {
    settled_every(arrivals.then_some(20_000_000), bytes, change)
}

fn settled_every(
    interarrival_ns: Option<u64>,
    bytes: u64,
    change: impl Fn(&mut Job<'_>),
) -> RunResult {
    let workload = Workload {
        spec: "uniform".parse().expect("a workload"),
        bytes: Some(bytes),
        request_bytes: None,
        interarrival_ns,
        read_share: 0.0,
    };
    let shape = Overrides { capacity: Some(16 * MIB), ..Default::default() };
    let device = Device::load("slc-generic").and_then(|device| device.with(&shape));
    let mut job = job(device.expect("a device"), policy("greedy"), Input::Workload(&workload));
    change(&mut job);
    run(&job, &Progress::default()).expect("it runs")
}

#[test]
fn a_short_run_has_not_settled_and_a_long_one_has() {
    let short = settled(10 * MIB, false, |_| {});
    let told = short.settled.clone().expect("long enough to tell");
    assert!(!told.settled && told.last > told.before, "{told:?}");
    assert_eq!((told.stretch.as_str(), told.passes), ("quarters", None));
    let long = settled(160 * MIB, false, |_| {});
    assert!(long.settled.as_ref().expect("long").settled, "{:?}", long.settled);
    // A recording runs after every request, and does not move samples.
    let recorded = settled(10 * MIB, false, |job| job.history = true);
    assert_eq!(recorded.stable_json(), short.stable_json());
    // Without erases there is no verdict.
    assert_eq!(settled(MIB, false, |_| {}).settled, None);
}

#[test]
fn a_run_that_settles_has_the_statistics_of_its_last_pass() {
    let long = settled(160 * MIB, false, |_| {}).write_amplification.expect("written");
    for arrivals in [false, true] {
        let run = settled(10 * MIB, arrivals, |job| job.settle = Some(20));
        let told = run.settled.as_ref().expect("it erased");
        assert!(told.settled && told.passes.is_some_and(|passes| (2..20).contains(&passes)));
        assert_eq!(run.host.bytes_written, 10 * MIB);
        let amplification = run.write_amplification.expect("written");
        assert!((amplification / long - 1.0).abs() < 0.05, "{amplification} beside {long}");
        assert_eq!(told.last, amplification);
        assert_eq!(run.trace.arrivals_us.is_some(), arrivals);
        let pages = run.host.pages_written as f64;
        // Requests of a second pass do not wait for those of the first.
        let expected = if arrivals { pages * 20_000.0 } else { run.elapsed_us };
        assert!((run.elapsed_us / expected - 1.0).abs() < 0.2, "{}", run.elapsed_us);
    }
    // A device that cannot keep up begins the last pass late. That delay does not count as work of
    // the pass.
    let settles = |job: &mut Job<'_>| job.settle = Some(20);
    let late = settled_every(Some(20_000), 10 * MIB, settles);
    let needs =
        late.lifetime.time_factor.expect("arrivals") * late.trace.arrivals_us.expect("arrivals");
    let own = settled(10 * MIB, false, settles).elapsed_us;
    assert!(late.lifetime.overloaded && (needs / own - 1.0).abs() < 0.2, "{needs} beside {own}");
    // Two passes are too few, and the result says so.
    let two = settled(4 * MIB, false, |job| job.settle = Some(2));
    let told = two.settled.expect("it erased");
    assert_eq!((told.settled, told.passes), (false, Some(2)));
}
