//! The pages accessed by a trace, in memory that does not grow with its length.

mod chunk;
mod index;
mod ranges;

pub use index::DenseIndex;

use super::pages::{covered, touched};
use crate::{Op, Request, Source, TraceError};
use chunk::{Bitmap, CHUNK_BITS, ChunkKey, WORDS};
use ranges::Ranges;
use rustc_hash::FxHashMap;

/// The accesses that make a page part of a [`DenseIndex`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Pages read or written.
    Any,
    /// Pages written.
    Written,
}

/// The pages read, written and trimmed.
///
/// Pages read and written are sparse bitmaps: two bits a page in dense parts of a trace, 180 bytes
/// for an isolated page within 512. Trims, which may cover a whole device, are ranges.
pub struct Footprint {
    page_bytes: u64,
    chunks: FxHashMap<ChunkKey, usize>,
    read: Vec<Bitmap>,
    written: Vec<Bitmap>,
    trimmed: Ranges,
    /// The last chunk accessed, because neighbours are often accessed together.
    recent: Option<(ChunkKey, usize)>,
}

impl Footprint {
    /// An empty footprint in pages of `page_bytes`.
    ///
    /// # Panics
    /// If `page_bytes` is 0.
    #[must_use]
    pub fn new(page_bytes: u64) -> Self {
        assert!(page_bytes > 0, "pages of no bytes");
        Footprint {
            page_bytes,
            chunks: FxHashMap::default(),
            read: Vec::new(),
            written: Vec::new(),
            trimmed: Ranges::default(),
            recent: None,
        }
    }

    /// The footprint of a whole source.
    ///
    /// # Errors
    /// Those of the source and of [`Self::add`].
    pub fn of(source: &mut impl Source, page_bytes: u64) -> Result<Self, TraceError> {
        let mut footprint = Footprint::new(page_bytes);
        let mut batch = Vec::new();
        loop {
            source.next_batch(&mut batch, 4096)?;
            if batch.is_empty() {
                return Ok(footprint);
            }
            for request in &batch {
                footprint.add(request)?;
            }
        }
    }

    /// Adds the pages of a request. A trim counts only pages that it covers completely, other
    /// requests count every page that they touch.
    ///
    /// # Errors
    /// [`TraceError::Request`] for requests larger than any device accepts.
    pub fn add(&mut self, request: &Request) -> Result<(), TraceError> {
        let pages = touched(request, self.page_bytes)?;
        if request.op == Op::Trim {
            self.trimmed.insert(request.volume, covered(request, self.page_bytes));
            return Ok(());
        }
        let mut page = pages.start;
        while page < pages.end {
            let chunk = page >> CHUNK_BITS;
            let first = page - (chunk << CHUNK_BITS);
            let end = (pages.end - (chunk << CHUNK_BITS)).min(1 << CHUNK_BITS);
            let slot = self.slot((request.volume, chunk));
            let set = if request.op == Op::Read { &mut self.read } else { &mut self.written };
            set_bits(&mut set[slot], first as usize, end as usize);
            page = (chunk << CHUNK_BITS) + end;
        }
        Ok(())
    }

    fn slot(&mut self, key: ChunkKey) -> usize {
        match self.recent {
            Some((recent, slot)) if recent == key => slot,
            _ => {
                let slot = *self.chunks.entry(key).or_insert_with(|| {
                    self.read.push([0; WORDS]);
                    self.written.push([0; WORDS]);
                    self.read.len() - 1
                });
                self.recent = Some((key, slot));
                slot
            }
        }
    }

    /// Bytes of a page.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Distinct pages read.
    #[must_use]
    pub fn pages_read(&self) -> u64 {
        self.read.iter().map(count).sum()
    }

    /// Distinct pages written.
    #[must_use]
    pub fn pages_written(&self) -> u64 {
        self.written.iter().map(count).sum()
    }

    /// Distinct pages read or written.
    #[must_use]
    pub fn pages_accessed(&self) -> u64 {
        let either = |(read, written): (&Bitmap, &Bitmap)| count(&union(read, written));
        self.read.iter().zip(&self.written).map(either).sum()
    }

    /// Distinct pages trimmed, whether they were accessed or not.
    #[must_use]
    pub fn pages_trimmed(&self) -> u64 {
        self.trimmed.len()
    }

    /// Numbers the pages of the chosen accesses densely, in the order of volume and address.
    #[must_use]
    pub fn freeze(self, access: Access) -> DenseIndex {
        let mut chunks: Vec<(ChunkKey, Bitmap)> = self
            .chunks
            .iter()
            .map(|(&key, &slot)| match access {
                Access::Any => (key, union(&self.read[slot], &self.written[slot])),
                Access::Written => (key, self.written[slot]),
            })
            .filter(|(_, bitmap)| count(bitmap) > 0)
            .collect();
        chunks.sort_unstable_by_key(|(key, _)| *key);
        DenseIndex::new(chunks, self.page_bytes)
    }
}

fn count(bitmap: &Bitmap) -> u64 {
    bitmap.iter().map(|word| u64::from(word.count_ones())).sum()
}

fn union(a: &Bitmap, b: &Bitmap) -> Bitmap {
    std::array::from_fn(|i| a[i] | b[i])
}

fn set_bits(bitmap: &mut Bitmap, first: usize, end: usize) {
    for (i, word) in bitmap.iter_mut().enumerate() {
        let low = first.clamp(i * 64, i * 64 + 64) - i * 64;
        let high = end.clamp(i * 64, i * 64 + 64) - i * 64;
        if low < high {
            *word |= (u64::MAX >> (64 - (high - low))) << low;
        }
    }
}
