//! State shared by the commands of all devices.

use super::{arrivals::Arrivals, data::Store};

/// The queue of commands, and the storage of their bytes.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) arrivals: Arrivals,
    pub(super) store: Store,
    /// Whether contents are wanted.
    pub(super) contents: bool,
}

impl Shared {
    /// Keeps the bytes of requests if `contents` is true.
    pub(super) fn new(contents: bool) -> Shared {
        Shared { arrivals: Arrivals::default(), store: Store::default(), contents }
    }
}
