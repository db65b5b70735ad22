//! Placement hints reach the placement, whichever way pages are written.

use thermocline_flash::{BufferOrder, WriteBuffer};
use thermocline_sim::{
    Clock, Device, Input, Job, PolicySpec, PreparedTrace, Progress, RunResult, SimError, run,
};
use thermocline_trace::{
    Op, Request, Source, TraceError,
    read::{ReadOptions, open},
};

use crate::common::{Draws, MAPPING};

/// Pages of a tenant: some blocks.
const REGION: u64 = 4096;
/// Pages that they write.
const WRITTEN: u64 = 16 * REGION;

/// Four tenants that write their own pages round and round, in requests of `pages` pages. Each
/// writes twice as fast as the one after it, so that their data live for different times.
struct Tenants {
    draws: Draws,
    pages: u64,
    at: [u64; 4],
    left: u64,
    now: u64,
    hinted: bool,
}

impl Source for Tenants {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < limit && self.left > 0 {
            let tenant = (self.draws.below(15) + 1).leading_zeros() as usize - 28;
            let offset = (tenant as u64 * REGION + self.at[tenant]) * 4096;
            self.at[tenant] = (self.at[tenant] + self.pages) % REGION;
            (self.left, self.now) = (self.left - 1, self.now + 10_000_000);
            batch.push(Request {
                time_ns: self.now,
                offset,
                len: self.pages * 4096,
                volume: 0,
                op: Op::Write,
                hint: if self.hinted { tenant as u16 + 1 } else { 0 },
            });
        }
        Ok(())
    }
}

/// So many pages, in requests of `pages`.
fn trace(written: u64, pages: u64, hinted: bool) -> PreparedTrace {
    let left = written / pages;
    let mut tenants = Tenants { draws: Draws(7), pages, at: [0; 4], left, now: 0, hinted };
    PreparedTrace::prepare(&mut tenants, "tenants", MAPPING, &Progress::default()).expect("a trace")
}

fn job<'a>(trace: &'a PreparedTrace, placement: &str) -> Job<'a> {
    let device = Device::load("slc-generic").expect("built in");
    let policy = PolicySpec::parse("greedy", None, Some(placement)).expect("a placement");
    Job { check: true, ..Job::new(device, policy, Input::Trace(trace, 1)) }
}

fn copies(job: &Job<'_>) -> u64 {
    let done: Result<RunResult, SimError> = run(job, &Progress::default());
    done.expect("a run").flash.pages_copied
}

#[test]
fn data_of_a_handle_die_together_whichever_way_they_are_written() {
    // One page in a request, and many, which are written in runs.
    for pages in [1, 16] {
        let (hinted, plain) = (trace(WRITTEN, pages, true), trace(WRITTEN, pages, false));
        for clock in [Clock::Device, Clock::Arrivals] {
            let of =
                |trace, placement| copies(&Job { clock: Some(clock), ..job(trace, placement) });
            let blind = of(&plain, "hints");
            let case = format!("{pages} pages on the {clock:?} clock, {blind} without hints");
            for placement in ["hints", "hints-isolated"] {
                let seeing = of(&hinted, placement);
                assert!(seeing < blind / 10, "{placement}: {seeing} copies of {case}");
            }
            // Tenants that share handles are mixed again.
            let shared = of(&hinted, "hints(handles=1)");
            assert!(shared > blind / 2, "{shared} copies of {case}");
        }
    }
}

#[test]
fn hints_do_not_pass_a_write_buffer() {
    let trace = trace(WRITTEN, 64, true);
    let mut job = job(&trace, "hints");
    let order = BufferOrder::Lru;
    job.device.profile.write_buffer = Some(WriteBuffer { order, bytes: 1 << 20 });
    let error = run(&job, &Progress::default()).expect_err("refused").to_string();
    assert!(error.contains("lost its hint"), "{error}");
}

/// The writes of a trace, each with a hint that says nothing.
struct Drawn<S> {
    source: S,
    draws: Draws,
}

impl<S: Source> Source for Drawn<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        self.source.next_batch(batch, limit)?;
        for request in batch {
            // Without trims more is copied, and so more could be lost.
            request.op = if request.op == Op::Trim { Op::Flush } else { request.op };
            request.hint = self.draws.below(8) as u16 + 1;
        }
        Ok(())
    }
}

/// Single pages, of which a share in tenths goes to the first tenth.
struct Single {
    draws: Draws,
    hot: u32,
    left: u64,
}

impl Source for Single {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        const PAGES: u32 = 400 * 64;
        batch.clear();
        while batch.len() < limit && self.left > 0 {
            self.left -= 1;
            let within = if self.draws.below(10) < self.hot { PAGES / 10 } else { PAGES };
            let offset = u64::from(self.draws.below(within)) * 4096;
            batch.push(Request {
                time_ns: 0,
                offset,
                len: 4096,
                volume: 0,
                op: Op::Write,
                hint: 0,
            });
        }
        Ok(())
    }
}

/// A source by name, with its own seed where it has one.
fn drawn(name: &str, seed: u64) -> PreparedTrace {
    let single = |hot| Single { draws: Draws(seed), hot, left: 4 * 400 * 64 };
    let source: Box<dyn Source> = match name {
        "uniform" => Box::new(single(0)),
        "hot-cold" => Box::new(single(9)),
        trace => {
            let path = format!("{}/../../corpus/{trace}.tct", env!("CARGO_MANIFEST_DIR"));
            Box::new(open(path, &ReadOptions::default()).expect("a trace of the corpus"))
        }
    };
    let mut drawn = Drawn { source, draws: Draws(seed + 1000) };
    PreparedTrace::prepare(&mut drawn, name, MAPPING, &Progress::default()).expect("a trace")
}

/// Pages programmed for each that the host writes.
fn amplification(trace: &PreparedTrace, spare: f64, preset: &str, placement: Option<&str>) -> f64 {
    let device = Device::load("slc-generic").expect("built in");
    let policy = PolicySpec::parse(preset, None, placement).expect("a policy");
    let job = Job::new(device, policy, Input::Trace(trace, 1));
    let job = Job { over_provisioning: spare, clock: Some(Clock::Device), ..job };
    let done: Result<RunResult, SimError> = run(&job, &Progress::default());
    done.expect("a run").write_amplification.expect("the host wrote")
}

#[test]
fn hints_without_information_cost_nothing_where_the_device_judges_them() {
    for name in ["uniform", "hot-cold", "sqlite-ext4", "developer-btrfs"] {
        for seed in 1..=3 {
            let trace = drawn(name, seed);
            for spare in [0.07, 0.28] {
                let of = |preset, placement| amplification(&trace, spare, preset, placement);
                let case = format!("{name}, seed {seed}, {spare} spare");
                for (preset, placement, without) in [
                    ("sep-gc", Some("hints-adaptive"), of("sep-gc", None)),
                    ("thermocline(hints=8)", None, of("thermocline", None)),
                ] {
                    let with = of(preset, placement);
                    assert!(with <= 1.01 * without, "{preset}, {case}: {with}, not {without}");
                }
            }
        }
    }
}

#[test]
fn hints_without_information_cost_much_where_each_has_a_stream_of_its_own() {
    // So the other test can fail.
    let trace = drawn("sqlite-ext4", 1);
    let without = amplification(&trace, 0.07, "sep-gc", None);
    for placement in ["hints", "hints-isolated"] {
        let with = amplification(&trace, 0.07, "sep-gc", Some(placement));
        assert!(with > 1.1 * without, "{placement}: {with}, not {without}");
    }
}

#[test]
fn hints_with_information_gain_where_the_device_judges_them() {
    // It takes some time to learn.
    let trace = trace(4 * WRITTEN, 16, true);
    // With fewer spare blocks there is no room for so many handles in a ghost.
    let of = |preset, placement| amplification(&trace, 0.15, preset, placement);
    let blind = [of("sep-gc", None), of("thermocline", None)];
    let seeing = [of("sep-gc", Some("hints-adaptive")), of("thermocline(hints=8)", None)];
    for (seeing, blind) in seeing.into_iter().zip(blind) {
        assert!(seeing - 1.0 < 0.5 * (blind - 1.0), "{seeing}, not {blind}");
    }
}
