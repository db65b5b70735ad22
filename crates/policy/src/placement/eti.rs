//! ETI, extent-based temperature identification: write counts of address ranges that split where
//! requests begin and end and merge as they cool (Shafaei, Desnoyers, Fitzpatrick, HotStorage 2016;
//! as the SepBIT paper, FAST 2022, §4.1, runs it).
//!
//! The extents cover all logical pages; there are at most 1024. A request adds 1, up to 15, to each
//! extent that it covers. An extent that it covers in part is split first, or left as it is if
//! there are no more extents. Every 4096 requests all counts are halved, and neighbours that are
//! both cold, or equally hot, are merged. Pages of extents with a count of 4 or more are hot.
//!
//! A placement sees pages, not requests. A request is a run of pages (see `runs`) and counts when
//! it has ended. A split moves the extents behind it: at most 8 KiB, and rarely once all extents
//! are in use. There is no per-page state, so a trim has nothing to forget.

use alloc::vec::Vec;
use core::ops::Range;

use thermocline_flash::Lpn;

use super::{Answer, HostWrite, Placement, Registered, Streams, Survivors, runs::Runs};
use crate::{Args, Context, ParamError, PolicyInfo, params, params::within};

const COLD: u8 = 0;
const HOT: u8 = 1;
const COPIED: u8 = 2;

const MAX_COUNT: u32 = 15;

/// Number of parts of the lookup table, as a power of 2.
const PARTS: u32 = 11;

params! {
    /// Parameters of [`Eti`].
    pub struct EtiParams {
        /// The most extents, 1 to 65536.
        extents: u32 = 1024,
        /// Requests after which counts are halved and extents merged, at least 1.
        period: u32 = 4096,
        /// The count from which an extent is hot, 1 to 15.
        hot: u32 = 4,
    }
}

/// An extent. It ends where the next one begins.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extent {
    first: u32,
    count: u32,
}

/// Sends host writes to the hot or the cold stream by their extent, survivors to a third.
#[derive(Clone, Debug)]
pub struct Eti {
    params: EtiParams,
    pages: u32,
    /// In address order; the first begins at page 0.
    extents: Vec<Extent>,
    /// The extent of the first page of each part of the address space. Valid only once there is no
    /// room for more extents; empty before.
    found_at: Vec<u32>,
    /// Pages of a part, as a power of 2.
    part: u32,
    requests: u32,
    runs: Runs,
}

impl Eti {
    /// Index of the extent of a page.
    #[inline]
    fn of(&self, lpn: u32) -> usize {
        let Some(&before) = self.found_at.get((lpn >> self.part) as usize) else {
            return self.extents.partition_point(|extent| extent.first <= lpn) - 1;
        };
        self.last_from(before as usize, lpn)
    }

    /// Index of the extent of a page that is not before extent `at`.
    #[inline]
    fn last_from(&self, mut at: usize, lpn: u32) -> usize {
        while self.extents.get(at + 1).is_some_and(|next| next.first <= lpn) {
            at += 1;
        }
        at
    }

    /// Rebuilds the lookup table, because from now on extents rarely change.
    #[cold]
    fn note_parts(&mut self) {
        let mut at = 0;
        for first in (0..self.pages).step_by(1 << self.part) {
            at = self.last_from(at, first);
            self.found_at.push(at as u32);
        }
    }

    fn room(&self) -> usize {
        self.params.extents as usize - self.extents.len()
    }

    fn end(&self, at: usize) -> u32 {
        self.extents.get(at + 1).map_or(self.pages, |next| next.first)
    }

    fn request(&mut self, pages: Range<u32>) {
        self.requests += 1;
        if self.requests >= self.params.period {
            self.requests = 0;
            self.halve();
        }
        let mut at = self.of(pages.start);
        while at < self.extents.len() && self.extents[at].first < pages.end {
            at = self.cover(at, &pages) + 1;
        }
        // A split in the middle of an extent needs room for two more.
        if self.found_at.is_empty() && self.room() < 2 {
            self.note_parts();
        }
    }

    /// Counts the part of extent `at` that a request covers. Returns the index of its last piece.
    fn cover(&mut self, at: usize, pages: &Range<u32>) -> usize {
        let Extent { first, count } = self.extents[at];
        let (begins, ends) = (first < pages.start, pages.end < self.end(at));
        let pieces = usize::from(begins) + usize::from(ends);
        if count == MAX_COUNT || pieces > self.room() {
            return at;
        }
        if pieces > 0 {
            self.found_at.clear();
        }
        if ends {
            self.extents.insert(at + 1, Extent { first: pages.end, count });
        }
        if begins {
            self.extents.insert(at + 1, Extent { first: pages.start, count });
        }
        self.extents[at + usize::from(begins)].count += 1;
        at + pieces
    }

    fn halve(&mut self) {
        let hot = self.params.hot;
        self.found_at.clear();
        for extent in &mut self.extents {
            extent.count /= 2;
        }
        self.extents.dedup_by(|next, kept| {
            next.count == kept.count || (next.count < hot && kept.count < hot)
        });
    }
}

impl Streams for Eti {
    fn streams(&self) -> u8 {
        3
    }
}

impl Placement for Eti {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        if self.extents[self.of(write.lpn().0)].count >= self.params.hot { HOT } else { COLD }
    }

    fn filled(&mut self, (): &mut (), lpn: Lpn, now: u64) {
        self.written(&mut (), lpn, now);
    }

    #[inline(always)]
    fn written(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        if let Some(run) = self.runs.written(lpn) {
            self.request(run);
        }
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        COPIED
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(COPIED)
    }
}

impl Registered for Eti {
    const INFO: PolicyInfo = PolicyInfo {
        name: "eti",
        aliases: &[],
        source: "Shafaei, Desnoyers, Fitzpatrick, HotStorage 2016; SepBIT paper (FAST 2022) §4.1",
        summary: "hot and cold address ranges apart, survivors too; a few kilobytes for any device",
        params: EtiParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let params = EtiParams::read(args)?;
        within("extents", params.extents, 1..=65536)?;
        within("period", params.period, 1..=u32::MAX)?;
        within("hot", params.hot, 1..=MAX_COUNT)?;
        let mut extents = Vec::with_capacity(params.extents as usize);
        extents.push(Extent { first: 0, count: 0 });
        let pages = context.logical_pages;
        let part = (u32::BITS - pages.leading_zeros()).saturating_sub(PARTS);
        let found_at = Vec::with_capacity((pages >> part) as usize + 1);
        Ok(Self { params, pages, extents, found_at, part, requests: 0, runs: Runs::new() })
    }
}
