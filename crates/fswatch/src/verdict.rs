//! Verdicts about file systems.

use alloc::vec::Vec;
use core::ops::Range;

/// The result of examining a partition.
pub(crate) enum Found<F> {
    /// Not this file system.
    Nothing,
    /// The boot sector is valid, something else is not. To be examined again when one of these
    /// sectors is written.
    Incomplete(Vec<Range<u64>>),
    Complete(F),
}

/// The consequence of a write to a volume's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Keep,
    /// It may be another volume now.
    LookAgain,
    /// No implementation of the file system writes this.
    Implausible,
}
