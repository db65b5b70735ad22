//! What a drive may have in front of its flash.

/// A buffer in RAM for pages that the host wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct WriteBuffer {
    /// Which page leaves first.
    pub order: BufferOrder,
    /// Its size.
    pub bytes: u64,
}

/// Which page leaves a full buffer first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum BufferOrder {
    /// The page whose last write is oldest.
    Lru,
    /// The page that came first.
    Fifo,
}

impl BufferOrder {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::Fifo => "fifo",
        }
    }
}

/// Blocks that take what the host writes first, one bit a cell: programmed faster, and holding less.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct SlcCache {
    /// Where its blocks come from.
    pub size: CacheSize,
    /// Its blocks, or the most that it borrows, as a share of all.
    pub share: f64,
    /// Bits that a cell holds outside the cache: a cached block has so many times fewer pages, and programs them in so
    /// many times less.
    pub bits: u32,
}

/// Where the blocks of an SLC cache come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum CacheSize {
    /// They are its own.
    Fixed,
    /// It borrows free blocks, and gives them back when the log needs them.
    Dynamic,
}

impl CacheSize {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Dynamic => "dynamic",
        }
    }
}
