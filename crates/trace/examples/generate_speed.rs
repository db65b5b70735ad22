//! Requests a second of each generator: `cargo run --release --example generate_speed [span in GiB]`.

use std::{env, hint::black_box, time::Instant};
use thermocline_trace::{
    Source, TraceError,
    generate::{Generator, GeneratorOptions, PatternSpec},
};

const REQUESTS: u64 = 50_000_000;

fn main() -> Result<(), TraceError> {
    let gib: u64 = env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(64);
    println!("{REQUESTS} requests of 4 KiB within {gib} GiB");
    for (text, interarrival_ns) in [
        ("sequential", None),
        ("uniform", None),
        ("hot-cold:90/10", None),
        ("zipf:0.99", None),
        ("uniform", Some(1e6)),
    ] {
        let spec: PatternSpec = text.parse()?;
        let options = GeneratorOptions {
            bytes: Some(REQUESTS << 12),
            interarrival_ns,
            ..GeneratorOptions::new(gib << 30)
        };
        let mut generator = Generator::new(&spec, &options)?;
        let mut batch = Vec::with_capacity(1024);
        let start = Instant::now();
        loop {
            generator.next_batch(&mut batch, 1024)?;
            if black_box(&batch).is_empty() {
                break;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{text:16} {:8.1} M/s  {:5.2} ns each{}",
            REQUESTS as f64 / seconds / 1e6,
            seconds * 1e9 / REQUESTS as f64,
            if interarrival_ns.is_some() { "  with Poisson arrivals" } else { "" }
        );
    }
    Ok(())
}
