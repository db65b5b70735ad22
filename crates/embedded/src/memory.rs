//! The caller's memory: all that the layer needs beside its own few hundred bytes.

#[cfg(feature = "alloc")]
use crate::Geometry;
use crate::{Slots, blocks::Block, cache::Change};

/// Bytes at the end of each page of the map that say what it is.
pub(crate) const MAP_HEADER: u32 = 16;
/// Bytes of a logical page in the map.
pub(crate) const MAP_ENTRY: u32 = 3;

/// Logical pages that a page of the map has room for.
#[must_use]
pub const fn entries_of_map_page(page_size: u32) -> u32 {
    // No page has room for none; nothing is divided by 0 until that is said.
    1 + page_size.saturating_sub(MAP_HEADER + MAP_ENTRY) / MAP_ENTRY
}

/// Pages that the map of so many logical pages takes on the chip: the length of [`Memory::directory`].
#[must_use]
pub const fn map_pages(page_size: u32, logical_pages: u32) -> u32 {
    logical_pages.div_ceil(entries_of_map_page(page_size))
}

/// Bytes of RAM that a store takes, beside the [`Ftl`](crate::Ftl) itself: blocks of the chip, bytes of a
/// page, logical pages, and changes of the map that are kept in RAM.
#[must_use]
pub const fn ram(blocks: u32, page_size: u32, logical_pages: u32, changes: u32) -> usize {
    blocks as usize * size_of::<Block>()
        + map_pages(page_size, logical_pages) as usize * size_of::<u32>()
        + changes as usize * size_of::<Change>()
        + page_size as usize
}

/// The memory that a layer works in, each part as long as it must be or longer.
#[derive(Debug)]
pub struct Memory<'a> {
    /// One of each block of the chip.
    pub blocks: Slots<'a, Block>,
    /// One of each page of the map ([`map_pages`]).
    pub directory: Slots<'a, u32>,
    /// Changes of the map that wait to be written: the more, the fewer pages of the map are written.
    pub changes: Slots<'a, Change>,
    /// A page.
    pub page: Slots<'a, u8>,
}

#[cfg(feature = "alloc")]
impl Memory<'static> {
    /// From an allocator, as much as [`ram`] says: all that a store on such a chip ever takes.
    #[must_use]
    pub fn allocate(shape: &Geometry, logical_pages: u32, changes: u32) -> Self {
        let directory = map_pages(shape.page_size, logical_pages) as usize;
        Self {
            blocks: Slots::Owned(alloc::vec![Block::UNKNOWN; shape.blocks as usize].into()),
            directory: Slots::Owned(alloc::vec![0; directory].into()),
            changes: Slots::Owned(alloc::vec![Change::EMPTY; changes as usize].into()),
            page: Slots::Owned(alloc::vec![0; shape.page_size as usize].into()),
        }
    }
}

/// The same as one value, for a `static`.
#[derive(Debug)]
pub struct Static<
    const BLOCKS: usize,
    const DIRECTORY: usize,
    const CHANGES: usize,
    const PAGE: usize,
> {
    blocks: [Block; BLOCKS],
    directory: [u32; DIRECTORY],
    changes: [Change; CHANGES],
    page: [u8; PAGE],
}

impl<const BLOCKS: usize, const DIRECTORY: usize, const CHANGES: usize, const PAGE: usize> Default
    for Static<BLOCKS, DIRECTORY, CHANGES, PAGE>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<const BLOCKS: usize, const DIRECTORY: usize, const CHANGES: usize, const PAGE: usize>
    Static<BLOCKS, DIRECTORY, CHANGES, PAGE>
{
    /// All of it unused. All bytes are zero, so a `static` of it takes no room in the program's image.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            blocks: [Block::UNKNOWN; BLOCKS],
            directory: [0; DIRECTORY],
            changes: [Change::EMPTY; CHANGES],
            page: [0; PAGE],
        }
    }

    /// Its parts.
    pub fn memory(&mut self) -> Memory<'_> {
        Memory {
            blocks: (&mut self.blocks).into(),
            directory: (&mut self.directory).into(),
            changes: (&mut self.changes).into(),
            page: (&mut self.page).into(),
        }
    }
}
