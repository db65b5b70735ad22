//! Workloads of both kinds by name: listed, opened, refused.

use thermocline_filehost::{FileOptions, FileWorkload, Scenario};
use thermocline_trace::{Request, Source, generate::GeneratorOptions};
use thermocline_workloads::{WorkloadSpec, all, open};

/// Seven eighths of the 64 MB of the thesis.
const VOLUME: u64 = 56 << 20;

/// Requests with the bytes that they wrote or read, and the number of requests in the prelude.
type Traffic = (Vec<(Request, Option<Vec<u8>>)>, u64);

fn traffic(source: &mut dyn Source) -> Traffic {
    let (mut batch, mut sent) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch, 1000).expect("generators do not fail");
        if batch.is_empty() {
            return (sent, source.prelude());
        }
        let contents = |i| source.contents().of(i).map(<[u8]>::to_vec);
        sent.extend(batch.iter().enumerate().map(|(i, request)| (*request, contents(i))));
    }
}

#[test]
fn the_catalogue_is_complete() {
    const GENERATED: [&str; 10] = [
        "sequential",
        "uniform",
        "shuffled",
        "hot-cold",
        "zipf",
        "pareto",
        "normal",
        "desktop",
        "zones",
        "phases",
    ];
    let names: Vec<_> = all().map(|w| w.syntax.split(':').next().unwrap_or("")).collect();
    let files = Scenario::ALL.map(Scenario::name);
    assert_eq!(names, [&GENERATED[..], &files[..]].concat());
    assert!(all().all(|w| !w.summary.is_empty() && !w.when.is_empty() && !w.source.is_empty()));
}

#[test]
fn any_workload_is_opened_by_its_name() {
    for scenario in Scenario::ALL {
        let spec: WorkloadSpec = scenario.name().parse().expect("a name");
        assert_eq!(spec, WorkloadSpec::Files(scenario));
        assert_eq!(spec.to_string(), scenario.name());
    }
    for text in ["uniform", "phases:hot-cold:90/10@40MiB,uniform@40MiB"] {
        let spec: WorkloadSpec = text.parse().expect("a pattern");
        assert!(matches!(spec, WorkloadSpec::Pattern(_)) && spec.to_string() == text);
    }
    let options = GeneratorOptions {
        bytes: Some(2 << 20),
        seed: 7,
        page_bytes: 512,
        ..GeneratorOptions::new(VOLUME)
    };
    let mut source = open(&WorkloadSpec::Files(Scenario::S3), &options).expect("a workload");
    let files = FileOptions { bytes: Some(2 << 20), seed: 7, ..FileOptions::new(VOLUME) };
    let mut expected = FileWorkload::new(Scenario::S3, &files).expect("a volume");
    assert!(traffic(&mut source) == traffic(&mut expected));
    let pattern = GeneratorOptions { bytes: Some(1 << 20), ..GeneratorOptions::new(1 << 20) };
    let mut source = open(&"uniform".parse().expect("a pattern"), &pattern).expect("a workload");
    let mut batch = Vec::new();
    source.next_batch(&mut batch, 1000).expect("generators do not fail");
    assert_eq!((batch.len(), source.prelude(), source.contents().is_empty()), (256, 0, true));
}

#[test]
fn file_workloads_refuse_options_of_patterns() {
    let fits = GeneratorOptions::new(VOLUME);
    for (options, expected) in [
        (GeneratorOptions { request_bytes: Some(4096), ..fits }, "leave out ‹request›"),
        (GeneratorOptions { interarrival_ns: Some(1e6), ..fits }, "leave out ‹interarrival›"),
        (GeneratorOptions { read_share: 0.1, ..fits }, "leave out ‹reads›"),
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
}
