//! The moment from which the times of a trace count.

use std::sync::{Arc, OnceLock};

/// The start of the clock that all captures of a trace have in common.
#[derive(Clone, Debug)]
pub(super) struct Start(Arc<OnceLock<u64>>);

impl Start {
    /// The earliest of the captures' first times; where none is known yet, the first time that is
    /// met.
    pub(super) fn of(first_times: impl Iterator<Item = u64>) -> Start {
        let start = OnceLock::new();
        if let Some(earliest) = first_times.min() {
            start.get_or_init(|| earliest);
        }
        Start(Arc::new(start))
    }

    /// Nanoseconds at which the clock began; `first` if nothing was met before.
    #[inline]
    pub(super) fn or(&self, first: u64) -> u64 {
        *self.0.get_or_init(|| first)
    }
}
