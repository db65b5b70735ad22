//! Written contents known from the trace: bytes beside the extents of a batch.

/// The bytes of some extents of a batch.
#[derive(Debug, Default)]
pub(crate) struct Known {
    bytes: Vec<u8>,
    /// In batch order.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    /// Index of the extent in its batch.
    extent: usize,
    /// Offset of the first known byte in the first page.
    skip: usize,
    /// End of its bytes; they begin at the end of the previous part's.
    end: usize,
}

impl Known {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
    }

    /// Allocates the bytes of an extent. Called in batch order.
    pub(crate) fn add(&mut self, extent: usize, skip: usize, len: usize) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.resize(start + len, 0);
        self.parts.push(Part { extent, skip, end: start + len });
        &mut self.bytes[start..]
    }

    /// The bytes of an extent, and their offset in its first page.
    pub(crate) fn of(&self, extent: usize) -> Option<(usize, &[u8])> {
        let at = self.parts.binary_search_by_key(&extent, |part| part.extent).ok()?;
        let start = at.checked_sub(1).map_or(0, |before| self.parts[before].end);
        let part = &self.parts[at];
        Some((part.skip, &self.bytes[start..part.end]))
    }
}
