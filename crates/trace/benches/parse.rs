//! Rows per second that one core parses, by format. Rows are generated in memory.
//!
//! `cargo bench -p thermocline-trace --bench parse [-- FORMAT…]`

use std::{fmt::Write, hint::black_box, io::Cursor, sync::Arc, time::Instant};

use thermocline_trace::{
    Op, Request, Source, TraceError,
    native::NativeWriter,
    read::{self, Format, ReadOptions},
    write::TraceWriter,
};

/// Rows in each trace.
const ROWS: u64 = 1_000_000;

/// Number of times that each trace is read. The fastest counts, because other load only slows
/// reading.
const ROUNDS: usize = 9;

/// The numbers of one row, scattered as in a real trace.
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

const FORMATS: [(&str, Writer); 25] = [
    ("csv", |to, r| {
        if r.n == 0 {
            to.push_str("time_ns,op,volume,offset,len\n");
        }
        let op = if r.one == 1 { "write" } else { "read" };
        writeln!(to, "{},{op},8:16,{},{}", r.n * 1000, r.sector * 512, r.sectors * 512)
    }),
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
    ("k5cloud", |to, r| {
        let (time, offset, size) = (r.n as f64 / 1e4, r.sector * 512, r.sectors * 512);
        writeln!(to, "{},{time:.9},{},{offset},{size}", r.n % 7, r.op)
    }),
    ("nexus5", |to, r| {
        if r.n == 0 {
            to.push_str("time_s_unix,op,lba512,sectors,packed,session\n");
        }
        let (whole, part) = (1_396_928_764 + r.n / 1000, r.n % 1000 * 1_000_001);
        writeln!(to, "{whole}.{part:09},{},{},{},1,131_music", r.op, r.sector, r.sectors)
    }),
    ("rocksdb", |to, r| {
        if r.n == 0 {
            to.push_str("time_ns,op,lba,sectors,io_class,file_id,file_name\n");
        }
        writeln!(to, "{},{},{},{},19,76,000014.sst", r.n * 1000, r.op, r.sector, r.sectors)
    }),
    ("acsl", |to, r| {
        if r.n == 0 {
            to.push_str("proces,device,rw_flag,sector,size,timestamp\n");
        }
        let time = r.n as f64 / 1e5;
        writeln!(to, "kworker/u16:1,8388608,{},{},{},{time:.9}", r.op, r.sector, r.sectors)
    }),
    ("biotracer", |to, r| {
        let (whole, part) = (1_396_928_764 + r.n / 1000, r.n % 1000 * 1_000_000);
        let (sector, sectors, bytes) = (r.sector, r.sectors, r.sectors * 512);
        write!(to, "{sector}\t{sectors}\t{bytes}\t{}", if r.one == 1 { 1 } else { 4 })?;
        for stage in 0..4 {
            write!(to, "\t{whole}.{:09}", part + stage * 10_000)?;
        }
        writeln!(to)
    }),
    ("disksim", |to, r| {
        writeln!(to, "{:.6}\t0\t{}\t{}\t{}", r.n as f64 / 10.0, r.sector, r.sectors, r.one)
    }),
    ("flashsim", |to, r| {
        writeln!(to, "{:.6}\t0\t{}\t{}\t{}", r.n as f64 / 10.0, r.sector, r.sectors / 8, r.one)
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
    ("ftrace", |to, r| {
        let (n, op, sector, sectors) = (r.n, r.op, r.sector, r.sectors);
        writeln!(
            to,
            "     kworker/0:1-21    [000] d..1 {}.{:06}: block_rq_issue: 8,0 {op} {} () {sector} + \
             {sectors} [kworker/0:1]",
            n / 100_000,
            n % 100_000 * 10,
            sectors * 512
        )
    }),
    ("biosnoop", |to, r| {
        let (time, op, bytes) = (r.n as f64 / 1e5, r.op, r.sectors * 512);
        writeln!(
            to,
            "{time:<11.9} supervise      1950   xvda1     {op} {:<10} {bytes:<7} 0.74",
            r.sector
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
    // A request and its reply: two lines a request.
    ("nbdkit", |to, r| {
        let (minute, second, us) = (r.n / 600_000, r.n / 10_000 % 60, r.n % 10_000 * 100);
        let (op, id) = (if r.one == 1 { "Write" } else { "Read" }, r.n);
        let (offset, count) = (r.sector * 512, r.sectors * 512);
        let clock = format!("2026-11-20 22:{minute:02}:{second:02}");
        writeln!(
            to,
            "{clock}.{us:06} connection=1 {op} id={id} offset={offset:#x} count={count:#x} ..."
        )?;
        writeln!(to, "{clock}.{:06} connection=1 ...{op} id={id} return=0", us + 50)
    }),
    ("xperf", |to, r| {
        let op = if r.one == 1 { "DiskWrite" } else { "DiskRead" };
        let (time, offset, size) = (r.n * 100, r.sector * 512, r.sectors * 512);
        writeln!(
            to,
            "{op:>19}, {time:>10},   System (   4),       16, 0xfffffa8000000001, {offset:#012x}, \
             {size:#010x},          35,        1, 0x000043,           31, Normal, 0, \
             0xfffff8a000000001, \"C:\\pagefile.sys\""
        )
    }),
    ("diskmon", |to, r| {
        let (time, op) = (r.n as f64 / 1e5, if r.one == 1 { "Write" } else { "Read" });
        writeln!(to, "{}\t{time:.6}\t0.00000763\t0\t{op}\t{}\t{}", r.n, r.sector, r.sectors)
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

/// The same rows in the native format.
fn native() -> Result<Arc<[u8]>, TraceError> {
    let mut bytes = Vec::new();
    let mut writer = NativeWriter::new(&mut bytes, "native")?;
    let volumes = ["disk".to_owned()];
    for n in 0..ROWS {
        let r = row(n);
        let op = if r.one == 1 { Op::Write } else { Op::Read };
        let (offset, len) = (r.sector * 512, r.sectors * 512);
        let request = Request { time_ns: r.n * 1000, op, offset, len, volume: 0, hint: 0 };
        writer.write_batch(&[request], &volumes)?;
    }
    writer.finish()?;
    drop(writer);
    Ok(bytes.into())
}

/// Prints the speed of reading.
fn report(name: &str, bytes: Arc<[u8]>) {
    let best = (0..ROUNDS).map(|_| seconds(name, &bytes)).fold(f64::INFINITY, f64::min);
    println!(
        "{name:12} {:12.0} {:8.1} {:8.0}",
        ROWS as f64 / best,
        best * 1e9 / ROWS as f64,
        bytes.len() as f64 / best / 1e6
    );
}

/// Processor time of this thread in seconds; the wall clock if the system does not report it. Other
/// load on the machine is then not counted as parsing.
fn processor_seconds(since: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    ns.map_or_else(|| since.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// Time to read a trace, in seconds.
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
