//! The summary: how a chip was formatted.

use alloc::vec::Vec;

use thermocline_flash::Geometry;

use super::bytes::Bytes;

/// The format version: the only one that is written or read.
pub const VERSION: u16 = 2;

/// The page-mapped layer, in [`Summary::layer`].
pub const PAGE_MAPPED: u8 = 1;
/// Block mapping with replacement blocks, there.
pub const NFTL: u8 = 2;
/// Updates in place, there.
pub const IN_PLACE: u8 = 3;
/// The map on the chip, page by page, there.
pub const DEMAND_PAGED: u8 = 4;

/// The stream byte of a map page of the demand-paged layer.
pub const MAP_STREAM: u8 = 0x80;

/// The stream byte of a page of the log of this kind of layer. It identifies the layer when no summary
/// can be read.
pub(crate) const fn stream_of(layer: u8) -> u8 {
    u8::MAX - (layer - PAGE_MAPPED)
}

/// The displayed name of a kind of layer.
pub(crate) fn layer_name(kind: u8) -> &'static str {
    match kind {
        PAGE_MAPPED => "the page-mapped layer",
        NFTL => "NFTL",
        IN_PLACE => "updates in place",
        DEMAND_PAGED => "the demand-paged layer",
        _ => "a layer that this program does not know",
    }
}

/// Bytes that a page of the index log needs at least.
pub const LEAST_PAGE: u32 = 256;

/// How a chip was formatted. Every block of the index log begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Version of the format.
    pub version: u16,
    /// Kind of layer: [`PAGE_MAPPED`], [`NFTL`], [`IN_PLACE`] or [`DEMAND_PAGED`].
    pub layer: u8,
    /// Bytes in a page.
    pub page_size: u32,
    /// Pages in an erase block, header pages included.
    pub pages_per_block: u32,
    /// Header pages at the start of each block.
    pub header_pages: u32,
    /// Erase blocks in all banks.
    pub blocks: u32,
    /// Banks.
    pub banks: u32,
    /// Blocks of the index log: the last ones.
    pub system_blocks: u32,
    /// Logical pages.
    pub logical_pages: u32,
    /// When it was formatted, by the clock of whoever did.
    pub created: u64,
    /// A number that no other chip has.
    pub id: [u8; 16],
}

impl Summary {
    /// The summary of a chip of that shape.
    #[must_use]
    pub(crate) fn of(
        geometry: &Geometry,
        layer: u8,
        logical_pages: u32,
        created: u64,
        id: [u8; 16],
    ) -> Self {
        Self {
            version: VERSION,
            layer,
            page_size: geometry.page_size,
            pages_per_block: geometry.pages_per_block,
            header_pages: geometry.header_pages,
            blocks: geometry.blocks(),
            banks: geometry.banks,
            system_blocks: geometry.system_blocks,
            logical_pages,
            created,
            id,
        }
    }

    /// The first figure in which a chip differs from the formatted one: name, formatted value, value
    /// of the chip.
    #[must_use]
    pub fn difference(&self, geometry: &Geometry) -> Option<(&'static str, u32, u32)> {
        [
            ("page_size", self.page_size, geometry.page_size),
            ("pages_per_block", self.pages_per_block, geometry.pages_per_block),
            ("header_pages", self.header_pages, geometry.header_pages),
            ("blocks", self.blocks, geometry.blocks()),
            ("banks", self.banks, geometry.banks),
            ("system_blocks", self.system_blocks, geometry.system_blocks),
        ]
        .into_iter()
        .find(|(_, formatted, chip)| formatted != chip)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.version.to_le_bytes());
        out.extend([self.layer, 0]);
        for figure in [
            self.page_size,
            self.pages_per_block,
            self.header_pages,
            self.blocks,
            self.banks,
            self.system_blocks,
            self.logical_pages,
            0,
        ] {
            out.extend(figure.to_le_bytes());
        }
        out.extend(self.created.to_le_bytes());
        out.extend(self.id);
    }

    pub(super) fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        let version = bytes.u16()?;
        let layer = bytes.u8()?;
        bytes.u8()?;
        let summary = Self {
            version,
            layer,
            page_size: bytes.u32()?,
            pages_per_block: bytes.u32()?,
            header_pages: bytes.u32()?,
            blocks: bytes.u32()?,
            banks: bytes.u32()?,
            system_blocks: bytes.u32()?,
            logical_pages: bytes.u32()?,
            created: {
                bytes.u32()?;
                bytes.u64()?
            },
            id: bytes.array()?,
        };
        Some(summary)
    }
}
