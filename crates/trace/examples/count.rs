//! Counts the requests of a trace: `cargo run --example count -- FILE` (or `-` for a pipe).

use thermocline_trace::{Op, Source, TraceError, read};

fn main() -> Result<(), TraceError> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "-".into());
    let mut reader = read::open(path, &read::ReadOptions::default())?;
    println!("format: {}", reader.guess());
    let (mut batch, mut counts) = (Vec::new(), [0_u64; 4]);
    loop {
        reader.next_batch(&mut batch, 4096)?;
        if batch.is_empty() {
            break;
        }
        for request in &batch {
            counts[match request.op {
                Op::Read => 0,
                Op::Write => 1,
                Op::Trim => 2,
                Op::Flush => 3,
            }] += 1;
        }
    }
    let [reads, writes, trims, flushes] = counts;
    println!("{reads} reads, {writes} writes, {trims} trims, {flushes} flushes");
    println!("volumes: {}", reader.volumes().join(" "));
    for warning in reader.warnings() {
        println!("warning: {warning}");
    }
    Ok(())
}
