//! What moves for the sake of even wear alone.

/// Wear levelling beside the victim policy's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WearLeveling {
    /// Nothing moves but what cleaning moves.
    #[default]
    None,
    /// Near a block's end of life, its place is taken by the data of the least erased block
    /// (CAT paper, §3.2, basic scheme 3).
    Swap(Swap),
}

/// When the most and the least erased blocks are swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    /// A block is near its end of life from this number of erases on.
    pub from_erases: u32,
    /// The swap is worth it from this difference of erase counts on.
    pub gap: u32,
}

impl Swap {
    /// The defaults for a rated number of erase cycles: the last 1 % of life, a gap of 0.1 % of it
    /// and at least 16.
    #[must_use]
    pub const fn for_endurance(cycles: u32) -> Self {
        let gap = cycles / 1000;
        Self { from_erases: cycles - cycles / 100, gap: if gap < 16 { 16 } else { gap } }
    }
}
