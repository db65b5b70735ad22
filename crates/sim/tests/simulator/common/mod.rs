//! Shared by the simulator's tests of banks: traces given request by request, the times of a chip,
//! and a small random number generator.

#![allow(dead_code)]

use thermocline_flash::Timing;
use thermocline_sim::{
    Device, Input, Job, PolicySpec, PreparedTrace, Progress, RunResult, TraceMapping, run,
};
use thermocline_trace::{Op, Request, Source, TraceError};

pub use thermocline_testing::Draws;

/// Times of a chip of large pages, all different.
pub const TIMING: Timing = Timing {
    oob_read_ns: 0,
    read_setup_ns: 11_000,
    read_ns: 29_000,
    program_setup_ns: 37_000,
    program_ns: 201_000,
    copy_setup_ns: 5_000,
    copy_ns: 240_000,
    erase_setup_ns: 3_000,
    erase_ns: 1_500_000,
    hotness_scan_ns: 0,
};

/// Pages of 4 KiB, and no more of the device than the trace touches.
pub const MAPPING: TraceMapping = TraceMapping {
    page_size: 4096,
    absolute: false,
    written_only: false,
    read_modify_write: true,
    device_pages: 0,
    sample: None,
};

/// Requests given one by one.
pub struct Given(pub std::vec::IntoIter<Request>);

impl Source for Given {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        batch.extend(self.0.by_ref().take(limit));
        Ok(())
    }
}

/// A request for whole pages.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub time_ns: u64,
    pub op: Op,
    pub first: u32,
    pub pages: u32,
}

/// A write of several pages at once.
pub fn write(first: u32, pages: u32) -> Ask {
    Ask { time_ns: 0, op: Op::Write, first, pages }
}

/// A trace of these requests. Page numbers are the device's.
pub fn trace(asks: &[Ask], page_size: u32) -> PreparedTrace {
    let page = u64::from(page_size);
    let requests: Vec<Request> = asks
        .iter()
        .map(|ask| Request {
            time_ns: ask.time_ns,
            offset: u64::from(ask.first) * page,
            len: u64::from(ask.pages) * page,
            volume: 0,
            op: ask.op,
            hint: 0,
        })
        .collect();
    let mapping = TraceMapping {
        page_size,
        absolute: true,
        written_only: false,
        read_modify_write: true,
        device_pages: 0,
        sample: None,
    };
    let mut source = Given(requests.into_iter());
    PreparedTrace::prepare(&mut source, "given", mapping, &Progress::default()).expect("a trace")
}

/// A built-in device of its own size, with this many banks and channels.
pub fn device(name: &str, banks: u32, channels: u32) -> Device {
    use thermocline_assembly::device::Overrides;
    let overrides =
        Overrides { banks: Some(banks), channels: Some(channels), ..Overrides::default() };
    let device = Device::load(name).expect("built in").with(&overrides).expect("a device");
    Device { fixed_capacity: true, ..device }
}

pub fn policy(name: &str) -> PolicySpec {
    PolicySpec::parse(name, None, None).expect("a preset")
}

/// A job that checks all invariants at its end.
pub fn job<'a>(device: Device, policy: PolicySpec, input: Input<'a>) -> Job<'a> {
    Job { check: true, ..Job::new(device, policy, input) }
}

pub fn done(job: &Job<'_>) -> RunResult {
    run(job, &Progress::default()).expect("a run")
}
