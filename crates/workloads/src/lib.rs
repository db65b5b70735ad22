//! Every generated workload by name: the patterns of `trace` and the file workloads of `filehost`.

mod spec;

pub use spec::WorkloadSpec;

use thermocline_filehost::{FileOptions, FileWorkload, Scenario};
use thermocline_trace::{
    Source, TraceError,
    generate::{Generator, GeneratorOptions, WorkloadInfo, patterns},
};

/// All workloads that [`WorkloadSpec`] reads, in the order of listings.
pub fn all() -> impl Iterator<Item = WorkloadInfo> {
    patterns().iter().copied().chain(Scenario::ALL.map(Scenario::info))
}

/// Opens a workload.
///
/// File workloads use three of the options: `span_bytes` (the size of the device that the volume
/// fills), `bytes` (written after the prelude; `None` means the scenario's own length) and `seed`.
/// They ignore the page size, because a file system addresses sectors of 512 bytes.
///
/// # Errors
/// [`TraceError::Usage`] if sizes, shares or the length contradict each other, or if a file
/// workload is given a request size, gaps or reads, which its files and its host decide.
pub fn open(
    spec: &WorkloadSpec,
    options: &GeneratorOptions,
) -> Result<Box<dyn Source + Send>, TraceError> {
    match spec {
        WorkloadSpec::Pattern(pattern) => Ok(Box::new(Generator::new(pattern, options)?)),
        WorkloadSpec::Files(scenario) => Ok(Box::new(files(*scenario, options)?)),
    }
}

fn files(scenario: Scenario, options: &GeneratorOptions) -> Result<FileWorkload, TraceError> {
    let refused = [
        (options.request_bytes.is_some(), "a request size", "‹request›"),
        (options.interarrival_ns.is_some(), "a mean gap", "‹interarrival›"),
        (options.read_share != 0.0, "a share of reads", "‹reads›"),
    ];
    if let Some((_, what, option)) = refused.iter().find(|(given, ..)| *given) {
        return Err(TraceError::usage(
            format!("{scenario} with {what}: its requests are made by a file system and its host"),
            format!("leave out {option}"),
        ));
    }
    let options = FileOptions {
        bytes: options.bytes,
        seed: options.seed,
        ..FileOptions::new(options.span_bytes)
    };
    FileWorkload::new(scenario, &options)
}
