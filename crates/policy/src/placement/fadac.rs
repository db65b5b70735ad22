//! FADaC: write counts of pages relative to a decaying average, in levels of a factor of 10 (Kremer
//! and Brinkmann, SYSTOR 2019; as the SepBIT paper, FAST 2022, §4.1, runs it).
//!
//! A host write adds 1 to a page's counter, a copy subtracts 1. The average decays over as many
//! requests as there are pages with data: each request moves it by (its pages − average) / pages
//! with data. A page's level is the number of i with `average · 10^i < counter`.
//!
//! A placement sees pages, not requests; a request is a run of pages (see `runs`).

use thermocline_flash::Lpn;

use super::{HostWrite, Placement, Registered, Streams, runs::Runs};
use crate::{
    Args, Context, ParamError, PolicyInfo, params,
    params::{MAX_STREAMS, within},
};

/// Ratio of the counters at which successive levels begin.
const STEP: f64 = 10.0;

params! {
    /// Parameters of [`Fadac`].
    pub struct FadacParams {
        /// Number of levels, a stream each, 2 to 32.
        levels: u32 = 6,
    }
}

/// Sends a page to the stream of its level; 0 is the coldest.
#[derive(Clone, Debug)]
pub struct Fadac {
    levels: u8,
    /// Pages that hold data.
    mapped: u32,
    average: f64,
    runs: Runs,
}

impl Fadac {
    fn level(&self, count: u32) -> u8 {
        if self.average == 0.0 {
            return 0;
        }
        let mut level = 0;
        let mut base = self.average;
        while f64::from(count) > base && level < self.levels - 1 {
            base *= STEP;
            level += 1;
        }
        level
    }
}

impl Streams for Fadac {
    fn streams(&self) -> u8 {
        self.levels
    }
}

impl Placement for Fadac {
    /// The counter plus 1; 0 for a page without data.
    type Page = u32;

    /// By the counter after this write.
    #[inline(always)]
    fn host(&mut self, page: u32, _: &impl HostWrite) -> u8 {
        self.level(page.max(1))
    }

    fn filled(&mut self, page: &mut u32, lpn: Lpn, now: u64) {
        self.written(page, lpn, now);
    }

    #[inline(always)]
    fn written(&mut self, page: &mut u32, lpn: Lpn, _: u64) {
        if let Some(run) = self.runs.written(lpn)
            && self.mapped > 0
        {
            self.average += (run.len() as f64 - self.average) / f64::from(self.mapped);
        }
        self.mapped += u32::from(*page == 0);
        *page = (*page).max(1).saturating_add(1);
    }

    fn trimmed(&mut self, page: u32, _: Lpn) {
        self.mapped -= u32::from(page > 0);
    }

    #[inline(always)]
    fn survivor(&mut self, page: &mut u32, _: Lpn, _: u64) -> u8 {
        *page = page.saturating_sub(1).max(1);
        self.level(*page - 1)
    }
}

impl Registered for Fadac {
    const INFO: PolicyInfo = PolicyInfo {
        name: "fadac",
        aliases: &[],
        source: "Kremer and Brinkmann, SYSTOR 2019; SepBIT paper (FAST 2022) §4.1",
        summary: "pages by powers of ten of their write counts over a fading average",
        params: FadacParams::info,
    };

    fn build(args: &Args, _: &Context) -> Result<Self, ParamError> {
        let levels = FadacParams::read(args)?.levels;
        let levels = within("levels", levels, 2..=MAX_STREAMS)? as u8;
        Ok(Self { levels, mapped: 0, average: 0.0, runs: Runs::new() })
    }
}
