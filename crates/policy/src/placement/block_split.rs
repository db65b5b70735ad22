//! M5, separate segment cleaning, block based: a page is hot if it was updated more often than the
//! average page (CAT paper, §6.1.1). "Block" is the paper's word for page.

use thermocline_flash::Lpn;

use super::{Cleaning, Found, HostWrite, Placement, Registered, Streams};
use crate::{Args, Context, ParamError, PolicyInfo, params::NoParams};

const HOT: u8 = 0;
const COLD: u8 = 1;

/// Sends each survivor to the hot or the cold stream by its update count.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockSplit {
    /// Updates of all pages.
    total: u64,
    mapped: u64,
}

impl Streams for BlockSplit {
    fn streams(&self) -> u8 {
        2
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        self.mapped = u64::from(victim.mapped);
    }
}

impl Placement for BlockSplit {
    /// Number of writes: the updates plus the first write. 0 for a page without data.
    type Page = u32;

    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        Some(HOT)
    }

    #[inline(always)]
    fn host(&mut self, _: u32, _: &impl HostWrite) -> u8 {
        HOT
    }

    fn filled(&mut self, writes: &mut u32, _: Lpn, _: u64) {
        *writes = 1;
    }

    #[inline(always)]
    fn written(&mut self, writes: &mut u32, _: Lpn, _: u64) {
        if *writes < u32::MAX {
            self.total += u64::from(*writes > 0);
            *writes += 1;
        }
    }

    fn trimmed(&mut self, writes: u32, _: Lpn) {
        self.total -= u64::from(writes.saturating_sub(1));
    }

    #[inline(always)]
    fn survivor(&mut self, writes: &mut u32, _: Lpn, _: u64) -> u8 {
        // `updates > total / mapped` without the division.
        if u64::from(writes.saturating_sub(1)) * self.mapped > self.total { HOT } else { COLD }
    }

    fn restore(&mut self, writes: &mut u32, _: &Found) {
        *writes = 1;
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

    fn build(args: &Args, _: &Context) -> Result<Self, ParamError> {
        NoParams::read(args).map(|_| Self::default())
    }
}
