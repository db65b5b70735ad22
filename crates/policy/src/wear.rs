//! Wear levelling beyond cleaning.

/// Wear levelling in addition to the victim policy's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WearLeveling {
    /// None: only cleaning moves data.
    #[default]
    None,
    /// A block near its end of life takes over the data of the least erased block (CAT paper, §3.2,
    /// basic scheme 3).
    Swap(Swap),
}

/// The conditions of a swap of the most and the least erased blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    /// Erase count from which a block is near its end of life.
    pub from_erases: u32,
    /// Minimum difference of erase counts for a swap.
    pub gap: u32,
}

impl Swap {
    /// The defaults for a rated number of P/E cycles: the last 1 % of life, and a gap of 0.1 % of
    /// it, at least 16.
    #[must_use]
    pub const fn for_endurance(cycles: u32) -> Self {
        let gap = cycles / 1000;
        Self { from_erases: cycles - cycles / 100, gap: if gap < 16 { 16 } else { gap } }
    }
}
