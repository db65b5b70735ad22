//! The settings of a generated trace.

use clap::Args;

use super::values;

/// What a generated trace is like beside its workload.
#[derive(Args, Debug)]
pub struct GeneratorArgs {
    /// Size of the address space in bytes [default: 256MiB; file workloads: a volume of 56MiB].
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub span: Option<u64>,
    /// Bytes to write [default: 4 times the span; phases: their sum; file workloads: their own amount,
    /// besides making and filling the volume].
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub bytes: Option<u64>,
    /// Bytes of each request [default: a page].
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub request: Option<u64>,
    /// Bytes of a page, the unit that is hot or cold.
    #[arg(long, value_name = "SIZE", value_parser = values::page_size, default_value = "4KiB")]
    pub page_size: u64,
    /// Mean time between requests (a Poisson process) [default: all times are 0].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub interarrival: Option<u64>,
    /// Share of read requests, below 100%.
    #[arg(long, value_name = "SHARE", value_parser = values::share, default_value = "0%")]
    pub reads: f64,
    /// Seed; one seed gives one trace.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}
