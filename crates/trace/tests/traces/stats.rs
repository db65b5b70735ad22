//! The figures of `trace info`, on traces small enough to count by hand.

use thermocline_trace::{
    Op, Request, Source, TraceError,
    generate::{Generator, GeneratorOptions},
    stats::{TraceReport, TraceStats, VolumeStats},
};

fn request(time_ns: u64, volume: u32, op: Op, offset: u64, len: u64) -> Request {
    Request { time_ns, offset, len, volume, op, hint: 0 }
}

fn report(requests: &[Request]) -> TraceReport {
    let mut stats = TraceStats::new(4096);
    for request in requests {
        stats.add(request).expect("sensible sizes");
    }
    stats.report(&["sda".into()])
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("a figure");
    assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
}

#[test]
fn statistics_of_a_small_trace_match_a_count_by_hand() {
    let report = report(&[
        request(2_000, 0, Op::Write, 0, 8192),
        request(1_000, 0, Op::Write, 4096, 1),
        request(3_000, 1, Op::Write, 4096, 4096),
        request(3_000, 0, Op::Read, 512, 512),
        request(3_500, 1, Op::Trim, 0, 1 << 40),
        request(5_000, 0, Op::Flush, 0, 0),
        request(4_000, 0, Op::Write, 5000, 0),
    ]);
    assert_eq!((report.reads, report.writes, report.trims, report.flushes), (1, 4, 1, 1));
    assert_eq!((report.bytes_read, report.bytes_written), (512, 8192 + 1 + 4096));
    assert_eq!(report.bytes_trimmed, 1 << 40);
    assert_eq!((report.page_writes, report.pages_written), (4, 3));
    assert_eq!(report.write_set_bytes, 3 * 4096);
    close(report.overwrite_factor, 4.0 / 3.0);
    close(report.update_share, 0.25);
    assert_eq!((report.first_ns, report.last_ns), (Some(1_000), Some(5_000)));
    assert_eq!((report.duration_ns, report.backwards), (4_000, 2));
    close(report.mean_gap_ns, 4_000.0 / 6.0);
    assert_eq!(
        report.volumes,
        [
            VolumeStats {
                name: "sda".into(),
                requests: 5,
                bytes_read: 512,
                bytes_written: 8193,
                end_bytes: 8192
            },
            VolumeStats {
                name: "1".into(),
                requests: 2,
                bytes_read: 0,
                bytes_written: 4096,
                end_bytes: 8192
            },
        ]
    );
    let sizes = report.read_sizes.expect("a read");
    assert_eq!((sizes.min, sizes.p50, sizes.max), (512, 512, 512));
}

#[test]
fn an_empty_trace_has_no_ratios() {
    let report = report(&[]);
    assert_eq!(report.overwrite_factor, None);
    assert_eq!(report.update_share, None);
    assert_eq!((report.top10_share, report.top20_share), (None, None));
    assert_eq!((report.first_ns, report.mean_gap_ns), (None, None));
    assert_eq!((report.read_sizes, report.write_sizes), (None, None));
    assert_eq!(report.alignment.aligned_share, None);
    assert!(report.volumes.is_empty());
}

#[test]
fn the_hottest_pages_have_their_share() {
    // Page k of 20 is written k + 1 times: the top two have 20 + 19 of 210 writes.
    let requests: Vec<_> = (0..20u64)
        .flat_map(|k| (0..=k).map(move |_| request(0, 0, Op::Write, k * 4096 * 1000, 4096)))
        .collect();
    let report = report(&requests);
    close(report.top10_share, 39.0 / 210.0);
    close(report.top20_share, (39.0 + 35.0) / 210.0);
}

#[test]
fn a_hot_and_cold_workload_looks_hot_and_cold() {
    let spec = "hot-cold:90/10".parse().expect("a workload");
    let options = GeneratorOptions {
        bytes: Some(400 << 20),
        interarrival_ns: Some(1e6),
        ..GeneratorOptions::new(4 << 20)
    };
    let mut generator = Generator::new(&spec, &options).expect("a workload");
    let report = TraceStats::of(&mut generator, 4096).expect("no errors");
    assert_eq!((report.writes, report.pages_written), (102_400, 1024));
    close(report.overwrite_factor, 100.0);
    assert!((report.top10_share.unwrap_or(0.0) - 0.9).abs() < 0.01);
    assert!((report.mean_gap_ns.unwrap_or(0.0) / 1e6 - 1.0).abs() < 0.02);
}

#[test]
fn misalignment_comes_with_a_remedy() {
    let at = |sector: u64| request(0, 0, Op::Write, sector * 512, 4096);
    let mut requests: Vec<_> = (0..80).map(|i| at(63 + i * 8)).collect();
    requests.extend((0..15).map(|i| at(i * 8)));
    requests.extend((0..4).map(|i| at(i * 8 + 3)));
    requests.push(request(0, 0, Op::Read, 100, 10));
    let alignment = report(&requests).alignment;
    close(alignment.aligned_share, 0.15);
    assert_eq!(alignment.common_sector, Some(7));
    close(alignment.common_share, 0.8);
    let hint = alignment.hint.expect("a hint");
    assert_eq!(hint, "80 % of requests start at 7 mod 8 sectors: ‹shift -7s› aligns them");
    let few = report(&[at(0), at(0), at(5)]).alignment;
    assert_eq!((few.common_sector, few.hint), (Some(5), None));
    assert_eq!(report(&[at(8)]).alignment.common_sector, None);
}

#[test]
fn size_quantiles_are_round_numbers() {
    let mut requests = vec![request(0, 0, Op::Write, 0, 4096); 90];
    requests.extend(vec![request(0, 0, Op::Write, 0, 128 << 10); 9]);
    requests.push(request(0, 0, Op::Write, 0, 3 << 30));
    let sizes = report(&requests).write_sizes.expect("writes");
    assert_eq!((sizes.min, sizes.p50, sizes.p90), (4096, 4096, 4096));
    assert_eq!((sizes.p99, sizes.max), (128 << 10, 3 << 30));
    let mean = (90.0 * 4096.0 + 9.0 * 131_072.0 + 3_221_225_472.0) / 100.0;
    close(Some(sizes.mean), mean);
}

#[test]
fn errors_of_the_source_and_of_requests_pass_through() {
    struct Wild(bool);
    impl Source for Wild {
        fn next_batch(&mut self, batch: &mut Vec<Request>, _: usize) -> Result<(), TraceError> {
            batch.clear();
            if self.0 {
                batch.push(request(0, 0, Op::Read, 0, 1 << 50));
            }
            Ok(())
        }
    }
    assert!(TraceStats::of(&mut Wild(false), 4096).is_ok());
    let error = TraceStats::of(&mut Wild(true), 4096).expect_err("absurd").to_string();
    assert!(error.contains("larger than any device takes"), "{error}");
}

/// The memory for written pages is bounded even if they are isolated.
#[test]
fn sparse_pages_are_counted() {
    let requests: Vec<_> =
        (0..50_000u64).map(|i| request(i, 0, Op::Write, (i % 25_000) << 40, 4096)).collect();
    let report = report(&requests);
    assert_eq!(report.pages_written, 25_000);
    close(report.update_share, 0.5);
}
