//! What a layer tells of itself.

/// What a layer did since it was mounted or formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// Pages that the host wrote.
    pub host_writes: u64,
    /// Pages that cleaning moved.
    pub copies: u64,
    /// Pages of the map, and of snapshots, that were written.
    pub map_writes: u64,
    /// Reads of the map on the chip: of one entry, or a page.
    pub map_reads: u64,
    /// Areas that were read.
    pub area_reads: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks chosen to be cleaned.
    pub victims: u64,
    /// Valid pages of these, when they were chosen.
    pub victims_valid: u64,
    /// Blocks that failed.
    pub failed_blocks: u32,
    /// Pages that could not be moved, as they could not be read.
    pub lost: u32,
    /// Pages that were moved for the bits that the chip corrected.
    pub refreshed: u32,
    /// Reads of data in which it corrected some.
    pub corrected_reads: u32,
    /// The most that it corrected in one.
    pub most_corrected: u32,
}

impl Counters {
    /// Pages that were programmed.
    #[must_use]
    pub const fn programs(&self) -> u64 {
        self.host_writes + self.copies + self.map_writes
    }
}

/// How worn a store is, by what RAM knows of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Health {
    /// Erases of the good block that was erased least. After a mount a block that holds nothing counts as the mean.
    pub least_erases: u32,
    /// Erases of the good blocks, in the mean.
    pub mean_erases: u32,
    /// Erases of the good block that was erased most.
    pub most_erases: u32,
    /// Blocks that are marked as bad, and those that failed and wait to be.
    pub bad_blocks: u32,
    /// Blocks that may go bad yet before the store has no room for its pages beside what cleaning needs.
    pub spare_blocks: u32,
    /// Blocks that can be opened.
    pub free_blocks: u32,
    /// Reads in which the chip corrected bits, since the store was mounted.
    pub corrected_reads: u32,
    /// Bits of the worst sector of these.
    pub most_corrected: u32,
    /// Pages that were moved for that.
    pub refreshed: u32,
    /// Pages that could not be read when they should be moved.
    pub lost: u32,
}
