//! Placement hints reach the placement, whichever way pages are written.

use thermocline_flash::{BufferOrder, WriteBuffer};
use thermocline_sim::{
    Clock, Device, Input, Job, PolicySpec, PreparedTrace, Progress, RunResult, SimError,
    TraceMapping, run,
};
use thermocline_trace::{Op, Request, Source, TraceError};

use crate::common::Draws;

/// Pages of a tenant: some blocks.
const REGION: u64 = 4096;

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

fn trace(pages: u64, hinted: bool) -> PreparedTrace {
    let mapping = TraceMapping {
        page_size: 4096,
        absolute: false,
        written_only: false,
        read_modify_write: true,
        device_pages: 0,
        sample: None,
    };
    let left = 16 * REGION / pages;
    let mut tenants = Tenants { draws: Draws(7), pages, at: [0; 4], left, now: 0, hinted };
    PreparedTrace::prepare(&mut tenants, "tenants", mapping, &Progress::default()).expect("a trace")
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
        let (hinted, plain) = (trace(pages, true), trace(pages, false));
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
    let trace = trace(64, true);
    let mut job = job(&trace, "hints");
    let order = BufferOrder::Lru;
    job.device.profile.write_buffer = Some(WriteBuffer { order, bytes: 1 << 20 });
    let error = run(&job, &Progress::default()).expect_err("refused").to_string();
    assert!(error.contains("lost its hint"), "{error}");
}
