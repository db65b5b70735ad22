//! Data of requests, where a trace contains them.

/// The data of some requests of a batch.
///
/// Nearly all traces record only addresses. Captures of a bus and generated file systems also
/// contain data, which the detection of dead data needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    bytes: Vec<u8>,
    /// Index of the request in its batch, ascending, and the end of its bytes. They begin at the
    /// end of the previous ones.
    ends: Vec<(usize, usize)>,
}

impl Contents {
    /// Contents without any request.
    pub const NONE: &'static Self = &Self { bytes: Vec::new(), ends: Vec::new() };

    /// Removes everything.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds the bytes of a request, in batch order. Their number equals the length of the request.
    pub fn push(&mut self, request: usize, bytes: &[u8]) {
        debug_assert!(self.ends.last().is_none_or(|last| last.0 < request), "in order");
        self.bytes.extend_from_slice(bytes);
        self.ends.push((request, self.bytes.len()));
    }

    /// The bytes of a request of the batch, where they are known.
    #[must_use]
    pub fn of(&self, request: usize) -> Option<&[u8]> {
        let at = self.ends.binary_search_by_key(&request, |(request, _)| *request).ok()?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        Some(&self.bytes[start..self.ends[at].1])
    }

    /// Total number of known bytes.
    pub(crate) fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether none are known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_find_their_own_bytes() {
        let mut contents = Contents::default();
        contents.push(1, b"one");
        contents.push(4, b"four");
        assert_eq!(contents.of(1), Some(&b"one"[..]));
        assert_eq!(contents.of(4), Some(&b"four"[..]));
        assert_eq!((contents.of(0), contents.of(2), contents.of(5)), (None, None, None));
        contents.clear();
        assert_eq!((contents.of(1), contents.is_empty()), (None, true));
    }
}
