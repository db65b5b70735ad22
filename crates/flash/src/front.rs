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
