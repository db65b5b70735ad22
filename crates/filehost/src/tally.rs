//! Counts of what a workload did.

/// What a workload has done so far, prelude included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Files created.
    pub files_created: u64,
    /// Files deleted.
    pub files_deleted: u64,
    /// Bytes written.
    pub written: u64,
    /// Bytes of metadata among them: boot sectors, FSInfo, FATs, directories.
    pub written_metadata: u64,
    /// Bytes written before the prelude ended.
    pub prelude_written: u64,
}
