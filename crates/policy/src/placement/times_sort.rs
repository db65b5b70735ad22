//! M3, one segment cleaning with times sorting: survivors are written hottest first (CAT paper,
//! §6.1.1).
//!
//! With one block cleaned at a time its counts equal those of M1 exactly.

use thermocline_flash::Lpn;

use super::{
    Answer, Found, HostWrite, Placement, Registered, Streams, Survivors, Traits, hotness::Hotness,
    sorter::Sorter,
};
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

impl Streams for TimesSort {
    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits { sorts: true, ..Traits::default() }
    }
}

impl Placement for TimesSort {
    type Page = u64;

    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        Some(0)
    }

    #[inline(always)]
    fn host(&mut self, _: u64, _: &impl HostWrite) -> u8 {
        0
    }

    fn filled(&mut self, page: &mut u64, lpn: Lpn, now: u64) {
        *page = self.hotness.filled(lpn, now);
    }

    #[inline(always)]
    fn written(&mut self, page: &mut u64, lpn: Lpn, now: u64) {
        *page = self.hotness.written(lpn, *page, now);
    }

    fn trimmed(&mut self, page: u64, lpn: Lpn) {
        self.hotness.trimmed(lpn, page);
    }

    #[inline(always)]
    fn survivor(&mut self, _: &mut u64, _: Lpn, _: u64) -> u8 {
        0
    }

    /// Hottest first, all to one stream.
    fn survivors(&mut self, survivors: &mut Survivors<'_, u64>) -> Answer {
        let (Self { hotness, scratch }, now) = (self, survivors.now());
        // Degrees are not negative, and the bits of such floats sort like their values.
        scratch.descending(survivors, |lpn, page| hotness.degree(lpn, page, now).to_bits());
        Answer::Together(0)
    }

    #[inline(always)]
    fn last_written(&self, page: u64, lpn: Lpn) -> Option<u64> {
        Some(self.hotness.last_written(lpn, page))
    }

    /// The update count.
    #[inline(always)]
    fn save(&self, page: u64, lpn: Lpn) -> u16 {
        self.hotness.note(lpn, page)
    }

    /// The page counts as last written when its copy was made, which may be later than its last
    /// host write.
    fn restore(&mut self, page: &mut u64, found: &Found) {
        *page = self.hotness.recovered(found.lpn, found.note, found.time);
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
