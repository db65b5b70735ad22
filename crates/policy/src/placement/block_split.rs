//! M5, separate segment cleaning, block based: a page is hot if it was updated more often than the
//! average page (CAT paper, §6.1.1). "Block" is the paper's word for page.

use alloc::{vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

use super::{Cleaning, Placement, Registered};
use crate::{Args, Context, ParamError, PolicyInfo, params::NoParams};

const HOT: u8 = 0;
const COLD: u8 = 1;

/// Sends each survivor to the hot or the cold stream by its update count.
#[derive(Clone, Debug)]
pub struct BlockSplit {
    counts: Vec<u32>,
    total: u64,
    mapped: u64,
}

impl Placement for BlockSplit {
    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        Some(0)
    }

    fn streams(&self) -> u8 {
        2
    }

    #[inline(always)]
    fn written(&mut self, lpn: Lpn, _now: u64) {
        let count = &mut self.counts[lpn.index()];
        if *count < u32::MAX {
            *count += 1;
            self.total += 1;
        }
    }

    fn trimmed(&mut self, lpn: Lpn) {
        self.total -= u64::from(core::mem::take(&mut self.counts[lpn.index()]));
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        self.mapped = u64::from(victim.mapped);
    }

    #[inline(always)]
    fn survivor(&mut self, lpn: Lpn, _now: u64) -> u8 {
        // count > total / mapped, without the division
        let hot = u64::from(self.counts[lpn.index()]) * self.mapped > self.total;
        if hot { HOT } else { COLD }
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.counts, lpn.index());
    }
}

impl Registered for BlockSplit {
    const INFO: PolicyInfo = PolicyInfo {
        name: "block-split",
        aliases: &["m5", "M5"],
        source: "CAT paper §6.1.1, M5",
        summary: "pages updated more often than the average stay hot; slow to notice a change",
        params: NoParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        NoParams::read(args)?;
        Ok(Self { counts: vec![0; context.logical_pages as usize], total: 0, mapped: 0 })
    }
}
