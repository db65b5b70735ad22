//! Why a chip could not be formatted or mounted.

use core::fmt;

use thermocline_flash::{FlashError, Geometry};

use crate::{
    FtlError,
    journal::index::{
        find::Traces,
        summary::{VERSION, layer_name},
    },
};

/// Why a chip could not be formatted or mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// There is no summary, and nothing that a layer wrote.
    NotFormatted,
    /// There is no summary, but there are pages of a layer: all heads of the index log are damaged.
    Headless(Traces),
    /// The format is of another version.
    Version(u16),
    /// Another kind of layer formatted it.
    Layer(u8),
    /// The chip has another shape: what differs, as formatted and as it is.
    Shape(&'static str, u32, u32),
    /// The device has another number of logical pages.
    LogicalPages {
        /// As formatted.
        formatted: u32,
        /// As asked for.
        asked: u32,
    },
    /// The chip has too few blocks for the index log.
    SystemBlocks {
        /// Blocks needed.
        needed: u32,
        /// Blocks there are.
        there: u32,
    },
    /// Pages or blocks are too small for the index log.
    TooSmall,
    /// The logical pages, the reserve and an open block for each stream of the policies do not fit.
    NoSpace {
        /// Logical pages.
        logical_pages: u32,
        /// Data pages of the chip.
        data_pages: u64,
    },
    /// Flushed pages are missing or unreadable, and their logical pages are unknown.
    Missing {
        /// Pages of data.
        pages: u64,
        /// Pages of the index log.
        log_pages: u64,
    },
    /// The layer failed.
    Layered(FtlError),
}

impl MountError {
    pub(crate) fn no_space(geometry: &Geometry, logical_pages: u32) -> Self {
        let pages = u64::from(geometry.data_pages_per_block());
        Self::NoSpace { logical_pages, data_pages: u64::from(geometry.data_blocks()) * pages }
    }
}

impl From<FlashError> for MountError {
    fn from(e: FlashError) -> Self {
        Self::Layered(e.into())
    }
}

impl From<FtlError> for MountError {
    fn from(e: FtlError) -> Self {
        Self::Layered(e)
    }
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFormatted => f.write_str("the chip is not formatted; format it first"),
            Self::Headless(traces) => write!(
                f,
                "no head of the index log can be read, but the chip holds {} pages of data and {} of \
                 the log; do not format it: salvage it from its pages",
                traces.data_pages, traces.log_pages
            ),
            Self::Version(found) => write!(
                f,
                "the chip has format version {found}, and this program knows {VERSION}; take the \
                 program that formatted it, or format it anew"
            ),
            Self::Layer(kind) => write!(
                f,
                "the chip was formatted for {}; take a policy of that layer, or format it anew",
                layer_name(*kind)
            ),
            Self::Shape(what, formatted, chip) => write!(
                f,
                "the chip was formatted with {what} = {formatted}, but has {chip}; open it with the \
                 shape it was formatted with"
            ),
            Self::LogicalPages { formatted, asked } => write!(
                f,
                "the chip is formatted for {formatted} logical pages, not {asked}; mount it with \
                 {formatted}"
            ),
            Self::SystemBlocks { needed, there } => write!(
                f,
                "the index log needs {needed} system blocks and the chip has {there}; give it more"
            ),
            Self::TooSmall => f.write_str(
                "the index log needs pages of at least 256 bytes and blocks of at least 2; take a \
                 chip with larger ones",
            ),
            Self::NoSpace { logical_pages, data_pages } => write!(
                f,
                "{logical_pages} logical pages, the reserve and an open block for each stream do not \
                 fit on {data_pages} data pages; take fewer logical pages or a policy with fewer streams"
            ),
            Self::Missing { pages, log_pages } => write!(
                f,
                "{pages} pages of data and {log_pages} of the index log that were flushed are not there or \
                 cannot be read, so older data might pass for newer; copy the chip, then repair it, \
                 which takes the newest data that are left"
            ),
            Self::Layered(e) => write!(f, "{e}"),
        }
    }
}

impl core::error::Error for MountError {}
