//! How a run interprets its input: bytes, partial pages, clocks, sizes, a device that wears out.

use thermocline_policy::preset::{LayerKind, PRESETS};
use thermocline_sim::{
    Device, Fill, Input, Job, PolicySpec, PreparedTrace, Progress, RunResult, Sampling, SimError,
    TraceMapping, Workload, compare, is_enlarged, run,
};
use thermocline_trace::{Op, Request, Source, TraceError};

use crate::common::MAPPING;

/// Requests given one by one.
struct Given(Vec<Request>);

impl Source for Given {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        batch.extend(self.0.drain(..limit.min(self.0.len())));
        Ok(())
    }
}

fn request(time_ns: u64, op: Op, offset: u64, len: u64) -> Request {
    Request { time_ns, offset, len, volume: 0, op, hint: 0 }
}

fn prepare(requests: Vec<Request>) -> Result<PreparedTrace, SimError> {
    sampled(requests, None)
}

fn sampled(requests: Vec<Request>, sample: Option<Sampling>) -> Result<PreparedTrace, SimError> {
    let mapping = TraceMapping { sample, ..MAPPING };
    PreparedTrace::prepare(&mut Given(requests), "given", mapping, &Progress::default())
}

fn workload(text: &str, bytes: u64, request_bytes: u64) -> Workload {
    Workload {
        spec: text.parse().expect("a workload"),
        bytes: Some(bytes),
        request_bytes: Some(request_bytes),
        interarrival_ns: None,
        read_share: 0.0,
    }
}

fn job<'a>(policy: &str, input: Input<'a>) -> Job<'a> {
    let device = Device::load("slc-generic").expect("built in");
    Job::new(device, PolicySpec::parse(policy, None, None).expect("a preset"), input)
}

fn done(job: &Job<'_>) -> RunResult {
    run(job, &Progress::default()).expect("a run")
}

#[test]
fn bytes_are_those_asked_for_and_partial_pages_are_read_first() {
    for (bytes, partial_per_request) in [(2048, 1.0), (4096, 0.0), (6144, 1.0), (8192, 0.0)] {
        let workload = workload("uniform", 48 << 20, bytes);
        let result = done(&job("greedy", Input::Workload(&workload)));
        assert_eq!(result.host.bytes_written, 48 << 20, "requests of {bytes}");
        let requests = result.host.requests as f64;
        assert_eq!(result.host.pages_read as f64 / requests, partial_per_request, "{bytes}");
        let kib_per_s = (48 << 10) as f64 / (result.elapsed_us / 1e6);
        assert!((result.throughput_kib_s.expect("time passed") / kib_per_s - 1.0).abs() < 1e-9);
    }
}

#[test]
fn times_begin_with_the_earliest_request_wherever_it_stands() {
    const S: u64 = 1_000_000_000;
    let requests = [28, 20, 100].map(|s| request(s * S, Op::Write, s << 20, 4096)).to_vec();
    let trace = prepare(requests).expect("a trace");
    assert_eq!(trace.duration_ns, 80 * S);
    let result = done(&job("greedy", Input::Trace(&trace, 1)));
    assert_eq!((&*result.config.clock, result.trace.arrivals_us), ("arrivals", Some(80e6)));
}

#[test]
fn a_trace_that_only_reads_has_a_clock_and_no_response_times_of_writes() {
    let requests = (0..10).map(|i| request(i * 1_000_000, Op::Read, i * 4096, 4096)).collect();
    let trace = prepare(requests).expect("a trace");
    let result = done(&job("cat", Input::Trace(&trace, 1)));
    assert_eq!((&*result.config.clock, result.host.pages_read), ("arrivals", 10));
    assert_eq!(result.response_us.write.mean, None);
    assert!(result.response_us.read.mean.is_some());
}

#[test]
fn a_clock_that_would_overflow_is_refused() {
    let far = vec![request(0, Op::Write, 0, 4096), request(u64::MAX / 2, Op::Write, 0, 4096)];
    let trace = prepare(far).expect("a trace");
    let error = run(&job("greedy", Input::Trace(&trace, 3)), &Progress::default());
    assert!(error.expect_err("three times is too long").to_string().contains("‹loop›"));
}

#[test]
fn a_fill_that_leaves_a_policy_no_room_is_refused_and_its_limit_is_true() {
    for policy in ["greedy", "cost-benefit", "cat"] {
        let workload = workload("uniform", 1 << 20, 4096);
        let card = Device::load("intel-series2plus-24m").expect("built in");
        let job = |fill| Job {
            device: card.clone(),
            fill: Fill::Share(fill),
            ..job(policy, Input::Workload(&workload))
        };
        let error = run(&job(0.999), &Progress::default()).expect_err("too full").to_string();
        let limit = error.split("at most ").nth(1).and_then(|rest| rest.split('%').next());
        let limit: f64 = limit.and_then(|l| l.parse().ok()).expect("a limit");
        done(&job(limit / 100.0));
    }
}

#[test]
fn a_worn_out_device_ends_with_a_result() {
    let workload = workload("hot-cold:90/10", 256 << 20, 4096);
    for policy in ["greedy", "cat", "in-place"] {
        let mut job = job(policy, Input::Workload(&workload));
        job.device.profile.geometry.blocks_per_bank = 40;
        job.device.profile.rules.endurance = 12;
        job.wears_out = true;
        let result = done(&job);
        assert!(result.cleaning.retired_blocks > 0, "{policy}");
        assert!(result.host.pages_written < 65536, "{policy} wrote everything");
        assert!(result.host.pages_written > 0, "{policy} wrote nothing");
    }
}

/// Writes of one page each to `pages` pages, at the product of two random numbers, so that the
/// first pages are the hottest.
fn skewed(pages: u64, writes: u64) -> Vec<Request> {
    let mut state = 1_u64;
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % pages
    };
    (0..writes)
        .map(|n| request(n * 1000, Op::Write, draw() * draw() / pages * 4096, 4096))
        .collect()
}

#[test]
fn a_sample_estimates_what_the_whole_trace_comes_to() {
    let requests = skewed(1 << 15, 1 << 18);
    let sampling = Sampling { of: 4, seed: 3 };
    let (whole, part) = (
        prepare(requests.clone()).expect("a trace"),
        sampled(requests, Some(sampling)).expect("one"),
    );
    assert_eq!((part.digest.as_str(), part.path.as_str()), (&*whole.digest, "given --sample 1/4"));
    assert!(whole.pages.abs_diff(4 * part.pages) < whole.pages / 50);
    let blocks = |job: &mut Job<'_>| job.device.profile.geometry.pages_per_block = 128;
    for policy in ["greedy", "dac"] {
        let (mut full, mut few) =
            (job(policy, Input::Trace(&whole, 1)), job(policy, Input::Trace(&part, 1)));
        blocks(&mut full);
        blocks(&mut few);
        few.device = few.device.sampled(4).expect("32 pages a block");
        let (full, few) = (done(&full), done(&few));
        let sample = few.sample.expect("it is one");
        let true_one = full.write_amplification.expect("written");
        assert!(sample.least.expect("written") <= true_one, "{policy}: {sample:?} {true_one}");
        assert!(sample.most.expect("written") >= true_one, "{policy}: {sample:?} {true_one}");
        assert!(few.write_amplification > sample.write_amplification, "corrected upwards");
        let tbw = |r: &RunResult| r.lifetime.tbw_bytes.expect("erased");
        assert!((tbw(&few) / tbw(&full) - 1.0).abs() < 0.1, "{policy}: of the whole device");
        assert_eq!((few.response_us.write.mean, full.sample), (None, None));
    }
}

#[test]
fn a_sample_that_tells_nothing_is_refused() {
    // One page has nearly all writes.
    let one_page = (0..4096).map(|n| request(n, Op::Write, (n % 64 / 63) * (n * 4096), 4096));
    let error = sampled(one_page.collect(), Some(Sampling { of: 8, seed: 1 }));
    let error = error.expect_err("no sample").to_string();
    assert!(error.contains("‹seed›, or leave out ‹sample›"), "{error}");
    let small = Device::load("slc-generic").expect("built in").sampled(8);
    let error = small.expect_err("8 pages a block").to_string();
    assert!(error.contains("take at least 1/2, or a larger ‹block-size›"), "{error}");
}

#[test]
fn a_small_trace_has_one_device_whatever_policies_run_on_it() {
    // 32 blocks of data, with 15 % more, are fewer than a log needs.
    let mut all: Vec<_> =
        (0..2048).map(|page| request(page, Op::Write, page * 4096, 4096)).collect();
    all.extend((0..4096).map(|i| request(2048 + i, Op::Write, i * 1237 % 2048 * 4096, 4096)));
    let trace = prepare(all).expect("a trace");
    let input = Input::Trace(&trace, 1);
    let policies = PRESETS.iter().filter(|preset| preset.layer == LayerKind::PageMapped);
    let jobs: Vec<_> = policies.map(|preset| job(preset.name, input)).collect();
    assert!(jobs.iter().all(is_enlarged));
    let together = compare(&jobs, 0, &Progress::default()).expect("all run");
    for (job, beside) in jobs.iter().zip(together) {
        let alone = done(job);
        assert_eq!(alone.stable_json(), beside.stable_json(), "{}", job.policy.name);
        assert_eq!(alone.config.device.geometry.blocks_per_bank, 32 + 3 + 6);
    }
}
