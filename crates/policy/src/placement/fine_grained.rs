//! M6, separate segment cleaning with fine-grained separation: a page is hot if its hot degree
//! exceeds the average hot degree (CAT paper, §3.2 and §6.1.1).

use thermocline_flash::Lpn;

use super::{
    Cleaning, Found, HostWrite, Placement, Registered, Streams, Traits,
    hotness::{Bar, Hotness},
};
use crate::{
    Args, Context, ParamError, PolicyInfo, Ticks,
    age::{Shape, Transform},
    choice, params,
};

const HOT: u8 = 0;
const COLD: u8 = 1;

choice! {
    /// The pages over which the mean hot degree is taken.
    pub enum MeanOf {
        /// All pages that hold data.
        All = "all",
        /// Only pages that were updated.
        Updated = "updated",
    }
}

params! {
    /// Parameters of [`FineGrained`].
    pub struct FineGrainedParams {
        /// Time scale on which a page's update count fades; auto: 1700 mean gaps between page
        /// writes, or the device's.
        tau: Option<Ticks> = None,
        /// Up to this number of logical pages the mean hot degree is recomputed page by page; beyond,
        /// by epochs of the last write, within 0.5 %.
        exact: u32 = 8192,
        /// Whether pages that were never updated count in the mean.
        mean: MeanOf = MeanOf::All,
    }
}

/// Sends each survivor to the hot or the cold stream by its hot degree.
#[derive(Clone, Debug)]
pub struct FineGrained {
    hotness: Hotness,
    /// The mean hot degree at the last cleaning.
    bar: Bar,
    mean: MeanOf,
}

impl Streams for FineGrained {
    fn streams(&self) -> u8 {
        2
    }

    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits { scans: true, ..Traits::default() }
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        if victim.valid > 0 {
            let pages = match self.mean {
                MeanOf::All => victim.mapped,
                MeanOf::Updated => self.hotness.updated(),
            };
            let mean = self.hotness.mean(pages, victim.now);
            self.bar = self.hotness.bar(mean, victim.now);
        }
    }
}

impl Placement for FineGrained {
    type Page = u64;

    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        Some(HOT)
    }

    #[inline(always)]
    fn host(&mut self, _: u64, _: &impl HostWrite) -> u8 {
        HOT
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
    fn survivor(&mut self, page: &mut u64, lpn: Lpn, now: u64) -> u8 {
        if self.hotness.exceeds(lpn, *page, self.bar.at(now)) { HOT } else { COLD }
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

impl Registered for FineGrained {
    const INFO: PolicyInfo = PolicyInfo {
        name: "fine-grained",
        aliases: &["m6", "M6"],
        source: "CAT paper §3.2 and §6.1.1, M6",
        summary: "pages of more than average hot degree stay hot; the CAT paper's best placement",
        params: FineGrainedParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = FineGrainedParams::read(args)?;
        let transform = Transform::new(Shape::Log, p.tau, context.time_scale, 0.0);
        let hotness = Hotness::new(context.logical_pages, transform, p.exact);
        Ok(Self { bar: hotness.bar(0.0, 0), hotness, mean: p.mean })
    }
}
