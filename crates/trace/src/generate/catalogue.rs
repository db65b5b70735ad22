//! The catalogue of patterns.

/// One kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadInfo {
    /// Its syntax.
    pub syntax: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// When to use it.
    pub when: &'static str,
    /// Its source.
    pub source: &'static str,
}

/// All patterns that [`PatternSpec`](super::PatternSpec) reads.
#[must_use]
pub const fn patterns() -> &'static [WorkloadInfo] {
    &[
        WorkloadInfo {
            syntax: "sequential",
            summary: "the span from its first page to its last, again and again",
            when: "what cleaning costs at least",
            source: "Chiang & Chang 1999 (CAT), sequential access",
        },
        WorkloadInfo {
            syntax: "uniform",
            summary: "every page equally likely (also: random)",
            when: "where no policy can know anything, and closed forms hold",
            source: "Chiang & Chang 1999 (CAT), random access",
        },
        WorkloadInfo {
            syntax: "shuffled",
            summary: "every page once, in an order drawn anew for each pass",
            when: "beside fio's randwrite, which keeps a map of what it has written unless it has norandommap",
            source: "fio 3.33",
        },
        WorkloadInfo {
            syntax: "hot-cold:X/Y",
            summary: "X % of the requests to a random Y % of the pages, uniform in either part",
            when: "separating hot from cold data, as the papers measure it",
            source: "Rosenblum & Ousterhout 1992 (LFS); Chiang, Lee & Chang 1999 (DAC)",
        },
        WorkloadInfo {
            syntax: "zipf:S[/in-order|/fio]",
            summary: "the k-th most popular page with probability ~ k^-S, scattered, in order, or as fio does",
            when: "many degrees of hotness, as in stores of keys and values",
            source: "Cooper et al. 2010 (YCSB uses 0.99); drawn as in Hörmann & Derflinger 1996",
        },
        WorkloadInfo {
            syntax: "pareto:H",
            summary: "fio's pareto (and zipf:S/fio its zipf); about half of the pages are never written",
            when: "beside a drive that fio wrote",
            source: "fio 3.33, checked against its iologs",
        },
        WorkloadInfo {
            syntax: "normal:D",
            summary: "fio's normal, scattered as fio does; D is its deviation in percent",
            when: "beside a drive that fio wrote",
            source: "fio 3.33, checked against its iologs",
        },
        WorkloadInfo {
            syntax: "desktop:FIT/KEY=VALUE/…",
            summary: "hot metadata, warm documents, cold files in runs; fits winxp-55gb, winxp-59gb",
            when: "clustering by update frequency, where most data are written once",
            source: "fitted to Kim & Shin 2015 (update interval), Figures 3 to 5",
        },
        WorkloadInfo {
            syntax: "zones:OPEN/SIZE[/untrimmed]",
            summary: "zones trimmed and written whole in random order, OPEN of them at once",
            when: "what a log-structured host costs a drive, by the size of its segments",
            source: "Haas, Lee, Bonnet, Leis 2025 (SSD-iq), measurements of zones",
        },
        WorkloadInfo {
            syntax: "phases:W@BYTES,W@BYTES,…",
            summary: "one workload after another, each for so many bytes written",
            when: "how fast a policy follows a change",
            source: "Chiang, Lee & Chang 1999 (DAC), changing access patterns",
        },
    ]
}
