//! Replays a trace with two policies and prints the write amplification of each:
//!
//!     cargo run --release --package thermocline-sim --example simulate -- corpus/sqlite-ext4.tct

use thermocline_sim::{
    Clock, Device, Input, Job, PolicySpec, PreparedTrace, Progress, TraceMapping, run,
};
use thermocline_trace::read;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: simulate TRACE")?;
    let (device, progress) = (Device::load("tlc-generic")?, Progress::default());
    let mut reader = read::open(&path, &read::ReadOptions::default())?;
    // The pages that the trace accesses, renumbered. The device has the size of those plus the
    // over-provisioning.
    let mapping = TraceMapping { absolute: false, ..TraceMapping::of_files(&device, 0) };
    let trace = PreparedTrace::prepare(&mut reader, &path, mapping, &progress)?;
    for name in ["greedy", "thermocline"] {
        let policy = PolicySpec::parse(name, None, None)?;
        let job = Job::new(device.clone(), policy, Input::Trace(&trace, 1));
        let result = run(&Job { clock: Some(Clock::Device), ..job }, &progress)?;
        println!("{name}: {:.3}", result.write_amplification.unwrap_or(1.0));
    }
    Ok(())
}
