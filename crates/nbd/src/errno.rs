//! Errors that a reply can carry.

/// An error number of the protocol. No other may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[repr(u32)]
pub enum Errno {
    /// `NBD_EPERM`: the export is read-only.
    #[error("not permitted")]
    Permission = 1,
    /// `NBD_EIO`: the medium failed.
    #[error("input/output error")]
    Io = 5,
    /// `NBD_ENOMEM`: out of memory. To be avoided.
    #[error("out of memory")]
    NoMemory = 12,
    /// `NBD_EINVAL`: the request is invalid.
    #[error("invalid argument")]
    Invalid = 22,
    /// `NBD_ENOSPC`: beyond the end, or the medium is full.
    #[error("no space left")]
    NoSpace = 28,
    /// `NBD_EOVERFLOW`: too large to be served at once.
    #[error("value too large")]
    Overflow = 75,
    /// `NBD_ENOTSUP`: zeroing would be no faster than a write.
    #[error("not supported")]
    Unsupported = 95,
    /// `NBD_ESHUTDOWN`: the server is stopping.
    #[error("the server is stopping")]
    Shutdown = 108,
}

impl Errno {
    /// The number on the wire.
    #[must_use]
    #[inline]
    pub fn number(self) -> u32 {
        self as u32
    }
}
