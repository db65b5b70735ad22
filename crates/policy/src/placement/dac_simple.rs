//! DAC without its threshold of age: an overwrite promotes a page by a level, a copy demotes it
//! (DAC as the SepBIT paper, FAST 2022, §4.1, compares with it; after Chiang, Lee, Chang 1999).
//!
//! The original promotes only pages younger than their region's threshold.

use alloc::{vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

use super::{Placement, Registered};
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
#[derive(Clone, Debug)]
pub struct DacSimple {
    /// Of each page: 0 while it holds no data, else its level and 1.
    standing: Vec<u8>,
    levels: u8,
}

impl Placement for DacSimple {
    fn streams(&self) -> u8 {
        self.levels
    }

    /// The first write is of level 0, an overwrite a level above the last.
    #[inline(always)]
    fn host(&mut self, lpn: Lpn, _now: u64) -> u8 {
        self.standing[lpn.index()].min(self.levels - 1)
    }

    fn filled(&mut self, lpn: Lpn, now: u64) {
        self.written(lpn, now);
    }

    #[inline(always)]
    fn written(&mut self, lpn: Lpn, _now: u64) {
        let standing = &mut self.standing[lpn.index()];
        *standing = (*standing + 1).min(self.levels);
    }

    fn trimmed(&mut self, lpn: Lpn) {
        self.standing[lpn.index()] = 0;
    }

    #[inline(always)]
    fn survivor(&mut self, lpn: Lpn, _now: u64) -> u8 {
        let standing = &mut self.standing[lpn.index()];
        *standing = standing.saturating_sub(1).max(1);
        *standing - 1
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.standing, lpn.index());
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

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let levels = DacSimpleParams::read(args)?.levels;
        let levels = within("levels", levels, 2..=MAX_STREAMS)? as u8;
        Ok(Self { standing: vec![0; context.logical_pages as usize], levels })
    }
}
