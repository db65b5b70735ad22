//! DAC without its age threshold: an overwrite promotes a page by a level, a copy demotes it (DAC
//! as compared in the SepBIT paper, FAST 2022, §4.1; after Chiang, Lee, Chang 1999).
//!
//! The original promotes only pages younger than their region's threshold.

use thermocline_flash::Lpn;

use super::{HostWrite, Placement, Registered, Streams};
use crate::{
    Args, Context, ParamError, PolicyInfo, params,
    params::{MAX_STREAMS, within},
};

params! {
    /// Parameters of [`DacSimple`].
    pub struct DacSimpleParams {
        /// Number of levels, a stream each, 2 to 32.
        levels: u32 = 6,
    }
}

/// Sends a page to the stream of its level; 0 is the coldest.
#[derive(Clone, Copy, Debug)]
pub struct DacSimple {
    levels: u8,
}

impl Streams for DacSimple {
    fn streams(&self) -> u8 {
        self.levels
    }
}

impl Placement for DacSimple {
    /// The level plus 1; 0 for a page without data.
    type Page = u8;

    /// The first write goes to level 0. An overwrite goes one level above the last.
    #[inline(always)]
    fn host(&mut self, page: u8, _: &impl HostWrite) -> u8 {
        page.min(self.levels - 1)
    }

    fn filled(&mut self, page: &mut u8, lpn: Lpn, now: u64) {
        self.written(page, lpn, now);
    }

    #[inline(always)]
    fn written(&mut self, page: &mut u8, _: Lpn, _: u64) {
        *page = (*page + 1).min(self.levels);
    }

    #[inline(always)]
    fn survivor(&mut self, page: &mut u8, _: Lpn, _: u64) -> u8 {
        *page = page.saturating_sub(1).max(1);
        *page - 1
    }
}

impl Registered for DacSimple {
    const INFO: PolicyInfo = PolicyInfo {
        name: "dac-simple",
        aliases: &[],
        source: "SepBIT paper (FAST 2022) §4.1; after Chiang, Lee, Chang 1999",
        summary: "a level up at each overwrite, down at each copy; a byte a page and no clock",
        params: DacSimpleParams::info,
    };

    fn build(args: &Args, _: &Context) -> Result<Self, ParamError> {
        let levels = DacSimpleParams::read(args)?.levels;
        let levels = within("levels", levels, 2..=MAX_STREAMS)? as u8;
        Ok(Self { levels })
    }
}
