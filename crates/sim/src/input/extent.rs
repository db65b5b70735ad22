//! The unit of a run: consecutive logical pages of one request.

use std::ops::Range;

use thermocline_trace::{Op, Request};

/// Consecutive logical pages of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub time_ns: u64,
    pub first: u32,
    pub pages: u32,
    /// Bytes requested by the host.
    pub bytes: u64,
    pub op: Op,
    /// The placement hint of a write; 0 is none.
    pub hint: u16,
    /// The first page is only partly written.
    pub partial_head: bool,
    /// The last page is only partly written, and is not the first.
    pub partial_tail: bool,
    /// The second part of a request that was split in two; not a request itself.
    pub continued: bool,
}

// A hint lies in what was padding.
const _: () = assert!(size_of::<Extent>() == 32);

/// The largest byte length that is stored.
const LONGEST: u64 = (1 << 44) - 1;
/// Bytes of an extent in a file.
pub(super) const EXTENT_BYTES: usize = 24;

impl Extent {
    /// Whether it is a request that writes exactly one whole page.
    #[inline(always)]
    pub(crate) fn is_one_page(&self) -> bool {
        let cut = self.partial_head | self.partial_tail | self.continued;
        self.op == Op::Write && self.pages == 1 && !cut
    }

    /// Sets the bit of each of its pages.
    pub(super) fn mark(&self, bits: &mut Vec<u64>) {
        let (first, end) = (u64::from(self.first), u64::from(self.first) + u64::from(self.pages));
        let words = end.div_ceil(64) as usize;
        if bits.len() < words {
            bits.resize(words, 0);
        }
        for page in first..end {
            bits[(page / 64) as usize] |= 1 << (page % 64);
        }
    }

    pub(super) fn encode(&self) -> [u8; EXTENT_BYTES] {
        let mut bytes = [0; EXTENT_BYTES];
        bytes[..8].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.first.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.pages.to_le_bytes());
        // 16 TiB suffice: no read or write is longer, and for a trim only the pages matter.
        let rest = self.op as u64
            | u64::from(self.partial_head) << 2
            | u64::from(self.partial_tail) << 3
            | u64::from(self.hint) << 4
            | self.bytes.min(LONGEST) << 20;
        bytes[16..].copy_from_slice(&rest.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; EXTENT_BYTES]) -> Self {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let rest = u64::from(word(16)) | u64::from(word(20)) << 32;
        Self {
            time_ns: u64::from(word(0)) | u64::from(word(4)) << 32,
            first: word(8),
            pages: word(12),
            bytes: rest >> 20,
            op: OPS[(rest & 3) as usize],
            hint: (rest >> 4) as u16,
            partial_head: rest & 4 != 0,
            partial_tail: rest & 8 != 0,
            continued: false,
        }
    }
}

/// In the order of their codes.
pub(super) const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

/// Whether a request that covers `pages` covers the first only in part, and the last, if that is a
/// different page.
#[inline(always)]
pub(super) fn cuts(request: &Request, pages: &Range<u64>, page: u64) -> (bool, bool) {
    let head = request.offset != pages.start * page;
    // The end of the last page may exceed the last address. No request ends at the address it wraps
    // to.
    let tail = request.offset.wrapping_add(request.len) != pages.end.wrapping_mul(page);
    let one = pages.end - pages.start == 1;
    (head || tail && one, tail && !one)
}

/// Takes pages beyond the device modulo its size, and splits an extent that crosses the end.
/// Returns false if nothing changed.
pub(super) fn wrap_around(batch: &mut Vec<Extent>, pages: u32) -> bool {
    if batch.iter().all(|e| u64::from(e.first) + u64::from(e.pages) <= u64::from(pages)) {
        return false;
    }
    let mut wrapped = Vec::with_capacity(batch.len() + 1);
    for extent in batch.iter() {
        let mut rest = Extent { first: extent.first % pages, ..*extent };
        loop {
            let here = rest.pages.min(pages - rest.first);
            let last = here == rest.pages;
            wrapped.push(Extent { pages: here, partial_tail: rest.partial_tail && last, ..rest });
            if last {
                break;
            }
            rest = Extent {
                first: 0,
                pages: rest.pages - here,
                bytes: 0,
                partial_head: false,
                continued: true,
                ..rest
            };
        }
    }
    *batch = wrapped;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_survive_the_spool() {
        for op in OPS {
            let extent = Extent {
                time_ns: u64::MAX - 5,
                first: 7,
                pages: u32::MAX,
                bytes: LONGEST - 7,
                op,
                hint: 0xabcd,
                partial_head: op == Op::Write,
                partial_tail: op == Op::Read,
                continued: false,
            };
            assert_eq!(Extent::decode(&extent.encode()), extent);
            assert_eq!(OPS[op as usize], op);
        }
    }

    #[test]
    fn addresses_beyond_the_device_wrap() {
        let e = Extent {
            time_ns: 0,
            first: 8,
            pages: 5,
            bytes: 20480,
            op: Op::Write,
            hint: 3,
            partial_head: false,
            partial_tail: false,
            continued: false,
        };
        let mut batch = vec![e];
        wrap_around(&mut batch, 10);
        assert_eq!(
            batch,
            [
                Extent { pages: 2, ..e },
                Extent { first: 0, pages: 3, bytes: 0, continued: true, ..e }
            ]
        );
    }
}
