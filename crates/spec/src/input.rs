//! The input of a simulation: traces or workloads.

use std::path::PathBuf;

use thermocline_workloads::WorkloadSpec;

use crate::{
    choices, group,
    values::{FILE, ONE_OR_MORE, SAMPLE, SHARE, SIZE, TIME, TWO_OR_MORE, WORKLOAD},
};

group! {
    /// The input of `run`.
    pub struct OneInput, "Input" {
        /// Trace to replay; `-` is standard input.
        trace: Option<PathBuf> = one("trace", "FILE", FILE);
        /// Workload to generate, such as hot-cold:90/10 (`thermocline workloads` lists them).
        workload: Option<WorkloadSpec> = one("workload", "SPEC", WORKLOAD);
    }
}

group! {
    /// The inputs of `compare`.
    pub struct ManyInputs, "Input" {
        /// Trace to replay; `-` is standard input. Repeat for several.
        trace: Vec<PathBuf> = one("trace", "FILE", FILE);
        /// Workload to generate, such as hot-cold:90/10 (`thermocline workloads` lists them). Repeat
        /// for several; they run after the traces.
        workload: Vec<WorkloadSpec> = one("workload", "SPEC", WORKLOAD);
    }
}

group! {
    /// What a workload is like beside its pattern.
    pub struct WorkloadArgs, "Input" {
        /// Bytes that a workload writes [default: 4 times the filled data; phases: their sum].
        bytes: Option<u64> = one("bytes", "SIZE", SIZE);
        /// Bytes of each request [default: a page].
        request: Option<u64> = one("request", "SIZE", SIZE);
        /// Mean time between requests (a Poisson process), such as 24.61s [default: a request starts when
        /// the previous one has ended].
        interarrival: Option<u64> = one("interarrival", "TIME", TIME);
        /// Share of read requests, below 100% [default: 0%].
        reads: Option<f64> = one("reads", "SHARE", SHARE);
    }
}

group! {
    /// How a trace's addresses become pages of the device.
    pub struct MappingArgs, "Input" {
        /// Number of times to replay the trace [default: 1].
        times: Option<u32> = one("loop", "N", ONE_OR_MORE);
        /// Repeat the input until write amplification has settled, at most N times; the statistics are those of the
        /// last time [default N: 20].
        settle: Option<u32> = one("settle", "N", TWO_OR_MORE).alone("20").without(&["loop"]);
        /// Keep the trace's addresses [default: number the touched pages densely].
        absolute: bool = flag("absolute");
        /// Wrap addresses beyond the device's end (modulo its size).
        wrap: bool = flag("wrap");
        /// Pages that count for the device's size: all that are read or written, or only those written
        /// [default: accessed].
        footprint: Option<FootprintArg> = one("footprint", "WHICH", FOOTPRINT);
        /// Simulate a sample: one of N pages, chosen by a hash of their number and ‹seed›, on a device whose
        /// blocks have an N-th of their pages. Costs an N-th in time and memory; write amplification is an
        /// estimate with an interval.
        sample: Option<u32> = one("sample", "1/N", SAMPLE);
        /// Pages written in part: read, modify and write them, or only write them [default: rmw].
        partial_pages: Option<PartialPages> = one("partial-pages", "HOW", PARTIAL_PAGES);
    }
}

choices! {
    /// Which pages need room.
    pub enum FootprintArg, FOOTPRINT {
        /// All pages that are read or written.
        Accessed = "accessed",
        /// Pages that are written.
        Written = "written",
    }
}

choices! {
    /// What becomes of pages written in part.
    pub enum PartialPages, PARTIAL_PAGES {
        /// Read them first, as a device must.
        Rmw = "rmw",
        /// Count them as written whole.
        Round = "round",
    }
}
