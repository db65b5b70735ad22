//! What sectors say of a file system.

use alloc::vec::Vec;
use core::ops::Range;

/// What the sectors of a partition turn out to be.
pub(crate) enum Found<F> {
    /// Not such a file system.
    Nothing,
    /// The boot sector is one's, something else is not. To be looked at again when one of these
    /// sectors is written.
    Incomplete(Vec<Range<u64>>),
    Complete(F),
}

/// What a write to a volume's own records means for the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Keep,
    /// It may be another volume now.
    LookAgain,
    /// No such file system writes this.
    Implausible,
}
