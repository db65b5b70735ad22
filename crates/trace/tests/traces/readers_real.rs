//! The readers on real traces, where they are available.
//!
//! The traces cannot be redistributed. The tests look for them in the folder given by
//! `THERMOCLINE_TRACES`, else in `../shared/traces` beside the repository, and skip those that are
//! missing.

use thermocline_testing::trace;
use thermocline_trace::{
    Op, Request, Source,
    read::{self, ReadOptions, Reader},
};

/// Counts of a trace.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    reads: u64,
    writes: u64,
    trims: u64,
    flushes: u64,
    written_bytes: u64,
    first_ns: u64,
    last_ns: u64,
}

fn read_all(reader: &mut Reader) -> Vec<Request> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        reader.next_batch(&mut batch, 4096).expect("a sound trace");
        if batch.is_empty() {
            return all;
        }
        all.extend_from_slice(&batch);
    }
}

fn count(requests: &[Request]) -> Counts {
    let mut counts = Counts {
        first_ns: requests.iter().map(|r| r.time_ns).min().unwrap_or(0),
        last_ns: requests.iter().map(|r| r.time_ns).max().unwrap_or(0),
        ..Counts::default()
    };
    for request in requests {
        match request.op {
            Op::Read => counts.reads += 1,
            Op::Write => {
                counts.writes += 1;
                counts.written_bytes += request.len;
            }
            Op::Trim => counts.trims += 1,
            Op::Flush => counts.flushes += 1,
        }
    }
    counts
}

/// Compares format, reads, writes, trims, flushes, written MiB and seconds with the traces' own
/// description.
#[track_caller]
fn check(name: &str, format: &str, ops: [u64; 4], written_mib: f64, seconds: f64) {
    let Some(path) = trace(name) else { return };
    let mut reader = read::open(path, &ReadOptions::default()).expect("a known format");
    assert_eq!(reader.guess().format.name(), format, "{name}: {}", reader.guess());
    let counts = count(&read_all(&mut reader));
    assert_eq!(
        [counts.reads, counts.writes, counts.trims, counts.flushes],
        ops,
        "{name}: reads, writes, trims, flushes"
    );
    let written = counts.written_bytes as f64 / f64::from(1 << 20);
    assert!((written - written_mib).abs() <= written_mib * 0.005 + 0.05, "{name}: {written} MiB");
    let lasted = (counts.last_ns - counts.first_ns) as f64 / 1e9;
    assert!((lasted - seconds).abs() <= seconds * 0.02 + 0.5, "{name}: {lasted} s");
}

#[test]
fn the_mysql_trace_has_its_published_counts() {
    let name = "1und1-linux-mysql.blkreplay.load.zst";
    check(name, "blkreplay", [7_187, 73_607, 0, 0], 1_050.0, 3600.0);
}

#[test]
fn the_idle_windows_server_trace_has_its_published_counts() {
    let name = "1und1-windows-shared-server.blkreplay.load.zst";
    check(name, "blkreplay", [0, 1_371, 0, 0], 5.1, 3597.0);
}

#[test]
fn the_cloudphysics_trace_has_its_published_counts() {
    let name = "cloudphysics-vm.vscsi1.bin.zst";
    check(name, "vscsi", [46_974, 66_898, 0, 0], 2_297.0, 7200.0);
}

#[test]
fn the_nexus_5_trace_has_its_published_counts() {
    let name = "nexus5-emmc-daily-merged.csv.zst";
    let Some(path) = trace(name) else { return };
    let mut reader = read::open(path, &ReadOptions::default()).expect("a known format");
    let counts = count(&read_all(&mut reader));
    assert_eq!([counts.reads, counts.writes], [44_654, 220_506]);
    assert_eq!((counts.written_bytes as f64 / f64::from(1 << 20)).round(), 4_311.0);
}

#[test]
fn the_windows_11_boot_trace_has_its_published_counts() {
    let name = "win11-boot.wpaexporter.csv.zst";
    check(name, "wpaexporter", [156_028, 16_259, 0, 343], 307.0, 51.0);
}

#[test]
fn the_hplajw_trace_has_its_published_counts() {
    let name = "hp-hplajw-1992-1week.srt.zst";
    check(name, "srt", [13_040, 31_479, 0, 0], 192.0, 603_065.0);
    let Some(path) = trace(name) else { return };
    let mut reader = read::open(path, &ReadOptions::default()).expect("a known format");
    let first = read_all(&mut reader)[0];
    // Sector 1056 of 256 bytes.
    assert_eq!((first.offset, first.len, first.op), (270_336, 4096, Op::Read));
    assert_eq!(reader.volumes(), ["1", "0"]);
}

/// Ruemmler and Wilkes 1993 attribute 71.2 % of the writes of hplajw's two months to metadata.
#[test]
fn three_quarters_of_hplajws_writes_are_to_metadata() {
    let Some(path) = trace("hp-hplajw-1992-1week.srt.zst") else { return };
    let kinds =
        ReadOptions { format: Some("srt-kinds".parse().expect("a format")), ..Default::default() };
    let mut reader = read::open(path, &kinds).expect("a known format");
    let writes = read_all(&mut reader).into_iter().filter(|request| request.op == Op::Write);
    let volumes = reader.volumes();
    let mut counts = std::collections::BTreeMap::new();
    for request in writes {
        *counts.entry(volumes[request.volume as usize].as_str()).or_insert(0) += 1;
    }
    let counts: Vec<_> = counts.into_iter().collect();
    assert_eq!(
        counts,
        [("0-data", 7823), ("0-metadata", 23_316), ("0-paging", 226), ("1-paging", 114)]
    );
}

#[test]
fn the_iozone_trace_has_its_published_counts() {
    let name = "msr-ssdext-iozone.disksim.ascii.zst";
    check(name, "disksim", [0, 100_000, 0, 0], 35_148.0, 936.0);
}

#[test]
fn the_rocksdb_trace_has_its_published_counts() {
    let name = "rocksdb-ycsba-xfs-trim.run1.extracted.csv.zst";
    check(name, "rocksdb", [1, 64_188, 231, 0], 7_978.0, 25.0);
}

/// Checks the format and the number of requests of a small sample.
#[track_caller]
fn check_sample(name: &str, format: &str, reads: u64, writes: u64) {
    let Some(path) = trace(&format!("fixtures/{name}")) else { return };
    let mut reader = read::open(path, &ReadOptions::default()).expect("a known format");
    let counts = count(&read_all(&mut reader));
    let found = (reader.guess().format.name(), counts.reads, counts.writes);
    assert_eq!(found, (format, reads, writes), "{name}: {:?}", reader.warnings());
}

#[test]
fn the_first_rows_of_public_traces_have_their_reads_and_writes() {
    check_sample("disksim-ascii.disksim.ascii.zst", "disksim", 79_634, 20_366);
    check_sample("fiu-homes-1000.ssdsim-dedup.ascii.zst", "ssdsim", 0, 1_000);
    check_sample("mqsim-tpcc-small.mqsim.ascii.zst", "ssdsim", 4_381, 2_618);
    check_sample("mqsim-wsrch-small.mqsim.ascii.zst", "ssdsim", 24_779, 4);
    check_sample("msr-hm_0-1000rows.msr.csv", "msr", 508, 492);
    check_sample("raid-hadoop-5000lines.blkparse.txt.zst", "blkparse", 37, 23);
    check_sample("sample.blktrace.0.bin", "blktrace", 963, 0);
    check_sample("systor17-999rows.csv", "systor17", 826, 173);
    check_sample("systor17-additional-999rows.csv", "systor17", 700, 299);
    check_sample("tencent-cbs-50000rows.csv.zst", "tencent", 24_521, 25_479);
    check_sample("umass-financial1-10000.ssdsim.ascii.zst", "ssdsim", 4_077, 5_923);
    check_sample("umass-financial1-50000.flashsim.ascii.zst", "flashsim", 29_199, 20_801);
    check_sample("ycsb-rocksdb-10000lines.blkparse.txt.zst", "blkparse", 1_694, 0);
}

#[test]
fn a_cache_trace_is_refused_with_its_reason() {
    let Some(path) = trace("fixtures/cloudphysics-vm.oracleGeneral.bin.zst") else { return };
    let error = read::open(path, &ReadOptions::default()).expect_err("no operation");
    assert!(error.to_string().contains("oracleGeneral"), "{error}");
    assert!(error.to_string().contains("no operation"), "{error}");
}
