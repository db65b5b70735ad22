//! The figures of `trace info`.

use super::{alignment::AlignmentStats, sizes::SizeStats};

/// The figures of a trace. Shares are fractions of 1. Shares, factors and means are absent if the
/// divisor is 0.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TraceReport {
    /// Bytes of a page, the unit of all figures about pages.
    pub page_bytes: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Trim requests.
    pub trims: u64,
    /// Flush requests.
    pub flushes: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes trimmed.
    pub bytes_trimmed: u64,
    /// Pages written, counting each page once for every request.
    pub page_writes: u64,
    /// Distinct pages written.
    pub pages_written: u64,
    /// Bytes of the distinct pages written.
    pub write_set_bytes: u64,
    /// Page writes per distinct page written.
    pub overwrite_factor: Option<f64>,
    /// Share of page writes that hit a page already written.
    pub update_share: Option<f64>,
    /// Share of page writes that go to the most written tenth of the written pages.
    pub top10_share: Option<f64>,
    /// Share of page writes that go to the most written fifth of the written pages.
    pub top20_share: Option<f64>,
    /// The earliest time, in nanoseconds since the trace's origin.
    pub first_ns: Option<u64>,
    /// The latest time, in nanoseconds since the trace's origin.
    pub last_ns: Option<u64>,
    /// Nanoseconds from the earliest to the latest.
    pub duration_ns: u64,
    /// Mean nanoseconds between requests.
    pub mean_gap_ns: Option<f64>,
    /// Requests stamped earlier than the one before them.
    pub backwards: u64,
    /// Sizes of the reads.
    pub read_sizes: Option<SizeStats>,
    /// Sizes of the writes.
    pub write_sizes: Option<SizeStats>,
    /// How requests are aligned to 4 KiB.
    pub alignment: AlignmentStats,
    /// The writes of each placement hint, by its number; empty if no write has one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub hints: Vec<HintStats>,
    /// The volumes, in order of first appearance.
    pub volumes: Vec<VolumeStats>,
}

/// The writes with one placement hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct HintStats {
    /// The hint; 0 is none.
    pub hint: u16,
    /// Write requests.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

/// The figures of one volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct VolumeStats {
    /// Its name, or its index if it has none.
    pub name: String,
    /// Requests of any kind.
    pub requests: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// First byte beyond everything read or written: a lower bound of its size.
    pub end_bytes: u64,
}
