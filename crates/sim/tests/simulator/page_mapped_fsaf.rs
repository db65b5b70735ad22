//! FSAF on the page-mapped layer, with pages of eight sectors: a host that uses files and never
//! trims.

use crate::common::{Given, done, job, policy};
use thermocline_assembly::device::Overrides;
use thermocline_filehost::{FileOptions, FileWorkload, Scenario};
use thermocline_sim::{
    Device, Fill, Input, Job, PolicySpec, PreparedTrace, Progress, RunResult, TraceMapping,
    result::Host,
};
use thermocline_trace::{Op, Request, Source};

const PAGE: u64 = 4096;
/// The usual over-provisioning of a stick.
const OVER_PROVISIONING: f64 = 0.15;

fn device() -> Device {
    let size = Overrides { capacity: Some(64 << 20), ..Overrides::default() };
    Device::load("slc-generic").expect("built in").with(&size).expect("256 blocks")
}

fn exported() -> u32 {
    device().exported_pages(OVER_PROVISIONING)
}

/// Medium files on a volume as large as the device, which is written twice.
fn source(seed: u64) -> FileWorkload {
    let options = FileOptions {
        seed,
        bytes: Some(96 << 20),
        ..FileOptions::new(u64::from(exported()) * PAGE)
    };
    FileWorkload::new(Scenario::S2, &options).expect("it fits")
}

fn files(seed: u64) -> PreparedTrace {
    let mapping = TraceMapping::of_files(&device(), exported());
    PreparedTrace::prepare(&mut source(seed), "s2", mapping, &Progress::default())
        .expect("prepared")
}

/// All requests, and the number of them that create and fill the file system.
fn requests(seed: u64) -> (Vec<Request>, usize) {
    let mut source = source(seed);
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch, 4096).expect("generated");
        if batch.is_empty() {
            return (all, source.prelude() as usize);
        }
        all.append(&mut batch);
    }
}

fn believing(name: &str, dead_data: &str) -> PolicySpec {
    policy(name).with(None, Some(dead_data)).expect("a name")
}

fn on(input: &PreparedTrace, policy: PolicySpec) -> RunResult {
    done(&Job {
        fill: Fill::Nothing,
        over_provisioning: OVER_PROVISIONING,
        check: true,
        ..job(device(), policy, Input::Trace(input, 1))
    })
}

#[test]
fn marks_spare_copies_and_cost_no_erasures() {
    let input = files(1);
    for name in ["cat", "dac"] {
        let [none, trim, fsaf] =
            ["none", "trim", "fsaf"].map(|dead| on(&input, believing(name, dead)));
        let dead = fsaf.dead_data.expect("somebody looked");
        println!(
            "{name}: {} erasures and {} copies, with FSAF {} and {}; {} sectors marked, {} revived, \
             {} pages left behind",
            trim.flash.blocks_erased,
            trim.flash.pages_copied,
            fsaf.flash.blocks_erased,
            fsaf.flash.pages_copied,
            dead.sectors_marked,
            dead.sectors_revived,
            dead.pages_left
        );
        assert!(trim.cleaning.victims > 100, "{name}: too little was cleaned to tell");
        assert_eq!(none.flash, trim.flash, "a host that never trims");
        assert_eq!(trim.dead_data, None);
        // A part of a page that cleaning dropped is written without a read of the rest.
        assert!(fsaf.host.pages_read <= trim.host.pages_read, "{name}");
        let pages_read = trim.host.pages_read;
        assert_eq!(Host { pages_read, ..fsaf.host }, trim.host, "the same host");
        assert!(dead.sectors_marked > 10_000, "{name}: {}", dead.sectors_marked);
        assert_eq!((dead.disarmed, fsaf.host.pages_trimmed), (0, 0), "{name}");
        assert!(dead.pages_left > 0, "{name}");
        let limit = trim.flash.blocks_erased as f64 * 1.02;
        assert!(fsaf.flash.blocks_erased as f64 <= limit, "{name}");
        assert!(fsaf.flash.pages_copied < trim.flash.pages_copied, "{name}");
        // Watching costs reads, which do not count as the host's.
        assert!(dead.extra_reads > 0 && dead.extra_reads < fsaf.host.pages_written, "{name}");
    }
}

#[test]
fn one_seed_gives_one_result() {
    let run = |seed| on(&files(seed), believing("dac", "fsaf")).stable_json().to_string();
    let (one, again, other) = (run(1), run(1), run(2));
    assert!(one == again, "the same seed twice");
    assert!(one != other, "another seed");
}

#[test]
fn what_prepares_the_device_is_in_no_figure() {
    let input = files(1);
    let (all, prelude) = requests(1);
    assert!(prelude > 100 && prelude < all.len() / 2, "{prelude} of {}", all.len());
    let (before, after) = all.split_at(prelude);
    let pages = |requests: &[Request]| {
        let writes = requests.iter().filter(|request| request.op == Op::Write);
        writes.map(|r| (r.offset + r.len).div_ceil(PAGE) - r.offset / PAGE).sum::<u64>()
    };
    assert!(pages(before) > u64::from(exported()) / 2, "the volume was filled");
    let bytes = after.iter().filter(|r| r.op == Op::Write).map(|r| r.len).sum::<u64>();
    let first_time = all.iter().map(|r| r.time_ns).min().expect("requests");
    let last_time = all.iter().map(|r| r.time_ns).max().expect("requests");
    for dead_data in ["trim", "fsaf"] {
        let run = on(&input, believing("cat", dead_data));
        assert_eq!(run.host.pages_written, pages(after), "{dead_data}");
        assert_eq!(run.host.bytes_written, bytes);
        assert_eq!(run.host.requests, after.len() as u64);
        assert_eq!(run.trace.requests, after.len() as u64);
        let (reads, writes) = (
            after.iter().filter(|r| r.op == Op::Read).count(),
            after.iter().filter(|r| r.op == Op::Write).count(),
        );
        assert!(reads > 0 && writes + reads <= after.len());
        assert_eq!(run.flash.pages_programmed, run.host.pages_written + run.flash.pages_copied);
        // From the end of the prelude to the end of the last request. The device may finish the
        // prelude slightly after the next request has arrived.
        let whole_us = (last_time - first_time) as f64 / 1000.0;
        assert_eq!(input.duration_ns, last_time - first_time);
        let rest_us = (last_time - after[0].time_ns) as f64 / 1000.0;
        let began_us = (after[0].time_ns - before[before.len() - 1].time_ns) as f64 / 1000.0;
        assert!(run.elapsed_us < whole_us, "{} of {whole_us}", run.elapsed_us);
        assert!(run.elapsed_us < rest_us + began_us + 5e6, "{} of {rest_us}", run.elapsed_us);
        assert!(run.elapsed_us > rest_us * 0.9, "{} of {rest_us}", run.elapsed_us);
        let arrivals = run.trace.arrivals_us.expect("arrivals");
        assert!(arrivals <= rest_us + began_us + 1.0, "{arrivals} {rest_us}");
        assert!(arrivals > rest_us * 0.9, "{arrivals} {rest_us}");
    }
}

#[test]
fn a_trace_of_the_same_requests_has_no_prelude_and_no_contents() {
    let (all, _) = requests(1);
    let mapping = TraceMapping::of_files(&device(), exported());
    let mut given = Given(all.clone().into_iter());
    let trace = PreparedTrace::prepare(&mut given, "given", mapping, &Progress::default())
        .expect("prepared");
    assert_eq!((trace.prelude, trace.known_requests), (0, 0));
    let [trim, fsaf] = ["trim", "fsaf"].map(|dead| on(&trace, believing("cat", dead)));
    assert_eq!(trim.host.requests, all.len() as u64);
    // The written data are unknown, so nothing is inferred.
    let dead = fsaf.dead_data.expect("somebody looked");
    assert_eq!((dead.armed, dead.sectors_marked), (0, 0));
    assert_eq!(trim.flash, fsaf.flash);
    let whole = on(&files(1), believing("cat", "trim"));
    assert!(whole.host.pages_written < trim.host.pages_written);
}
