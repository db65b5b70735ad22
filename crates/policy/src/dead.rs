//! What is known to be garbage before it is overwritten.

use crate::params;

params! {
    /// Erasing blocks of nothing but dead data ahead of cleaning, on the block-mapped layer (FSAF,
    /// §4.2.3 of the thesis): when more than `delta` of the pages are dead and `mu` of the blocks are
    /// in use, until `target` are left.
    pub struct Reclaim {
        /// Share of the device's pages that must be dead (the thesis' δ).
        delta: f64 = 0.20,
        /// Share of the blocks that must be in use (μ).
        mu: f64 = 0.85,
        /// Share of dead pages at which it ends (Δ).
        target: f64 = 0.18,
        /// No more than delta - target of the blocks at a time, so that no request waits for all.
        cap: bool = true,
    }
}
