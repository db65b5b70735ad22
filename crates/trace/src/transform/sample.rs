//! Samples a trace's pages, for simulations of a part of a device.

use crate::{Op, Request, transform::pages::touched};

/// Keeps one of this many neighbouring pages, chosen by a hash of their number.
///
/// Pages form groups of `of` neighbours. One page of each group is kept, under the number of the
/// group. So the sample has an `of`-th of the addresses without a table, sequential writes stay
/// sequential, and a long request keeps exactly its share. The hash prevents periodic patterns from
/// always hitting the same page of all groups.
#[derive(Clone, Copy, Debug)]
pub struct PageSample {
    of: u32,
    seed: u64,
    page_bytes: u64,
}

impl PageSample {
    /// Keeps one of `of` pages of `page_bytes`. The seed selects which.
    ///
    /// # Panics
    /// If `of` or `page_bytes` is 0.
    #[must_use]
    pub fn new(of: u32, seed: u64, page_bytes: u64) -> Self {
        assert!(of > 0 && page_bytes > 0, "one of no pages, or pages of no bytes");
        Self { of, seed, page_bytes }
    }

    /// The part of a request in the sample, with the sample's addresses; `None` if all its pages
    /// are left out. A partly covered page stays partly covered. Flushes are unchanged.
    #[must_use]
    pub fn of(&self, request: &Request) -> Option<Request> {
        if request.op == Op::Flush {
            return Some(*request);
        }
        let (page, of) = (self.page_bytes, u64::from(self.of));
        // Requests larger than any device are refused elsewhere.
        let Ok(pages) = touched(request, page) else { return Some(*request) };
        if pages.is_empty() {
            return None;
        }
        let (mut first, mut last) = (pages.start / of, (pages.end - 1) / of);
        let (mut head, mut tail) =
            (self.kept(request.volume, first), self.kept(request.volume, last));
        if head < pages.start {
            first += 1;
            head = u64::MAX;
        }
        if tail >= pages.end {
            last = last.checked_sub(1)?;
            tail = u64::MAX;
        }
        if first > last {
            return None;
        }
        let start = if head == pages.start { request.offset % page } else { 0 };
        // The end of the last page may exceed the last address.
        let left_out = pages.end.wrapping_mul(page).wrapping_sub(request.offset + request.len);
        let end = if tail == pages.end - 1 { page - left_out } else { page };
        let offset = first * page + start;
        Some(Request { offset, len: last * page + end - offset, ..*request })
    }

    /// The page of a group that is kept.
    #[inline]
    fn kept(&self, volume: u32, group: u64) -> u64 {
        let key = self.seed.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ u64::from(volume) << 32;
        let x = (group ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let x = (x ^ x >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        group * u64::from(self.of) + (((x >> 32) * u64::from(self.of)) >> 32)
    }
}
