//! Any workload as a source of requests.

use super::{
    Generator, GeneratorOptions, WorkloadSpec,
    files::{FileOptions, FileWorkload},
};
use crate::{Source, TraceError};

/// Opens a workload.
///
/// Of the options file workloads take `span_bytes` (the device that the volume fills), `bytes`
/// (written after the prelude; `None` is the scenario's own length) and `seed`. Pages are of no
/// account to them: a file system addresses sectors of 512 bytes.
///
/// # Errors
/// [`TraceError::Usage`] when sizes, shares or the length make no sense together, and when a file
/// workload is given a request size, gaps or reads, which its files and its host decide.
pub fn open(
    spec: &WorkloadSpec,
    options: &GeneratorOptions,
) -> Result<Box<dyn Source + Send>, TraceError> {
    let WorkloadSpec::Files(scenario) = spec else {
        return Ok(Box::new(Generator::new(spec, options)?));
    };
    let refused = [
        (options.request_bytes.is_some(), "a request size", "--request"),
        (options.interarrival_ns.is_some(), "a mean gap", "--interarrival"),
        (options.read_share != 0.0, "a share of reads", "--reads"),
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
    Ok(Box::new(FileWorkload::new(*scenario, &options)?))
}
