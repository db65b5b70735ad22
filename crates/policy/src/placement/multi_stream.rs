//! Streams by update frequency, as a host with a multi-stream disk would assign them (Kang, Hyun,
//! Maeng, Cho, HotStorage 2014): the binary logarithm of a page's fading update count.
//!
//! A count is halved with every period of as many host writes as there are logical pages, so the
//! average page stands at 1 to 2. Counts of 0 and 1 go to stream 0, 2 and 3 to stream 1, 4 to 7 to
//! stream 2, and so on; the first write of a page is no update. Survivors go by their count of now.
//! Halving is done when a page is looked at next, so that nothing walks over all pages.

use alloc::{vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

use super::{Placement, Registered};
use crate::{
    Args, Context, ParamError, PolicyInfo, params,
    params::{MAX_STREAMS, within},
};

params! {
    /// Parameters of [`MultiStream`].
    pub struct MultiStreamParams {
        /// Number of streams, 1 to 32; disks offer 4 to 16.
        streams: u32 = 6,
        /// Pages written by the host in which counts are halved, at least 1; auto: as many as there
        /// are logical pages.
        half_life: Option<u32> = None,
    }
}

#[derive(Clone, Copy, Debug)]
struct Page {
    /// Updates, halved with each period up to `period`; [`UNWRITTEN`] for pages without data.
    count: u32,
    period: u32,
}

const UNWRITTEN: u32 = u32::MAX;

/// Sends a page to the stream of its update count; 0 is the coldest.
#[derive(Clone, Debug)]
pub struct MultiStream {
    pages: Vec<Page>,
    streams: u8,
    half_life: u32,
    /// The period, and pages written in it by the host.
    period: u32,
    writes: u32,
}

impl MultiStream {
    #[inline]
    fn count(&self, lpn: Lpn) -> u32 {
        let page = &self.pages[lpn.index()];
        page.count.checked_shr(self.period.wrapping_sub(page.period)).unwrap_or(0)
    }

    #[inline]
    fn stream(&self, count: u32) -> u8 {
        (count.max(1).ilog2() as u8).min(self.streams - 1)
    }

    /// The count that a write of the page now makes.
    #[inline]
    fn updated(&self, lpn: Lpn) -> u32 {
        match self.pages[lpn.index()].count {
            UNWRITTEN => 0,
            _ => (self.count(lpn) + 1).min(UNWRITTEN - 1),
        }
    }
}

impl Placement for MultiStream {
    fn streams(&self) -> u8 {
        self.streams
    }

    #[inline(always)]
    fn host(&mut self, lpn: Lpn, _now: u64) -> u8 {
        self.stream(self.updated(lpn))
    }

    fn filled(&mut self, lpn: Lpn, now: u64) {
        self.written(lpn, now);
    }

    #[inline(always)]
    fn written(&mut self, lpn: Lpn, _now: u64) {
        self.pages[lpn.index()] = Page { count: self.updated(lpn), period: self.period };
        self.writes += 1;
        if self.writes == self.half_life {
            self.writes = 0;
            self.period = self.period.wrapping_add(1);
        }
    }

    fn trimmed(&mut self, lpn: Lpn) {
        self.pages[lpn.index()].count = UNWRITTEN;
    }

    #[inline(always)]
    fn survivor(&mut self, lpn: Lpn, _now: u64) -> u8 {
        self.stream(self.count(lpn))
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.pages, lpn.index());
    }
}

impl Registered for MultiStream {
    const INFO: PolicyInfo = PolicyInfo {
        name: "multi-stream",
        aliases: &[],
        source: "after Kang, Hyun, Maeng, Cho, HotStorage 2014",
        summary: "pages by the binary logarithm of their fading update counts",
        params: MultiStreamParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = MultiStreamParams::read(args)?;
        let streams = within("streams", p.streams, 1..=MAX_STREAMS)? as u8;
        let half_life = p.half_life.unwrap_or(context.logical_pages.max(1));
        let half_life = within("half_life", half_life, 1..=u32::MAX)?;
        let pages = vec![Page { count: UNWRITTEN, period: 0 }; context.logical_pages as usize];
        Ok(Self { pages, streams, half_life, period: 0, writes: 0 })
    }
}
