//! Size of the index log, in pages and blocks.

use thermocline_flash::Geometry;

use super::record::{BLOCK_ENTRY, HEADER, MAP_ENTRY};

/// Pages of the log that one checkpoint takes at most.
pub(crate) fn checkpoint_pages(geometry: &Geometry, logical_pages: u32) -> u32 {
    let body = (geometry.page_size.saturating_sub(HEADER as u32)).max(8);
    let absent = logical_pages.div_ceil(8 * body);
    let table = geometry.blocks().div_ceil((body.saturating_sub(8) / BLOCK_ENTRY as u32).max(1));
    let map = logical_pages.div_ceil((body / MAP_ENTRY as u32).max(1));
    absent + table + map
}

/// Erase blocks that the index log needs: two complete checkpoints with the trims between them, one
/// more that is written whole when the layer is unmounted, and blocks that may turn bad.
#[must_use]
pub fn system_blocks_for(geometry: &Geometry, logical_pages: u32) -> u32 {
    let pages = geometry.data_pages_per_block().saturating_sub(1).max(1);
    let needed = (4 * u64::from(checkpoint_pages(geometry, logical_pages)))
        .div_ceil(u64::from(pages))
        .min(u64::from(u32::MAX / 2)) as u32
        + 4;
    needed + 1 + needed / 32
}
