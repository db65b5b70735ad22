//! The oracle knows the future, and runs are compared with it.

use thermocline_assembly::device::Overrides;
use thermocline_policy::Future;
use thermocline_sim::{
    Device, Fill, Input, Job, Outcome, PolicySpec, PreparedTrace, Progress, RunResult, SimError,
    TraceMapping, Workload, compare_each, future_of, run,
};
use thermocline_trace::{Op, Request, Source, TraceError};

const NEVER: u32 = Future::NEVER;

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

/// A trace of operations on pages of 4 KiB: operation, first page, number of pages.
fn trace(ops: &[(Op, u64, u64)]) -> PreparedTrace {
    let request = |(i, &(op, page, pages)): (u64, &(Op, u64, u64))| Request {
        time_ns: i * 1_000_000,
        offset: page * 4096,
        len: pages * 4096,
        volume: 0,
        op,
        hint: 0,
    };
    let mapping = TraceMapping { absolute: true, ..MAPPING };
    let requests = (0..).zip(ops).map(request).collect();
    PreparedTrace::prepare(&mut Given(requests), "given", mapping, &Progress::default())
        .expect("a trace")
}

fn workload(text: &str, bytes: u64) -> Workload {
    Workload {
        spec: text.parse().expect("a workload"),
        bytes: Some(bytes),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.0,
    }
}

fn device(mib: u64) -> Device {
    let sizes = Overrides { capacity: Some(mib << 20), ..Overrides::default() };
    Device::load("slc-generic").and_then(|d| d.with(&sizes)).expect("a device")
}

fn job<'a>(policy: &str, device: Device, input: Input<'a>) -> Job<'a> {
    Job::new(device, PolicySpec::parse(policy, None, None).expect("a policy"), input)
}

fn done(job: &Job<'_>) -> RunResult {
    run(job, &Progress::default()).expect("a run")
}

fn future(job: &Job<'_>) -> Future {
    future_of(job, &Progress::default()).expect("a future")
}

fn each(jobs: &[Job<'_>], threads: usize) -> Vec<Outcome> {
    compare_each(jobs, true, threads, &Progress::default()).expect("nothing stops them all")
}

fn runs(outcomes: Vec<Outcome>) -> Vec<RunResult> {
    outcomes.into_iter().map(|o| o.result.expect("it runs")).collect()
}

#[test]
fn spans_end_with_the_next_write_or_the_trim() {
    use Op::{Flush, Read, Trim, Write};
    let trace = trace(&[
        (Write, 0, 1), // 0
        (Write, 1, 2), // 1, 2
        (Flush, 0, 0),
        (Write, 0, 1), // 3
        (Trim, 1, 1),
        (Read, 0, 4),
        (Write, 1, 1), // 4
        (Trim, 3, 1),
        (Trim, 3, 1),
        (Write, 0, 2), // 5, 6
    ]);
    let once = future(&job("oracle", device(16), Input::Trace(&trace, 1)));
    assert_eq!(once.written, [3, 3, NEVER, 2, 2, NEVER, NEVER]);
    assert_eq!(once.filled, [1, 2, 3, 6]);
    let twice = future(&job("oracle", device(16), Input::Trace(&trace, 2)));
    assert_eq!(twice.written[..7], [3, 3, 7, 2, 2, 2, 2]);
    assert_eq!(twice.written[7..], once.written);
    assert_eq!(twice.filled, once.filled);
}

#[test]
fn addresses_that_wrap_meet_where_they_wrap_to() {
    let fill = |job: &mut Job<'_>| {
        job.wrap = true;
        job.fill = Fill::Share(0.5);
    };
    let far = trace(&[(Op::Write, 0, 1), (Op::Write, 100_000, 1), (Op::Write, 0, 1)]);
    let mut wrapping = job("oracle", device(16), Input::Trace(&far, 1));
    fill(&mut wrapping);
    let pages = future(&wrapping).filled.len() as u64;
    let near = trace(&[(Op::Write, 0, 1), (Op::Write, pages, 1), (Op::Write, 0, 1)]);
    let mut wrapping = job("oracle", device(16), Input::Trace(&near, 1));
    fill(&mut wrapping);
    assert_eq!(future(&wrapping).written, [1, 1, NEVER]);
}

/// The predicted future must equal the run: checks it page write by page write.
#[test]
fn the_future_of_a_workload_is_that_of_its_run() {
    let hot = workload("hot-cold:90/10", 32 << 20);
    let oracle = job("oracle", device(16), Input::Workload(&hot));
    let future = future(&oracle);
    let result = done(&oracle);
    assert_eq!(future.written.len() as u64, result.host.pages_written);
    assert_eq!(future.filled.len(), result.config.logical_pages as usize);
    // Without trims every write ends the life of exactly one page, filled or written.
    let mut ends = vec![0; future.written.len()];
    for &span in future.filled.iter().filter(|&&span| span != NEVER) {
        ends[span as usize - 1] += 1;
    }
    for (at, &span) in future.written.iter().enumerate().filter(|(_, span)| **span != NEVER) {
        ends[at + span as usize] += 1;
    }
    assert!(ends.iter().all(|&n| n == 1), "each write ends one life");
    let other = Job { seed: 2, ..oracle.clone() };
    assert_ne!(future.written, future_of(&other, &Progress::default()).expect("one").written);
}

#[test]
fn knowing_the_future_saves_most_copies_and_fk_some() {
    for (spec, most) in [("hot-cold:90/10", 1.4), ("zipf:0.99", 1.4), ("uniform", 1.6)] {
        let workload = workload(spec, 256 << 20);
        let input = Input::Workload(&workload);
        let amplification = |policy: &str| {
            let result = done(&Job { check: true, ..job(policy, device(64), input) });
            result.write_amplification.expect("written")
        };
        let (oracle, fk) = (amplification("oracle"), amplification("fk"));
        let (greedy, cat) = (amplification("greedy"), amplification("cat"));
        assert!(oracle < most, "{spec}: oracle {oracle}");
        assert!(oracle < 0.7 * greedy.min(cat), "{spec}: {oracle} of {greedy}, {cat}");
        assert!(oracle < fk, "{spec}: {oracle}, fk {fk}");
    }
}

#[test]
fn runs_are_measured_against_one_oracle_on_any_number_of_threads() {
    let (hot, even) = (workload("hot-cold:90/10", 64 << 20), workload("uniform", 64 << 20));
    let jobs: Vec<_> = [&hot, &even]
        .iter()
        .flat_map(|w| ["greedy", "in-place", "oracle", "calendar"].map(|p| (p, Input::Workload(w))))
        .map(|(policy, input)| job(policy, device(16), input))
        .collect();
    let first = runs(each(&jobs, 1));
    let stable = |runs: &[RunResult]| -> Vec<_> { runs.iter().map(|r| r.stable_json()).collect() };
    assert_eq!(stable(&first), stable(&runs(each(&jobs, 2))));
    for of_input in first.chunks(4) {
        let alone = |at: usize| of_input[at].write_amplification.expect("written");
        let best = alone(2).min(alone(3));
        for run in of_input {
            let oracle = run.oracle.as_ref().expect("measured");
            let ours = run.write_amplification.expect("written");
            assert_eq!(oracle.policy == "calendar", alone(3) < alone(2), "{}", oracle.policy);
            assert_eq!(oracle.write_amplification, best);
            assert!((oracle.excess - (ours / best - 1.0)).abs() < 1e-12);
        }
        assert!(of_input[0].oracle.as_ref().is_some_and(|o| o.excess > 0.3));
    }
    assert_ne!(first[0].oracle, first[4].oracle);
    assert!(run(&jobs[0], &Progress::default()).expect("a run").oracle.is_none());
}

#[test]
fn a_device_with_little_to_spare_gets_fewer_classes_or_no_oracle() {
    let even = workload("uniform", 16 << 20);
    let filled = |policy, share| {
        let job = job(policy, device(16), Input::Workload(&even));
        each(&[Job { fill: Fill::Share(share), ..job }], 1).remove(0)
    };
    let fewer = filled("oracle", 0.85).result.expect("the oracle runs");
    let placement = fewer.config.placement.expect("a layer with a placement");
    assert!(placement.starts_with("oracle(classes="), "{placement}");
    assert!(fewer.oracle.is_some());
    let none = filled("greedy", 0.97);
    assert!(none.result.expect("greedy runs").oracle.is_none());
    assert!(none.no_oracle.expect("a reason").contains("open blocks"));
}

#[test]
fn a_small_trace_gives_the_oracle_no_larger_device() {
    let ops: Vec<_> = (0..40_000).map(|i| (Op::Write, i * 7919 % 1500, 1)).collect();
    let trace = trace(&ops);
    let sized = Device::load("slc-generic").expect("built in");
    let jobs = ["greedy", "oracle"].map(|p| job(p, sized.clone(), Input::Trace(&trace, 1)));
    let results = runs(each(&jobs, 2));
    assert_eq!(results[0].config.device, results[1].config.device);
    assert_eq!(results[1].oracle.as_ref().map(|oracle| oracle.excess), Some(0.0));
}

#[test]
fn a_policy_that_cannot_run_leaves_the_others_alone() {
    let even = workload("uniform", 4 << 20);
    let input = Input::Workload(&even);
    let full = |policy| Job { fill: Fill::Share(0.95), ..job(policy, device(16), input) };
    let outcomes = each(&[full("greedy"), full("fk"), full("fifo")], 2);
    let ran: Vec<_> = outcomes.iter().map(|outcome| outcome.result.is_ok()).collect();
    assert_eq!(ran, [true, false, true]);
    let error = outcomes[1].result.as_ref().expect_err("too full");
    assert!(matches!(error, SimError::Input(text) if text.contains("policy fk")), "{error}");
}

#[test]
fn a_future_beyond_all_memory_is_refused_before_it_is_worked_out() {
    let endless = workload("uniform", 1 << 50);
    let oracle = job("oracle", device(16), Input::Workload(&endless));
    let error = run(&oracle, &Progress::default()).expect_err("a petabyte").to_string();
    assert!(error.contains("TiB of memory, more than 4 GiB; take a shorter input"), "{error}");
}

#[test]
fn cancelled_work_says_so() {
    let even = workload("uniform", 1 << 20);
    let jobs = [job("greedy", device(16), Input::Workload(&even))];
    let progress = Progress::default();
    progress.cancel();
    let stopped = compare_each(&jobs, true, 1, &progress);
    assert!(matches!(stopped, Err(SimError::Interrupted)));
}
