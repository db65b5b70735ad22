//! Counts of a workload's operations.

/// Operations of a workload so far, including the prelude.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Files created.
    pub files_created: u64,
    /// Files deleted.
    pub files_deleted: u64,
    /// Bytes written.
    pub written: u64,
    /// Bytes of metadata among the written ones: boot sectors, FSInfo, FATs, directories.
    pub written_metadata: u64,
    /// Bytes written before the prelude ended.
    pub prelude_written: u64,
}
