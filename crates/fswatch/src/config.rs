//! The settings of a [`Watched`](crate::Watched) layer.

/// Sizes and guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes of a logical page of the layer below; a multiple of the sector size.
    pub page_size: u32,
    /// Bytes of a sector as the host's file systems count them: 512, 1024, 2048 or 4096.
    pub sector_size: u32,
    /// Accepts FAT32 with fewer than 65,525 clusters. The standard calls such a volume FAT16
    /// whatever its fields say, so this is for small test media only.
    pub small_media: bool,
    /// The conditions for a free cluster to count as dead.
    pub guards: Guards,
}

impl Config {
    /// Sectors of 512 bytes, with all guards.
    #[must_use]
    pub const fn new(page_size: u32) -> Self {
        Self { page_size, sector_size: 512, small_media: false, guards: Guards::FULL }
    }
}

/// The conditions under which a cluster that the file system's table calls free counts as dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guards {
    /// All copies of the table must agree. Otherwise only the first copy is read. Bitmaps of a file system with a journal
    /// count once the journal's tail has moved, or NTFS' log says that no recovery needs the past.
    pub mirror: bool,
    /// The sector of the table must have been written twice since the data. A host has at most one
    /// write of a buffer in flight, so the second write was issued after the data were written.
    pub twice: bool,
}

impl Guards {
    /// Both guards: the safe setting.
    pub const FULL: Self = Self { mirror: true, twice: true };
    /// No guards, as the thesis prints it (Fig. 7). Loses live data when the host writes sectors in
    /// another order than it changed them. For comparison only.
    pub const THESIS: Self = Self { mirror: false, twice: false };
}

impl Default for Guards {
    fn default() -> Self {
        Self::FULL
    }
}
