//! How far the work has come, seen from another thread; and the wish to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Shared between the worker and whoever draws the bar.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// More work was found, in pages.
    pub fn expect(&self, pages: u64) {
        self.total.fetch_add(pages, Relaxed);
    }

    /// Work was done, in pages.
    pub fn advance(&self, pages: u64) {
        self.done.fetch_add(pages, Relaxed);
    }

    /// Pages done and pages expected.
    #[must_use]
    pub fn so_far(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.total.load(Relaxed))
    }

    /// Asks all work to stop soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Whether all work should stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }
}
