//! What the commands of all devices share.

use super::{arrivals::Arrivals, data::Store};

/// The queue of commands, and the bytes they moved.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) arrivals: Arrivals,
    pub(super) store: Store,
    /// Contents are wanted.
    pub(super) contents: bool,
}

impl Shared {
    /// Keeps the bytes that requests moved if `contents` is true.
    pub(super) fn new(contents: bool) -> Shared {
        Shared { arrivals: Arrivals::default(), store: Store::default(), contents }
    }
}
