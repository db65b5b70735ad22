//! Why a layer could not do something, or takes no more writes.

use core::fmt;

use thermocline_flash::{FlashError, Lpn};

/// Why a layer takes no more writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOfLife {
    /// Too few blocks are left for the data.
    Blocks,
    /// The index log has no block left: neither trims nor checkpoints can be written.
    IndexLog,
}

impl fmt::Display for EndOfLife {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocks => "too few blocks are left that can be written",
            Self::IndexLog => "the blocks of the index log are used up",
        })
    }
}

/// Why a layer failed an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FtlError {
    /// Every page holds current data: nothing can be cleaned.
    NoSpace,
    /// The logical page lies beyond the device.
    OutOfRange(Lpn),
    /// The chip refused: the medium failed, or the layer broke one of its rules, which is a bug.
    Flash(FlashError),
    /// The data of the logical page are nowhere to be found, and nothing else may be taken for them.
    Lost(Lpn),
    /// Too many blocks are bad for another write.
    ReadOnly,
}

impl fmt::Display for FtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSpace => f.write_str("no space: every page holds current data"),
            Self::OutOfRange(lpn) => write!(f, "logical page {lpn} lies beyond the device"),
            Self::Flash(
                e @ (FlashError::NoPower
                | FlashError::Medium(_)
                | FlashError::Unreadable(_)
                | FlashError::ProgramFailed(_)
                | FlashError::EraseFailed(_)),
            ) => write!(f, "{e}"),
            Self::Flash(e) => write!(f, "the layer broke a rule of the chip: {e}"),
            Self::Lost(lpn) => {
                write!(f, "the data of logical page {lpn} are lost; write or trim it")
            }
            Self::ReadOnly => f.write_str("the chip is worn out: it takes no more writes"),
        }
    }
}

impl core::error::Error for FtlError {}

impl From<FlashError> for FtlError {
    fn from(e: FlashError) -> Self {
        Self::Flash(e)
    }
}
