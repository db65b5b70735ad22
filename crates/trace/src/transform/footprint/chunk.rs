//! Chunks of pages, the granularity of a footprint.

/// Pages of a chunk: 512, so that its bitmap is one cache line.
pub(super) const CHUNK_BITS: u32 = 9;
/// Words of its bitmap.
pub(super) const WORDS: usize = 1 << (CHUNK_BITS - 6);
/// A bit for each of its pages.
pub(super) type Bitmap = [u64; WORDS];

/// Volume, and page number divided by the pages of a chunk.
pub(super) type ChunkKey = (u32, u64);
