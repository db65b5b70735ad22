//! When cleaning starts and when it stops.

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
