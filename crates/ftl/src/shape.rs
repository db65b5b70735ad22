//! Conversions of page numbers. Constant after the layer is built.

use thermocline_flash::{BlockId, Geometry, Ppn};

/// The arithmetic of a chip's shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Data pages in a block.
    pages: u32,
    header: u32,
    /// Bits of a physical page number that name the page in its block.
    page_bits: u32,
    /// Numbers that these bits have and data pages do not.
    gap: u32,
}

impl Shape {
    pub(crate) fn of(geometry: &Geometry) -> Self {
        let (pages, page_bits) = (geometry.data_pages_per_block(), geometry.page_bits());
        Self { pages, header: geometry.header_pages, page_bits, gap: (1 << page_bits) - pages }
    }

    /// Data pages in a block.
    #[inline(always)]
    pub(crate) const fn pages(&self) -> u32 {
        self.pages
    }

    /// The block of a physical page.
    #[inline(always)]
    pub(crate) const fn block_of(&self, at: Ppn) -> BlockId {
        BlockId(at.0 >> self.page_bits)
    }

    /// The number of a data page in its block.
    #[inline(always)]
    pub(crate) const fn page_of(&self, at: Ppn) -> u32 {
        (at.0 & ((1 << self.page_bits) - 1)) - self.header
    }

    /// A data page of a block.
    #[inline(always)]
    pub(crate) const fn data_page(&self, block: BlockId, page: u32) -> Ppn {
        Ppn(block.0 << self.page_bits | (self.header + page))
    }

    /// The place of a block's first data page in a table of data pages.
    #[inline(always)]
    pub(crate) const fn first_slot(&self, block: BlockId) -> usize {
        block.index() * self.pages as usize
    }

    /// The index of a data page in a table of data pages.
    #[inline(always)]
    pub(crate) const fn slot_of(&self, at: Ppn) -> usize {
        (at.0 - self.header - self.block_of(at).0 * self.gap) as usize
    }
}
