//! M3, one segment cleaning with times sorting: survivors are written hottest first
//! (CAT paper, §6.1.1).
//!
//! With one block cleaned at a time its counts equal M1's exactly.

use thermocline_flash::Lpn;

use super::{Kept, Placement, Registered, hotness::Hotness, sorter::Sorter};
use crate::{
    Args, Context, ParamError, PolicyInfo, Ticks,
    age::{Shape, Transform},
    params,
};

params! {
    /// Parameters of [`TimesSort`].
    pub struct TimesSortParams {
        /// Time scale on which a page's update count fades; auto: 1700 mean gaps between page
        /// writes, or the device's.
        tau: Option<Ticks> = None,
    }
}

/// Sorts survivors by hot degree.
#[derive(Clone, Debug)]
pub struct TimesSort {
    hotness: Hotness,
    scratch: Sorter,
}

impl Placement for TimesSort {
    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        Some(0)
    }

    #[inline(always)]
    fn sorts(&self) -> bool {
        true
    }

    #[inline(always)]
    fn common_stream(&self) -> Option<u8> {
        Some(0)
    }

    #[inline(always)]
    fn keeps(&self) -> Kept {
        Kept::Word
    }

    fn filled_word(&mut self, lpn: Lpn, now: u64) -> u64 {
        self.hotness.filled(lpn, now)
    }

    #[inline(always)]
    fn written_word(&mut self, lpn: Lpn, word: u64, now: u64) -> u64 {
        self.hotness.written(lpn, word, now)
    }

    fn trimmed_word(&mut self, lpn: Lpn, word: u64) {
        self.hotness.trimmed(lpn, word);
    }

    fn order_words(&mut self, survivors: &mut [Lpn], words: &mut [u64], now: u64) {
        let Self { hotness, scratch } = self;
        // Degrees are not negative, and the bits of such numbers order as they do.
        scratch.descending(survivors, words, |lpn, word| hotness.degree(lpn, word, now).to_bits());
    }

    /// The update count.
    #[inline(always)]
    fn note_word(&self, lpn: Lpn, word: u64) -> u16 {
        self.hotness.note(lpn, word)
    }

    /// It is taken for last written when its copy was made: that may be later than it was.
    fn recovered_word(&mut self, lpn: Lpn, _stream: u8, note: u16, time: u64) -> u64 {
        self.hotness.recovered(lpn, note, time)
    }
}

impl Registered for TimesSort {
    const INFO: PolicyInfo = PolicyInfo {
        name: "times-sort",
        aliases: &["m3", "M3"],
        source: "CAT paper §6.1.1, M3",
        summary: "survivors sorted by hot degree into one stream; of no effect on counts when one \
                  block is cleaned at a time",
        params: TimesSortParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = TimesSortParams::read(args)?;
        let transform = Transform::new(Shape::Log, p.tau, context.time_scale, 0.0);
        Ok(Self {
            hotness: Hotness::sorting(context.logical_pages, transform),
            scratch: Sorter::default(),
        })
    }
}
