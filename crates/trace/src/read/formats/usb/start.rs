//! The time from which the times of a trace count.

use std::sync::{Arc, OnceLock};

/// The start of the clock, shared by all captures of a trace.
#[derive(Clone, Debug)]
pub(super) struct Start(Arc<OnceLock<u64>>);

impl Start {
    /// The earliest of the captures' first times. If none is known yet, the first time that occurs.
    pub(super) fn of(first_times: impl Iterator<Item = u64>) -> Start {
        let start = OnceLock::new();
        if let Some(earliest) = first_times.min() {
            start.get_or_init(|| earliest);
        }
        Start(Arc::new(start))
    }

    /// Start of the clock in nanoseconds; `first` if it has not started yet.
    #[inline]
    pub(super) fn or(&self, first: u64) -> u64 {
        *self.0.get_or_init(|| first)
    }
}
