//! M4, separate segment cleaning, segment based: a victim less utilised than the average is cold,
//! and all its survivors with it (CAT paper, §6.1.1; Kawaguchi et al. 1995).

use thermocline_flash::Lpn;

use super::{Answer, Cleaning, HostWrite, Placement, Registered, Streams, Survivors};
use crate::{Args, Context, ParamError, PolicyInfo, params::NoParams};

const HOT: u8 = 0;
const COLD: u8 = 1;

/// Sends the survivors of a block to the stream of the block's own temperature.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentSplit {
    victim: u8,
}

impl Streams for SegmentSplit {
    fn streams(&self) -> u8 {
        2
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        let utilization = u64::from(victim.valid) * u64::from(victim.capacity);
        let average = u64::from(victim.mapped) * u64::from(victim.pages);
        self.victim = if utilization < average { COLD } else { HOT };
    }
}

impl Placement for SegmentSplit {
    type Page = ();

    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        Some(HOT)
    }

    #[inline(always)]
    fn host(&mut self, (): (), _: &impl HostWrite) -> u8 {
        HOT
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        self.victim
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(self.victim)
    }
}

impl Registered for SegmentSplit {
    const INFO: PolicyInfo = PolicyInfo {
        name: "segment-split",
        aliases: &["m4", "M4"],
        source: "CAT paper §6.1.1, M4; Kawaguchi, Nishioka, Motoda 1995",
        summary: "survivors of cold blocks to a stream of their own; separation without memory",
        params: NoParams::info,
    };

    fn build(args: &Args, _: &Context) -> Result<Self, ParamError> {
        NoParams::read(args).map(|_| Self::default())
    }
}
