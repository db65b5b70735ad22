//! The last bytes of each page of the map: what the store is, and a checksum of the page.
//!
//! ```text
//!  0      "T"
//!  1      128 and the version: 4 where the first blocks are kept for snapshots
//!  2..5   logical pages
//!  5..7   spare blocks; 2¹⁵ more where a logical page of it was trimmed or lost at any time
//!  7..12  horizon
//! 12..16  checksum of all before, and of the chip's shape
//! ```
//!
//! A chip may take a page for another one and say that it is well. What such a page of the map would lead to is older data: a
//! page without its checksum is one that cannot be read.

use crate::{Error, Geometry, memory::MAP_HEADER};

/// What a page of the map says beside its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) logical_pages: u32,
    pub(crate) spare_blocks: u32,
    /// All changes of the map up to this program were on the chip.
    pub(crate) horizon: u64,
    /// The first blocks are kept for snapshots.
    pub(crate) has_snapshots: bool,
    /// A logical page of it was trimmed or lost at any time.
    pub(crate) knows_of_trims: bool,
}

const MAGIC: u8 = b'T';
const VERSION: u8 = 0x80 | 2;
const WITH_SNAPSHOTS: u8 = 0x80 | 4;
const CHECK: usize = 4;
const TRIMS: u16 = 1 << 15;

impl Header {
    /// Ends a page with it, and with the checksum.
    pub(crate) fn seal(&self, page: &mut [u8], shape: &Geometry) {
        let Some((_, bytes)) = page.split_last_chunk_mut::<{ MAP_HEADER as usize }>() else {
            return;
        };
        bytes[..2]
            .copy_from_slice(&[MAGIC, if self.has_snapshots { WITH_SNAPSHOTS } else { VERSION }]);
        bytes[2..5].copy_from_slice(&self.logical_pages.to_le_bytes()[..3]);
        let trims = if self.knows_of_trims { TRIMS } else { 0 };
        let spare_blocks = self.spare_blocks.min(u32::from(TRIMS) - 1) as u16 | trims;
        bytes[5..7].copy_from_slice(&spare_blocks.to_le_bytes());
        bytes[7..12].copy_from_slice(&self.horizon.to_le_bytes()[..5]);
        if let Some((before, check)) = page.split_last_chunk_mut() {
            *check = checksum(before, shape).to_le_bytes();
        }
    }

    /// What the last bytes of a page say.
    ///
    /// # Errors
    /// [`Error::NotFormatted`], [`Error::Version`].
    pub(crate) fn decode(bytes: &[u8; MAP_HEADER as usize]) -> Result<Self, Error> {
        let three = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], 0]);
        match bytes[..2] {
            [MAGIC, version @ (VERSION | WITH_SNAPSHOTS)] => Ok(Self {
                logical_pages: three(2),
                spare_blocks: (u16::from_le_bytes([bytes[5], bytes[6]]) & !TRIMS).into(),
                has_snapshots: version == WITH_SNAPSHOTS,
                knows_of_trims: bytes[6] & 0x80 != 0,
                horizon: u64::from(three(7))
                    | u64::from(bytes[10]) << 24
                    | u64::from(bytes[11]) << 32,
            }),
            [MAGIC, b'C'] => Err(Error::Version(bytes[2].into())),
            [MAGIC, version] if version > 0x80 => Err(Error::Version(u32::from(version & 0x7f))),
            _ => Err(Error::NotFormatted),
        }
    }
}

/// Whether a page of the map says that a logical page of it was trimmed or lost at any time.
pub(crate) fn knows_of_trims(page: &[u8]) -> bool {
    let header = page.last_chunk().map(Header::decode);
    matches!(header, Some(Ok(Header { knows_of_trims: true, .. })))
}

/// Whether a page of the map has its checksum: it is what was programmed, by a chip of this shape.
pub(crate) fn is_whole(page: &[u8], shape: &Geometry) -> bool {
    let parts = page.split_last_chunk::<CHECK>();
    parts.is_some_and(|(before, check)| checksum(before, shape).to_le_bytes() == *check)
}

/// One multiplication for each word, in four sums that do not wait for each other: a change within a word is noticed for
/// certain, any other but once in 2³².
pub(crate) fn checksum(bytes: &[u8], shape: &Geometry) -> u32 {
    let add = |sum: u32, word: u32| (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b1);
    let mut sums = [shape.blocks, shape.pages, shape.page_size, 0];
    let (rows, rest) = bytes.as_chunks::<16>();
    for row in rows {
        for (sum, word) in sums.iter_mut().zip(row.as_chunks().0) {
            *sum = add(*sum, u32::from_le_bytes(*word));
        }
    }
    let sum = sums.into_iter().fold(0, add);
    rest.iter().fold(sum, |sum, &byte| add(sum, byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Geometry = Geometry { blocks: 70_000, pages: 128, page_size: 4096 };
    const HEADER: Header = Header {
        logical_pages: 8_000_000,
        spare_blocks: 4000,
        horizon: 0x12_3456_789a,
        has_snapshots: true,
        knows_of_trims: true,
    };

    fn header_of(page: &[u8]) -> Result<Header, Error> {
        Header::decode(page.last_chunk().expect("a page is longer"))
    }

    #[test]
    fn a_page_says_what_it_was_sealed_with_and_no_other_shape_takes_it() {
        let mut page = [0x5a; 101];
        assert_eq!(header_of(&page), Err(Error::NotFormatted));
        HEADER.seal(&mut page, &SHAPE);
        assert_eq!(header_of(&page), Ok(HEADER));
        for other in [
            Geometry { blocks: 70_001, ..SHAPE },
            Geometry { blocks: 35_000, pages: 256, ..SHAPE },
            Geometry { page_size: 2048, ..SHAPE },
        ] {
            assert!(!is_whole(&page, &other), "{other:?}");
        }
        page[101 - 15] = 0x85;
        assert_eq!(header_of(&page), Err(Error::Version(5)));
        page[101 - 15..101 - 13].copy_from_slice(&[b'C', 1]);
        assert_eq!(header_of(&page), Err(Error::Version(1)));
    }

    #[test]
    fn a_bit_that_turns_is_noticed() {
        let mut page = [7; 101];
        HEADER.seal(&mut page, &SHAPE);
        assert!(is_whole(&page, &SHAPE));
        for bit in 0..page.len() * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_whole(&page, &SHAPE), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
