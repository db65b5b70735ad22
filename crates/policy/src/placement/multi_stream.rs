//! Streams by update frequency, as a host with a multi-stream disk would assign them (Kang, Hyun,
//! Maeng, Cho, HotStorage 2014): the binary logarithm of a page's fading update count.
//!
//! A count is halved with every period of as many host writes as there are logical pages, so the
//! average page stands at 1 to 2. Counts of 0 and 1 go to stream 0, 2 and 3 to stream 1, 4 to 7 to
//! stream 2, and so on; the first write of a page is no update. Survivors go by their count of now.
//! Halving is done when a page is looked at next, so that nothing walks over all pages.

use thermocline_flash::Lpn;

use super::{Kept, Place, Placement, Registered};
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

/// What is known of a page, its word.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Updates, halved with each period up to `period`; none for pages without data.
    count: Option<u32>,
    period: u32,
}

impl Page {
    const MOST: u32 = u32::MAX - 1;

    /// The count and 1, or 0 without data, and the period: in 16 bits each where both fit, else in 32, the count above.
    #[inline(always)]
    fn of(word: u64) -> Self {
        let (low, high) = (word as u32, (word >> 32) as u32);
        let (count, period) = if high == 0 { (low & 0xFFFF, low >> 16) } else { (high, low) };
        Self { count: count.checked_sub(1), period }
    }

    #[inline(always)]
    fn word(self) -> u64 {
        let Some(count) = self.count else { return 0 };
        let (count, period) = (u64::from(count + 1), u64::from(self.period));
        if (count | period) < 1 << 16 { period << 16 | count } else { count << 32 | period }
    }
}

/// Sends a page to the stream of its update count; 0 is the coldest.
#[derive(Clone, Debug)]
pub struct MultiStream {
    streams: u8,
    half_life: u32,
    /// The period, and pages written in it by the host.
    period: u32,
    writes: u32,
}

impl MultiStream {
    #[inline(always)]
    fn count(&self, Page { count, period }: Page) -> Option<u32> {
        count.map(|count| count.checked_shr(self.period.wrapping_sub(period)).unwrap_or(0))
    }

    #[inline]
    fn stream(&self, count: u32) -> u8 {
        count.clamp(1, 1 << (self.streams - 1)).ilog2() as u8
    }

    /// The count that a write of the page now makes.
    #[inline(always)]
    fn updated(&self, word: u64) -> u32 {
        self.count(Page::of(word)).map_or(0, |count| (count + 1).min(Page::MOST))
    }
}

impl Placement for MultiStream {
    fn streams(&self) -> u8 {
        self.streams
    }

    #[inline(always)]
    fn keeps(&self) -> Kept {
        Kept::HalfWord
    }

    #[inline(always)]
    fn host_word(&mut self, _lpn: Lpn, word: u64, _old: Option<Place>, _now: u64) -> u8 {
        self.stream(self.updated(word))
    }

    fn filled_word(&mut self, lpn: Lpn, now: u64) -> u64 {
        self.written_word(lpn, 0, now)
    }

    #[inline(always)]
    fn written_word(&mut self, _lpn: Lpn, word: u64, _now: u64) -> u64 {
        let page = Page { count: Some(self.updated(word)), period: self.period };
        self.writes += 1;
        if self.writes == self.half_life {
            self.writes = 0;
            self.period = self.period.wrapping_add(1);
        }
        page.word()
    }

    #[inline(always)]
    fn survivor_word(&mut self, _lpn: Lpn, word: &mut u64, _now: u64) -> u8 {
        self.stream(self.count(Page::of(*word)).unwrap_or(0))
    }

    #[inline(always)]
    fn tells_at_once(&self) -> bool {
        true
    }

    #[inline(always)]
    fn survivor_words(
        &mut self,
        survivors: &[Lpn],
        words: &mut [u64],
        streams: &mut [u8],
        now: u64,
    ) {
        for ((&lpn, word), stream) in survivors.iter().zip(words).zip(streams) {
            *stream = self.survivor_word(lpn, word, now);
        }
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

    #[test]
    fn counts_and_periods_of_any_size_are_found_again() {
        let most = [0, 1, 0xFFFE, 0xFFFF, 0x1_0000, Page::MOST - 1, Page::MOST];
        for (count, period) in most.iter().flat_map(|&c| most.map(|p| (c, p))) {
            let word = Page { count: Some(count), period }.word();
            assert_eq!(Page::of(word).count, Some(count), "{count}, {period}");
            assert_eq!(Page::of(word).period, period, "{count}, {period}");
            assert_eq!(word <= u64::from(u32::MAX), count < 0xFFFF && period <= 0xFFFF);
        }
        assert_eq!(Page::of(0).count, None);
    }
}
