//! When cleaning starts and when it stops.

use crate::choice;

choice! {
    /// What makes cleaning start.
    #[derive(Default)]
    pub enum Trigger {
        /// A write needs a block and fewer than the low watermark are free.
        #[default]
        Lazy = "lazy",
        /// A write has left the reserve or less: directly after it (striping paper, §5).
        Eager = "eager",
        /// A write needs a block, and a victim has garbage enough: all garbage at the high
        /// watermark, any at the low one (Kawaguchi, Nishioka, Motoda 1995: the gradually falling
        /// threshold).
        Falling = "falling",
    }
}

impl Trigger {
    /// The least pages of garbage that make a block of `pages` pages worth cleaning while `free`
    /// blocks are free.
    #[must_use]
    pub fn least_garbage(self, marks: &Watermarks, free: u32, pages: u32) -> u32 {
        if self != Self::Falling || free < marks.low {
            return 1;
        }
        // One step above the low watermark nearly anything goes, one below the high one only
        // nearly pure garbage.
        let steps = u64::from((marks.high - marks.low).max(1));
        let above = u64::from(free - marks.low + 1);
        (u64::from(pages) * above).div_ceil(steps).min(u64::from(pages)).max(1) as u32
    }
}

/// Low and high watermarks on the free list (CAT paper, Table 7).
///
/// The user path never takes the last `reserve` free blocks: survivors need them. Cleaning starts
/// when a write needs a block and fewer than `low` are free, and stops at `high`. The default,
/// `low = high = reserve + 1`, cleans only when a write needs a block and stops as soon as it can
/// be given one; more hysteresis contradicts the published tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// Free blocks kept for the cleaner.
    pub reserve: u32,
    /// Cleaning starts below this number of free blocks.
    pub low: u32,
    /// Cleaning stops at this number of free blocks.
    pub high: u32,
}

impl Watermarks {
    /// Cleans only when out of space, with `reserve` blocks for the cleaner.
    #[must_use]
    pub const fn lazy(reserve: u32) -> Self {
        Self { reserve, low: reserve + 1, high: reserve + 1 }
    }
}

impl Default for Watermarks {
    fn default() -> Self {
        Self::lazy(2)
    }
}
