//! The settings of a [`Watched`](crate::Watched) layer.

/// Sizes, and which precautions are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes of a logical page of the layer below: a whole number of sectors.
    pub page_size: u32,
    /// Bytes of a sector as the host's file systems count them: 512, 1024, 2048 or 4096.
    pub sector_size: u32,
    /// Takes FAT32 with fewer than 65,525 clusters for what it says it is. The standard calls such
    /// a volume FAT16 whatever its fields say, so this is for small test media only.
    pub small_media: bool,
    /// When a cluster that looks free is believed to be.
    pub guards: Guards,
}

impl Config {
    /// Sectors of 512 bytes, every precaution taken.
    #[must_use]
    pub const fn new(page_size: u32) -> Self {
        Self { page_size, sector_size: 512, small_media: false, guards: Guards::FULL }
    }
}

/// What must hold before a cluster that its file system's table calls free is taken for dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guards {
    /// All copies of the table must say the same. Without it only the first copy is looked at.
    pub mirror: bool,
    /// The sector of the table must have been written twice since the data: a host with one write
    /// of a buffer under way at a time took the second image when the data were there already.
    pub twice: bool,
}

impl Guards {
    /// Both: what is safe.
    pub const FULL: Self = Self { mirror: true, twice: true };
    /// Neither, as the thesis prints it (Fig. 7): loses live data when the host writes sectors in
    /// another order than it made them. For comparison only.
    pub const THESIS: Self = Self { mirror: false, twice: false };
}

impl Default for Guards {
    fn default() -> Self {
        Self::FULL
    }
}
