//! What workloads there are, for people who ask.

/// One kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadInfo {
    /// How it is written.
    pub syntax: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// When to use it.
    pub when: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

const FILES: &str = "Mylavarapu 2008 (SLAC and FSAF), its benchmarks";

/// All kinds of workload that [`WorkloadSpec`](super::WorkloadSpec) reads.
#[must_use]
pub fn workloads() -> &'static [WorkloadInfo] {
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
            syntax: "hot-cold:X/Y",
            summary: "X % of the requests to a random Y % of the pages, uniform in either part",
            when: "separating hot from cold data, as the papers measure it",
            source: "Rosenblum & Ousterhout 1992 (LFS); Chiang, Lee & Chang 1999 (DAC)",
        },
        WorkloadInfo {
            syntax: "zipf:S",
            summary: "the k-th most popular page with probability ~ k^-S, popularity scattered",
            when: "many degrees of hotness, as in stores of keys and values",
            source: "Cooper et al. 2010 (YCSB uses 0.99); drawn as in Hörmann & Derflinger 1996",
        },
        WorkloadInfo {
            syntax: "phases:W@BYTES,W@BYTES,…",
            summary: "one workload after another, each for so many bytes written",
            when: "how fast a policy follows a change",
            source: "Chiang, Lee & Chang 1999 (DAC), changing access patterns",
        },
        WorkloadInfo {
            syntax: "s1",
            summary: "files of 4 to 32 MiB created and deleted on FAT32, 80 % full",
            when: "dead data in long runs",
            source: FILES,
        },
        WorkloadInfo {
            syntax: "s2",
            summary: "files of 64 KiB to 2 MiB created, deleted and now and then changed, likewise",
            when: "dead data in runs of some blocks, a camera's card",
            source: FILES,
        },
        WorkloadInfo {
            syntax: "s3",
            summary: "files of 2 to 32 KiB created, deleted and often changed, likewise",
            when: "dead data in pieces smaller than a block, and much metadata",
            source: FILES,
        },
        WorkloadInfo {
            syntax: "cell-phone",
            summary: "records updated in place, messages, pictures, each synced, seconds apart",
            when: "a long slack after every few requests",
            source: FILES,
        },
        WorkloadInfo {
            syntax: "event-recorder",
            summary: "hundreds of small synced appends at once, then nothing for a minute",
            when: "no slack where it is needed",
            source: FILES,
        },
        WorkloadInfo {
            syntax: "fax",
            summary: "pages appended strip by strip in bursts, seconds between pages",
            when: "a slack that says nothing of the next: isolated gaps before bursts",
            source: FILES,
        },
        WorkloadInfo {
            syntax: "jpeg",
            summary: "sources read, and a compressed picture written every few hundred milliseconds",
            when: "regular slacks of ten folds between reads and writes",
            source: FILES,
        },
        WorkloadInfo {
            syntax: "mad",
            summary: "songs decoded into the page cache, which is written back in long bursts",
            when: "large requests, and slack only between write-backs",
            source: FILES,
        },
        WorkloadInfo {
            syntax: "mp3",
            summary: "a song played while a download is written in sequence",
            when: "sequential writes with a slack after each",
            source: FILES,
        },
        WorkloadInfo {
            syntax: "mpeg",
            summary: "a film played while another is recorded, a steady stream",
            when: "slacks of nearly the same length, so that they can be predicted",
            source: FILES,
        },
    ]
}
