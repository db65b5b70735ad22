//! The shape of a chip, and the rules of its kind of medium.

use crate::{BlockId, Ppn};

/// The kind of medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Kind {
    /// Byte-programmable; pages of a block in any order; bits can be cleared later.
    Nor,
    /// Page-programmable, with an out-of-band area; usually in ascending order only.
    Nand,
}

/// The rules of the medium beyond erase before program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Rules {
    /// Pages of a block must be programmed in ascending order.
    pub in_order: bool,
    /// Rated P/E cycles of a block.
    pub endurance: u32,
    /// Maximum number of factory-bad blocks by the data sheet, for information.
    #[cfg_attr(feature = "serde", serde(default))]
    pub initial_bad_blocks: u32,
}

/// The shape of a chip (or of several, seen as banks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Geometry {
    /// Banks (dies) that can be busy at the same time.
    pub banks: u32,
    /// Channels to the banks: bank k is on channel k modulo channels.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub channels: u32,
    /// Erase blocks in each bank.
    pub blocks_per_bank: u32,
    /// Pages in an erase block, header pages included.
    pub pages_per_block: u32,
    /// Bytes in a page: the unit of mapping and copying.
    pub page_size: u32,
    /// Bytes of out-of-band area beside each page.
    #[cfg_attr(feature = "serde", serde(default))]
    pub oob_size: u32,
    /// Pages at the start of each block that hold the block's own header and no data.
    #[cfg_attr(feature = "serde", serde(default))]
    pub header_pages: u32,
    /// Blocks (the last ones) that hold the layer's own records and no data.
    #[cfg_attr(feature = "serde", serde(default))]
    pub system_blocks: u32,
}

#[cfg(feature = "serde")]
const fn one() -> u32 {
    1
}

/// A geometry that is impossible or needs more than 32-bit page numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryError {
    /// A field is 0 and must be at least 1; its name.
    Zero(&'static str),
    /// Header pages leave no page for data.
    NoDataPages,
    /// System blocks leave no block for data.
    NoDataBlocks,
    /// More pages than 32-bit physical page numbers.
    TooManyPages,
}

impl core::fmt::Display for GeometryError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Zero(field) => write!(f, "{field} is 0; it must be at least 1"),
            Self::NoDataPages => {
                f.write_str("header_pages leaves no page for data; make pages_per_block larger")
            }
            Self::NoDataBlocks => {
                f.write_str("system_blocks leaves no block for data; give the device more blocks")
            }
            Self::TooManyPages => {
                f.write_str("more than 2^32 physical pages; take larger pages or a smaller device")
            }
        }
    }
}

impl core::error::Error for GeometryError {}

impl Geometry {
    /// Checks that the geometry is possible and that 32 bits can number its pages.
    ///
    /// # Errors
    /// [`GeometryError`], naming the field.
    pub fn check(&self) -> Result<(), GeometryError> {
        for (value, name) in [
            (self.banks, "banks"),
            (self.channels, "channels"),
            (self.blocks_per_bank, "blocks_per_bank"),
            (self.pages_per_block, "pages_per_block"),
            (self.page_size, "page_size"),
        ] {
            if value == 0 {
                return Err(GeometryError::Zero(name));
            }
        }
        if self.header_pages >= self.pages_per_block {
            return Err(GeometryError::NoDataPages);
        }
        let blocks = u64::from(self.banks) * u64::from(self.blocks_per_bank);
        if u64::from(self.system_blocks) >= blocks {
            return Err(GeometryError::NoDataBlocks);
        }
        // The last number is reserved for "none".
        if self.pages_per_block > 1 << 31
            || blocks >= 1 << 32
            || (blocks << self.page_bits()) >= 1 << 32
        {
            return Err(GeometryError::TooManyPages);
        }
        Ok(())
    }

    /// Erase blocks in all banks.
    #[must_use]
    pub const fn blocks(&self) -> u32 {
        self.banks * self.blocks_per_bank
    }

    /// Erase blocks that may hold data.
    #[must_use]
    pub const fn data_blocks(&self) -> u32 {
        self.blocks() - self.system_blocks
    }

    /// Pages of a block that may hold data.
    #[must_use]
    pub const fn data_pages_per_block(&self) -> u32 {
        self.pages_per_block - self.header_pages
    }

    /// Bytes of an erase block.
    #[must_use]
    pub const fn block_size(&self) -> u64 {
        self.pages_per_block as u64 * self.page_size as u64
    }

    /// Bytes of the whole chip, without out-of-band areas.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        self.blocks() as u64 * self.block_size()
    }

    /// The bank of a block. A bank has consecutive blocks.
    #[must_use]
    pub const fn bank_of(&self, block: BlockId) -> u32 {
        block.0 / self.blocks_per_bank
    }

    /// Bits of a physical page number that hold the page within its block.
    #[must_use]
    pub const fn page_bits(&self) -> u32 {
        u32::BITS - (self.pages_per_block - 1).leading_zeros()
    }

    /// The physical page number of page `page` (header pages counted) of `block`.
    #[inline(always)]
    #[must_use]
    pub const fn ppn(&self, block: BlockId, page: u32) -> Ppn {
        Ppn(block.0 << self.page_bits() | page)
    }

    /// The block of a physical page.
    #[inline(always)]
    #[must_use]
    pub const fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(ppn.0 >> self.page_bits())
    }

    /// The page within its block of a physical page, header pages counted.
    #[inline(always)]
    #[must_use]
    pub const fn page_of(&self, ppn: Ppn) -> u32 {
        ppn.0 & ((1 << self.page_bits()) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: Geometry = Geometry {
        banks: 1,
        channels: 1,
        blocks_per_bank: 192,
        pages_per_block: 32,
        page_size: 4096,
        oob_size: 0,
        header_pages: 1,
        system_blocks: 1,
    };

    #[test]
    fn the_papers_card() {
        assert_eq!(CARD.check(), Ok(()));
        assert_eq!((CARD.data_blocks(), CARD.data_pages_per_block()), (191, 31));
        assert_eq!(CARD.capacity(), 24 << 20);
    }

    #[test]
    fn numbers_pack_and_unpack_for_any_block_length() {
        for pages_per_block in [1, 2, 31, 32, 33, 127, 768] {
            let g = Geometry { pages_per_block, header_pages: 0, ..CARD };
            for (b, p) in [(0, 0), (5, pages_per_block - 1), (191, pages_per_block / 2)] {
                let ppn = g.ppn(BlockId(b), p);
                assert_eq!((g.block_of(ppn), g.page_of(ppn)), (BlockId(b), p));
            }
        }
    }

    #[test]
    fn impossible_geometries_are_named() {
        let zero = Geometry { page_size: 0, ..CARD };
        assert_eq!(zero.check(), Err(GeometryError::Zero("page_size")));
        assert_eq!(Geometry { header_pages: 32, ..CARD }.check(), Err(GeometryError::NoDataPages));
        assert_eq!(
            Geometry { system_blocks: 192, ..CARD }.check(),
            Err(GeometryError::NoDataBlocks)
        );
        assert_eq!(
            Geometry { blocks_per_bank: 1 << 27, ..CARD }.check(),
            Err(GeometryError::TooManyPages)
        );
    }
}
