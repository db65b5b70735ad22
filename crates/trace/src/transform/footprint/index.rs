//! A frozen footprint: maps pages to dense numbers and back.

use super::chunk::{Bitmap, CHUNK_BITS, ChunkKey, WORDS};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Numbers the pages of a footprint densely, in the order of volume and address.
///
/// Neighbouring pages in the footprint have neighbouring numbers. A lookup takes one hash table
/// access and at most eight population counts.
pub struct DenseIndex {
    page_bytes: u64,
    by_key: FxHashMap<ChunkKey, usize>,
    /// Sorted by key.
    chunks: Vec<Chunk>,
    len: u64,
}

struct Chunk {
    key: ChunkKey,
    bitmap: Bitmap,
    /// Number of pages in all chunks before this one.
    rank: u64,
}

impl Chunk {
    /// Number of pages of this chunk below `page`, which is counted within the chunk.
    fn below(&self, page: usize) -> u64 {
        let full: u32 = self.bitmap[..page / 64].iter().map(|word| word.count_ones()).sum();
        let part = match page % 64 {
            0 => 0,
            bits => (self.bitmap[page / 64] & ((1 << bits) - 1)).count_ones(),
        };
        u64::from(full + part)
    }
}

impl DenseIndex {
    /// `chunks` are sorted by key.
    pub(super) fn new(chunks: Vec<(ChunkKey, Bitmap)>, page_bytes: u64) -> Self {
        let mut len = 0;
        let chunks: Vec<Chunk> = chunks
            .into_iter()
            .map(|(key, bitmap)| {
                let rank = len;
                len += super::count(&bitmap);
                Chunk { key, bitmap, rank }
            })
            .collect();
        let by_key = chunks.iter().enumerate().map(|(i, chunk)| (chunk.key, i)).collect();
        DenseIndex { page_bytes, by_key, chunks, len }
    }

    /// Number of pages in the footprint.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the footprint has no pages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of a page.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// The number of a page, if it is in the footprint.
    #[inline]
    #[must_use]
    pub fn rank(&self, volume: u32, page: u64) -> Option<u64> {
        let chunk = &self.chunks[*self.by_key.get(&(volume, page >> CHUNK_BITS))?];
        let within = (page & ((1 << CHUNK_BITS) - 1)) as usize;
        let member = chunk.bitmap[within / 64] >> (within % 64) & 1 == 1;
        member.then(|| chunk.rank + chunk.below(within))
    }

    /// The numbers of the footprint's pages within a range of pages; they are always contiguous.
    ///
    /// For a request completely within the footprint this is as long as the request. For a trim of
    /// a whole volume it is that volume's part.
    #[must_use]
    pub fn ranks(&self, volume: u32, pages: Range<u64>) -> Range<u64> {
        let start = self.rank_ceil(volume, pages.start);
        start..self.rank_ceil(volume, pages.end.max(pages.start)).max(start)
    }

    /// Number of pages of the footprint before this one.
    fn rank_ceil(&self, volume: u32, page: u64) -> u64 {
        let key = (volume, page >> CHUNK_BITS);
        if let Some(&i) = self.by_key.get(&key) {
            let within = (page & ((1 << CHUNK_BITS) - 1)) as usize;
            return self.chunks[i].rank + self.chunks[i].below(within);
        }
        let i = self.chunks.partition_point(|chunk| chunk.key < key);
        self.chunks.get(i).map_or(self.len, |chunk| chunk.rank)
    }

    /// Volume and page of a number below [`Self::len`]: the inverse of [`Self::rank`].
    #[must_use]
    pub fn page(&self, rank: u64) -> Option<(u32, u64)> {
        if rank >= self.len {
            return None;
        }
        let chunk = &self.chunks[self.chunks.partition_point(|chunk| chunk.rank <= rank) - 1];
        let mut left = (rank - chunk.rank) as u32;
        for i in 0..WORDS {
            let mut word = chunk.bitmap[i];
            if left >= word.count_ones() {
                left -= word.count_ones();
                continue;
            }
            for _ in 0..left {
                word &= word - 1;
            }
            let within = i as u64 * 64 + u64::from(word.trailing_zeros());
            return Some((chunk.key.0, (chunk.key.1 << CHUNK_BITS) + within));
        }
        None
    }
}
