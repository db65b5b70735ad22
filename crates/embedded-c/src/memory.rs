//! The caller's bytes as the memory of a layer.

use core::mem::{align_of, size_of};

use thermocline_embedded::{Block, Change, Geometry, Memory, map_pages};

/// Pages of the map if all pages of the chip were logical ones: how many are is known only after the mount.
const fn most_map_pages(shape: &Geometry) -> u32 {
    map_pages(shape.page_size, shape.blocks.saturating_mul(shape.pages))
}

/// Bytes for all but changes of the map, those that align the parts included.
pub(crate) const fn fixed(shape: &Geometry) -> usize {
    align_of::<u32>()
        + most_map_pages(shape) as usize * size_of::<u32>()
        + shape.blocks as usize * size_of::<Block>()
        + shape.page_size as usize
}

/// Cuts `bytes` bytes into the parts of a layer's memory. What is left when all others have theirs is for changes.
/// Nothing if it does not suffice.
///
/// # Safety
/// The bytes are nobody else's as long as the memory is used.
pub(crate) unsafe fn cut(
    memory: *mut u8,
    bytes: usize,
    shape: &Geometry,
) -> Option<Memory<'static>> {
    let changes = bytes.checked_sub(fixed(shape))? / size_of::<Change>();
    if memory.is_null() || changes == 0 {
        return None;
    }
    let (directory, blocks) = (most_map_pages(shape) as usize, shape.blocks as usize);
    // SAFETY: the parts follow each other in the caller's bytes, those with words first, and fit by `fixed`. Each is
    // written before it is read as what it is.
    unsafe {
        let words = memory.add(memory.align_offset(align_of::<u32>())).cast::<u32>();
        for i in 0..directory {
            words.add(i).write(0);
        }
        let halves = words.add(directory).cast::<Block>();
        for i in 0..blocks {
            halves.add(i).write(Block::UNKNOWN);
        }
        let triples = halves.add(blocks).cast::<Change>();
        for i in 0..changes {
            triples.add(i).write(Change::EMPTY);
        }
        let page = triples.add(changes).cast::<u8>();
        page.write_bytes(0, shape.page_size as usize);
        Some(Memory {
            directory: core::slice::from_raw_parts_mut(words, directory).into(),
            blocks: core::slice::from_raw_parts_mut(halves, blocks).into(),
            changes: core::slice::from_raw_parts_mut(triples, changes).into(),
            page: core::slice::from_raw_parts_mut(page, shape.page_size as usize).into(),
        })
    }
}
