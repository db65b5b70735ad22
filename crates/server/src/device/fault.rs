//! Why a request could not be done.

use std::io;

use thermocline_flash::FlashError;
use thermocline_ftl::FtlError;

/// Why a request failed, for the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The export takes no writes.
    #[error("the export is read-only")]
    ReadOnly,
    /// The chip is worn out.
    #[error(
        "the chip is worn out: it takes no more writes, but all it holds can be read; copy it to \
         another chip"
    )]
    WornOut,
    /// The image's file system has no room for the data.
    #[error(
        "the file system of the image is full: make room there, and write or flush again: what it had no room \
         for is kept, and written again then; an image that was preallocated never grows"
    )]
    FileSystemFull,
    /// Every page holds current data.
    #[error("no space: every page holds current data; trim what is not needed")]
    NoSpace,
    /// The request reaches beyond the device.
    #[error("{length} bytes at {offset} reach beyond the device, which has {size}")]
    Beyond {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
        /// Bytes of the device.
        size: u64,
    },
    /// A page could not be read, programmed or erased.
    #[error("byte {offset} (logical page {page}): {error}")]
    Chip {
        /// First byte of the page.
        offset: u64,
        /// Its number.
        page: u32,
        /// The layer's error.
        error: FtlError,
    },
    /// Earlier writes could not be made durable.
    #[error("{0}")]
    Sync(std::sync::Arc<str>),
    /// The server stops.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// A thread died while it changed the device: nothing is known to hold.
    #[error("the server hit a bug of its own and left the device alone; restart it")]
    Broken,
}

impl Fault {
    /// The fault of a layer's error on a page.
    pub(crate) fn of_layer(error: FtlError, page: u32, page_size: u32) -> Self {
        match error {
            FtlError::NoSpace => Self::NoSpace,
            FtlError::ReadOnly => Self::WornOut,
            error if is_full(&error) => Self::FileSystemFull,
            error @ (FtlError::OutOfRange(_) | FtlError::Lost(_) | FtlError::Flash(_)) => {
                Self::Chip { offset: u64::from(page) * u64::from(page_size), page, error }
            }
        }
    }

    /// The fault of a failed sync. If there was no room, the next sync can succeed.
    pub(crate) fn of_sync(error: &io::Error) -> Self {
        if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            return Self::FileSystemFull;
        }
        Self::Sync(
            format!(
                "what was written could not be made to last: {error}; no flush succeeds any more. Look at \
                 the disk below, and start the server again: it goes on with what the disk holds"
            )
            .into(),
        )
    }

    /// The fault of a failed sync by the chip.
    pub(crate) fn of_chip_sync(error: FlashError) -> Self {
        Self::of_sync(&match error {
            FlashError::Medium(number) => io::Error::from_raw_os_error(number),
            error => io::Error::other(error.to_string()),
        })
    }

    /// Whether it is a page whose bits cannot be corrected any more.
    #[must_use]
    pub const fn is_unreadable(&self) -> bool {
        matches!(
            self,
            Self::Chip {
                error: FtlError::Flash(FlashError::Unreadable(_)) | FtlError::Lost(_),
                ..
            }
        )
    }
}

/// Whether the file system below the chip, or a quota on it, is full.
pub(crate) fn is_full(error: &FtlError) -> bool {
    use rustix::io::Errno;
    let full = [Errno::NOSPC, Errno::DQUOT].map(Errno::raw_os_error);
    matches!(error, FtlError::Flash(FlashError::Medium(number)) if full.contains(number))
}
