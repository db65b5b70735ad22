//! What a store is asked to be, and how much of it a chip has room for.

use crate::{Geometry, map_pages};

/// How a store is made.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Logical pages. What the chip has beyond them makes cleaning cheap: 7 % is little, 15 % is good.
    pub logical_pages: u32,
    /// Blocks that may go bad before the store is read-only.
    pub spare_blocks: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { logical_pages: 0, spare_blocks: 2 }
    }
}

/// The most logical pages that can be stored on a chip of which so many blocks are bad, or may become so, by a
/// placement of so many streams. With all of them cleaning is dear.
#[must_use]
pub const fn most_logical_pages(shape: &Geometry, bad_blocks: u32, streams: u8) -> u32 {
    // Free blocks, an open one of each stream and of the map, and one that is all garbage.
    let all = shape.blocks.saturating_mul(shape.pages);
    let enough = enough(map_pages(shape.page_size, all), shape.pages);
    let taken = (enough + streams as u32 + 2).saturating_add(bad_blocks);
    let pages = shape.blocks.saturating_sub(taken) * shape.pages;
    let map = map_pages(shape.page_size, pages);
    let most = pages.saturating_sub(map + map / 4);
    // Greater numbers stand for other things than pages.
    if most < 0xff_0000 { most } else { 0xff_0000 }
}

/// Free blocks over which the work of cleaning is spread.
pub(crate) const SPREAD: u32 = 3;

/// Free blocks: one for the host's page, one for survivors, as many as all pages of the map take and one more for
/// what cleaning changes in it, and those that spread the work.
pub(crate) const fn enough(map_pages: u32, pages: u32) -> u32 {
    3 + map_pages.div_ceil(if pages == 0 { 1 } else { pages }) + SPREAD
}
