//! Streams by update frequency, as a host with a multi-stream disk would assign them (Kang, Hyun,
//! Maeng, Cho, HotStorage 2014): the binary logarithm of a page's decaying update count.
//!
//! A count is halved with every period of as many host writes as there are logical pages, so the
//! average page has a count of 1 to 2. Counts of 0 and 1 go to stream 0, 2 and 3 to stream 1, 4 to
//! 7 to stream 2, and so on. The first write of a page is not an update. Survivors go by their
//! current count. A count is halved when the page is accessed next, so there is no pass over all
//! pages.

use thermocline_flash::Lpn;

use super::{HostWrite, Placement, Registered, Streams, contract::in_a_word};
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

/// State of a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page(u64);

in_a_word!(Page: Growing);

impl Page {
    const MOST: u32 = u32::MAX - 1;

    /// The count plus 1, or 0 without data, and the period: in 16 bits each if both fit, else in 32
    /// with the count above.
    #[inline(always)]
    fn new(count: u32, period: u32) -> Self {
        let (count, period) = (u64::from(count + 1), u64::from(period));
        Self(if (count | period) < 1 << 16 { period << 16 | count } else { count << 32 | period })
    }

    /// Updates, halved with each period up to the returned one; `None` for pages without data.
    #[inline(always)]
    fn updates(self) -> (Option<u32>, u32) {
        let (low, high) = (self.0 as u32, (self.0 >> 32) as u32);
        let (count, period) = if high == 0 { (low & 0xFFFF, low >> 16) } else { (high, low) };
        (count.checked_sub(1), period)
    }
}

/// Sends a page to the stream of its update count; 0 is the coldest.
#[derive(Clone, Debug)]
pub struct MultiStream {
    streams: u8,
    half_life: u32,
    /// The period, and host page writes in it.
    period: u32,
    writes: u32,
}

impl MultiStream {
    #[inline(always)]
    fn count(&self, page: Page) -> Option<u32> {
        let (count, period) = page.updates();
        count.map(|count| count.checked_shr(self.period.wrapping_sub(period)).unwrap_or(0))
    }

    #[inline]
    fn stream(&self, count: u32) -> u8 {
        count.clamp(1, 1 << (self.streams - 1)).ilog2() as u8
    }

    /// The count after a write of the page.
    #[inline(always)]
    fn updated(&self, page: Page) -> u32 {
        self.count(page).map_or(0, |count| (count + 1).min(Page::MOST))
    }
}

impl Streams for MultiStream {
    fn streams(&self) -> u8 {
        self.streams
    }
}

impl Placement for MultiStream {
    type Page = Page;

    #[inline(always)]
    fn host(&mut self, page: Page, _: &impl HostWrite) -> u8 {
        self.stream(self.updated(page))
    }

    fn filled(&mut self, page: &mut Page, lpn: Lpn, now: u64) {
        self.written(page, lpn, now);
    }

    #[inline(always)]
    fn written(&mut self, page: &mut Page, _: Lpn, _: u64) {
        *page = Page::new(self.updated(*page), self.period);
        self.writes += 1;
        if self.writes == self.half_life {
            self.writes = 0;
            self.period = self.period.wrapping_add(1);
        }
    }

    #[inline(always)]
    fn survivor(&mut self, page: &mut Page, _: Lpn, _: u64) -> u8 {
        self.stream(self.count(*page).unwrap_or(0))
    }
}

impl Registered for MultiStream {
    const MODELS_HOST: bool = true;

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
        Ok(Self { streams, half_life, period: 0, writes: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PageState;

    #[test]
    fn counts_and_periods_of_any_size_are_found_again() {
        let most = [0, 1, 0xFFFE, 0xFFFF, 0x1_0000, Page::MOST - 1, Page::MOST];
        for (count, period) in most.iter().flat_map(|&c| most.map(|p| (c, p))) {
            let page = Page::new(count, period);
            assert_eq!(page.updates(), (Some(count), period));
            assert_eq!(page.word() <= u64::from(u32::MAX), count < 0xFFFF && period <= 0xFFFF);
        }
        assert_eq!(Page::default().updates().0, None);
    }
}
