//! What is done while the host is silent.

use crate::{Ticks, params};

params! {
    /// Cleaning in idle time: when the device has had nothing to do for a while, it cleans block
    /// after block until enough are free or a request comes. A request that comes during a cleaning
    /// waits for its end.
    pub struct IdleTimer {
        /// Idle time after which cleaning begins.
        after: Ticks = Ticks(20_000_000),
        /// Free blocks in each bank that are enough; auto: one more than the high watermark, and a
        /// sixteenth of the spare space.
        free: Option<u32> = None,
    }
}
