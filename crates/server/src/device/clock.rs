//! The time that the layer sees.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Nanoseconds since the first request, on top of the time that the device had when it was closed.
///
/// It stands still until then, so that a recording, whose first request is at time 0 in a simulator,
/// can be repeated on a device of the same age.
#[derive(Debug)]
pub(crate) struct Clock {
    before: u64,
    started: OnceLock<Instant>,
}

impl Clock {
    pub(crate) const fn new(before: u64) -> Self {
        Self { before, started: OnceLock::new() }
    }

    /// Begins to run, if it does not yet.
    #[inline]
    pub(crate) fn start(&self) {
        self.started.get_or_init(Instant::now);
    }

    /// The time now.
    #[inline]
    pub(crate) fn read(&self) -> u64 {
        let elapsed = self.started.get().map_or(0, |started| nanoseconds(started.elapsed()));
        self.before.saturating_add(elapsed)
    }
}

/// 584 years fit.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
