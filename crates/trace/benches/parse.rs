//! How many rows a second a core parses, by format. Rows are made in memory and read from it.
//!
//! `cargo bench -p thermocline-trace --bench parse [-- FORMAT…]`

use std::{fmt::Write, hint::black_box, io::Cursor, sync::Arc, time::Instant};

use thermocline_trace::{
    Op, Request, Source, TraceError,
    native::NativeWriter,
    read::{self, Format, ReadOptions},
    write::TraceWriter,
};

/// Rows of each trace.
const ROWS: u64 = 1_000_000;

/// Times each trace is read; the fastest counts, as other work only slows it.
const ROUNDS: usize = 9;

/// The numbers of one row, scattered like a real trace's.
struct Row {
    n: u64,
    op: &'static str,
    one: u64,
    sector: u64,
    sectors: u64,
}

fn row(n: u64) -> Row {
    let hash = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let write = hash >> 63;
    Row {
        n,
        op: if write == 1 { "W" } else { "R" },
        one: write,
        sector: (hash >> 24) & 0xfff_ffff,
        sectors: 8 << ((hash >> 60) & 3),
    }
}

type Writer = fn(&mut String, Row) -> std::fmt::Result;

const FORMATS: [(&str, Writer); 13] = [
    ("msr", |to, r| {
        let op = if r.one == 1 { "Write" } else { "Read" };
        let (offset, size) = (r.sector * 512, r.sectors * 512);
        writeln!(to, "{},hm,0,{op},{offset},{size},2833", 128_166_385_295_514_663 + r.n)
    }),
    ("alibaba", |to, r| {
        let (offset, size) = (r.sector * 512, r.sectors * 512);
        writeln!(to, "{},{},{offset},{size},{}", r.n % 5, r.op, 1_577_808_000_000_046 + r.n)
    }),
    ("tencent", |to, r| {
        let time = 1_538_323_200 + r.n / 1000;
        writeln!(to, "{time},{},{},{},{}", r.sector, r.sectors, r.one, 1058 + r.n / 100)
    }),
    ("spc", |to, r| {
        let time = r.n as f64 / 1e4;
        writeln!(to, "{},{},{},{},{time:.6}", r.n % 3, r.sector, r.sectors * 512, r.op)
    }),
    ("systor17", |to, r| {
        let (offset, size) = (r.sector * 512, r.sectors * 512);
        writeln!(to, "1456095145.{:09},0.000806000,{},0,{offset},{size}", r.n * 1000, r.op)
    }),
    ("disksim", |to, r| {
        writeln!(to, "{:.6}\t0\t{}\t{}\t{}", r.n as f64 / 10.0, r.sector, r.sectors, r.one)
    }),
    ("ssdsim", |to, r| writeln!(to, "{} 0 {} {} {}", r.n * 1000, r.sector, r.sectors, r.one)),
    ("blkreplay", |to, r| {
        let (time, op) = (r.n as f64 / 1e5, r.op);
        writeln!(to, "{time:16.9} ; {:12} ; {:4} ; {op} ; 0.0 ; 0.0", r.sector, r.sectors)
    }),
    ("fio-iolog", |to, r| {
        if r.n == 0 {
            to.push_str("fio version 3 iolog\n");
        }
        let op = if r.one == 1 { "write" } else { "read" };
        writeln!(to, "{} /dev/sdb {op} {} {}", r.n * 10, r.sector * 512, r.sectors * 512)
    }),
    ("blkparse", |to, r| {
        let (time, op) = (r.n as f64 / 1e5, r.op);
        writeln!(
            to,
            "  8,16   5 {:8} {time:13.9} 18615  D {op:>3} {} + {} [java]",
            r.n, r.sector, r.sectors
        )
    }),
    ("fiu", |to, r| {
        let hash = "56f11b0123456789abcdef0123456789";
        writeln!(to, "{} 20782 gzip {} {} {} 6 0 {hash}", r.n * 1000, r.sector, r.sectors, r.op)
    }),
    // A command with its data and its answer, each submitted and completed: six lines a request.
    ("usbmon", |to, r| {
        let (us, tag) = (r.n * 500 % 4_096_000_000, (r.n as u32).swap_bytes());
        let (code, way) = if r.one == 1 { ("2a", 'o') } else { ("28", 'i') };
        let (bytes, [high, low]) = (r.sectors * 512, (r.sectors as u16).to_be_bytes());
        let cdb = format!("{:08x}00{high:02x}{low:02x}", r.sector);
        let (first, second) = cdb.split_at(6);
        let length = (bytes as u32).swap_bytes();
        let urb = "ffff88003b6e1c00";
        writeln!(
            to,
            "{urb} {us} S Bo:1:005:2 -115 31 = 55534243 {tag:08x} {length:08x} 80000a{code} 00{first} \
             {second} 00000000 000000"
        )?;
        writeln!(to, "{urb} {us} C Bo:1:005:2 0 31 >")?;
        writeln!(to, "{urb} {us} S B{way}:1:005:2 -115 {bytes} <")?;
        writeln!(to, "{urb} {us} C B{way}:1:005:2 0 {bytes} >")?;
        writeln!(to, "{urb} {us} S Bi:1:005:1 -115 13 <")?;
        writeln!(to, "{urb} {us} C Bi:1:005:1 0 13 = 55534253 {tag:08x} 00000000 00")
    }),
    ("wpaexporter", |to, r| {
        if r.n == 0 {
            to.push_str("IO Type;Process (Name);Init Time (s);Size (B);Min Offset;Disk\n");
        }
        let op = if r.one == 1 { "Write" } else { "Read" };
        writeln!(to, "{op};System;1,{:09};16.384;0x{:016X};1", r.n, r.sector * 512)
    }),
];

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    println!("{:12} {:>12} {:>8} {:>8}", "format", "rows/s", "ns/row", "MB/s");
    for (name, write_row) in FORMATS {
        if !wanted.is_empty() && !wanted.iter().any(|want| want == name) {
            continue;
        }
        let mut text = String::new();
        for n in 0..ROWS {
            write_row(&mut text, row(n)).expect("a string takes everything");
        }
        report(name, text.into_bytes().into());
    }
    if wanted.is_empty() || wanted.iter().any(|want| want == "native") {
        report("native", native().expect("memory takes everything"));
    }
}

/// The same rows as Thermocline keeps them.
fn native() -> Result<Arc<[u8]>, TraceError> {
    let mut bytes = Vec::new();
    let mut writer = NativeWriter::new(&mut bytes, "native")?;
    let volumes = ["disk".to_owned()];
    for n in 0..ROWS {
        let r = row(n);
        let op = if r.one == 1 { Op::Write } else { Op::Read };
        let (offset, len) = (r.sector * 512, r.sectors * 512);
        let request = Request { time_ns: r.n * 1000, op, offset, len, volume: 0 };
        writer.write_batch(&[request], &volumes)?;
    }
    writer.finish()?;
    drop(writer);
    Ok(bytes.into())
}

/// Prints how fast rows are read.
fn report(name: &str, bytes: Arc<[u8]>) {
    let best = (0..ROUNDS).map(|_| seconds(name, &bytes)).fold(f64::INFINITY, f64::min);
    println!(
        "{name:12} {:12.0} {:8.1} {:8.0}",
        ROWS as f64 / best,
        best * 1e9 / ROWS as f64,
        bytes.len() as f64 / best / 1e6
    );
}

/// The processor's time that this thread has had, in seconds; the wall clock where the system
/// does not tell. Other work on the machine then does not count as parsing.
fn processor_seconds(since: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    ns.map_or_else(|| since.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// How long it takes to read a trace.
fn seconds(name: &str, bytes: &Arc<[u8]>) -> f64 {
    let format = name.parse::<Format>().expect("a known format");
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    let since = Instant::now();
    let started = processor_seconds(since);
    let stream = Cursor::new(Arc::clone(bytes));
    let mut reader = read::open_stream(stream, name, &options).expect("opens");
    let mut batch = Vec::new();
    let mut rows = 0;
    loop {
        reader.next_batch(&mut batch, 4096).expect("sound rows");
        if batch.is_empty() {
            break;
        }
        rows += batch.len() as u64;
        black_box(&batch);
    }
    assert_eq!(rows, ROWS, "{name}");
    processor_seconds(since) - started
}
