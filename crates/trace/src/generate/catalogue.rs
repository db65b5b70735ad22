//! What workloads there are, for people who ask.

/// One kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadInfo {
    /// How it is written.
    pub syntax: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// All kinds of workload that [`WorkloadSpec`](super::WorkloadSpec) reads.
#[must_use]
pub fn workloads() -> &'static [WorkloadInfo] {
    &[
        WorkloadInfo {
            syntax: "sequential",
            summary: "the span from its first page to its last, again and again",
            source: "Chiang & Chang 1999 (CAT), sequential access",
        },
        WorkloadInfo {
            syntax: "uniform",
            summary: "every page equally likely (also: random)",
            source: "Chiang & Chang 1999 (CAT), random access",
        },
        WorkloadInfo {
            syntax: "hot-cold:X/Y",
            summary: "X % of the requests to a random Y % of the pages, uniform in either part",
            source: "Rosenblum & Ousterhout 1992 (LFS); Chiang, Lee & Chang 1999 (DAC)",
        },
        WorkloadInfo {
            syntax: "zipf:S",
            summary: "the k-th most popular page with probability ~ k^-S, popularity scattered",
            source: "Cooper et al. 2010 (YCSB uses 0.99); drawn as in Hörmann & Derflinger 1996",
        },
        WorkloadInfo {
            syntax: "phases:W@BYTES,W@BYTES,…",
            summary: "one workload after another, each for so many bytes written",
            source: "Chiang, Lee & Chang 1999 (DAC), changing access patterns",
        },
    ]
}
