//! File workloads: the file system is sound, its metadata are all there, and each script has the
//! slack it is there for.

mod slack;
mod traffic;
mod volume;

use thermocline_trace::{
    Op, Source,
    generate::{
        GeneratorOptions, WorkloadSpec,
        files::{FileOptions, FileWorkload, HostOptions, Scenario},
        open,
    },
};
use traffic::{SECTOR, Traffic, VOLUME};

fn short(seed: u64) -> FileOptions {
    FileOptions { bytes: Some(2 << 20), seed, ..FileOptions::new(VOLUME) }
}

#[test]
fn one_seed_gives_one_traffic() {
    for scenario in Scenario::ALL {
        let first = Traffic::of(scenario, &short(7));
        let again = Traffic::of(scenario, &short(7));
        let other = Traffic::of(scenario, &short(8));
        assert!(first.sent == again.sent && first.prelude == again.prelude, "{scenario}");
        assert!(first.sent != other.sent, "{scenario}");
    }
}

#[test]
fn batches_of_any_size_are_the_same_traffic() {
    let collect = |limit: usize| {
        let mut source = FileWorkload::new(Scenario::CellPhone, &short(1)).expect("a volume");
        let (mut batch, mut all) = (Vec::new(), Vec::new());
        loop {
            source.next_batch(&mut batch, limit).expect("generators do not fail");
            if batch.is_empty() {
                return all;
            }
            for (i, request) in batch.iter().enumerate() {
                all.push((*request, source.contents().of(i).map(<[u8]>::to_vec)));
            }
        }
    };
    assert!(collect(1) == collect(100_000));
}

#[test]
fn requests_lie_on_the_volume_and_follow_the_hosts_clock() {
    let host = HostOptions::default();
    for scenario in Scenario::ALL {
        let mut free_ns = 0;
        for sent in &Traffic::usual(scenario).sent {
            let request = sent.request;
            assert!(request.len > 0 && request.offset + request.len <= VOLUME, "{scenario}");
            assert!((request.offset | request.len).is_multiple_of(SECTOR as u64), "{scenario}");
            assert!(request.len <= host.request_bytes, "{scenario}");
            assert_eq!(request.volume, 0);
            // The device takes one request at a time.
            assert!(request.time_ns >= free_ns, "{scenario}");
            let each = match request.op {
                Op::Write => host.sector_write_ns,
                Op::Read => host.sector_read_ns,
                op => panic!("{scenario}: {op:?}"),
            };
            free_ns = request.time_ns + request.len / SECTOR as u64 * each;
            if let Some(bytes) = &sent.bytes {
                assert_eq!(bytes.len() as u64, request.len, "{scenario}");
            }
        }
    }
}

#[test]
fn workloads_write_what_was_asked_and_count_it() {
    for scenario in Scenario::ALL {
        let traffic = Traffic::of(scenario, &short(1));
        let written = |sent: &[traffic::Sent]| -> u64 {
            sent.iter().filter(|s| s.request.op == Op::Write).map(|s| s.request.len).sum()
        };
        let proper = written(traffic.proper());
        // A file operation more, or what the page cache still held.
        assert!((2 << 20..4 << 20).contains(&proper), "{scenario}: {proper}");
        let tally = traffic.tally;
        assert_eq!(tally.written, written(&traffic.sent), "{scenario}");
        assert_eq!(tally.prelude_written, tally.written - proper, "{scenario}");
        assert!(tally.written_metadata < tally.written, "{scenario}");
    }
}

#[test]
fn any_workload_is_opened_by_its_name() {
    for scenario in Scenario::ALL {
        let spec: WorkloadSpec = scenario.name().parse().expect("a name");
        assert_eq!(spec, WorkloadSpec::Files(scenario));
        assert_eq!(spec.to_string(), scenario.name());
    }
    let options = GeneratorOptions {
        bytes: Some(2 << 20),
        seed: 7,
        page_bytes: 512,
        ..GeneratorOptions::new(VOLUME)
    };
    let mut source = open(&WorkloadSpec::Files(Scenario::S3), &options).expect("a workload");
    let expected = Traffic::of(Scenario::S3, &short(7));
    let (mut batch, mut count) = (Vec::new(), 0);
    loop {
        source.next_batch(&mut batch, 1000).expect("generators do not fail");
        if batch.is_empty() {
            break;
        }
        for (i, request) in batch.iter().enumerate() {
            let sent = &expected.sent[count + i];
            assert_eq!((*request, source.contents().of(i)), (sent.request, sent.bytes.as_deref()));
        }
        count += batch.len();
    }
    assert_eq!((count, source.prelude()), (expected.sent.len(), expected.prelude as u64));
    let pattern = GeneratorOptions { bytes: Some(1 << 20), ..GeneratorOptions::new(1 << 20) };
    let mut source = open(&"uniform".parse().expect("a pattern"), &pattern).expect("a workload");
    source.next_batch(&mut batch, 1000).expect("generators do not fail");
    assert_eq!((batch.len(), source.prelude(), source.contents().is_empty()), (256, 0, true));
}

#[test]
fn what_makes_no_sense_with_files_is_refused() {
    let fits = GeneratorOptions::new(VOLUME);
    for (options, expected) in [
        (GeneratorOptions { request_bytes: Some(4096), ..fits }, "leave out --request"),
        (GeneratorOptions { interarrival_ns: Some(1e6), ..fits }, "leave out --interarrival"),
        (GeneratorOptions { read_share: 0.1, ..fits }, "leave out --reads"),
        (GeneratorOptions { span_bytes: 32 << 20, ..fits }, "at least 33MiB"),
        (GeneratorOptions { span_bytes: 0, ..fits }, "at least 33MiB"),
        (GeneratorOptions { span_bytes: 1 << 40, ..fits }, "at most"),
    ] {
        let error = open(&WorkloadSpec::Files(Scenario::S1), &options).err().expect(expected);
        assert!(error.to_string().contains(expected), "{error}");
    }
    for (spec, expected) in [
        ("s1:4k", "takes no argument, but `4k` was given"),
        ("phases:s1@4MiB", "`s1` cannot be a phase"),
        ("s4", "s1, cell-phone"),
    ] {
        let error = spec.parse::<WorkloadSpec>().expect_err(expected);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let odd = FileOptions { utilization: 0.95, ..FileOptions::new(VOLUME) };
    assert!(FileWorkload::new(Scenario::S1, &odd).is_err());
}
