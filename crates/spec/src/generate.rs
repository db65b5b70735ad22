//! The settings of a generated trace.

use crate::{
    group,
    values::{NUMBER, PAGE_SIZE, SHARE, SIZE, TIME},
};

group! {
    /// What a generated trace is like beside its workload.
    pub struct GeneratorArgs, "" {
        /// Size of the address space in bytes [default: 256MiB; file workloads: a volume of 56MiB].
        span: Option<u64> = one("span", "SIZE", SIZE);
        /// Bytes to write [default: 4 times the span; phases: their sum; file workloads: their own amount,
        /// besides making and filling the volume].
        bytes: Option<u64> = one("bytes", "SIZE", SIZE);
        /// Bytes of each request [default: a page].
        request: Option<u64> = one("request", "SIZE", SIZE);
        /// Bytes of a page, the unit that is hot or cold.
        page_size: u64 = one("page-size", "SIZE", PAGE_SIZE).default("4KiB");
        /// Mean time between requests (a Poisson process) [default: all times are 0].
        interarrival: Option<u64> = one("interarrival", "TIME", TIME);
        /// Share of read requests, below 100%.
        reads: f64 = one("reads", "SHARE", SHARE).default("0%");
        /// Seed; one seed gives one trace.
        seed: u64 = one("seed", "N", NUMBER).default("1");
    }
}
