//! M1, one segment cleaning with sequential writing: one stream, survivors in physical order
//! (CAT paper, §6.1.1).

use thermocline_flash::Lpn;

use super::{Answer, HostWrite, Placement, Registered, Streams, Survivors};
use crate::{Args, Context, ParamError, PolicyInfo, params::NoParams};

/// One stream for host writes and survivors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential;

impl Streams for Sequential {}

impl Placement for Sequential {
    type Page = ();

    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        Some(0)
    }

    #[inline(always)]
    fn host(&mut self, (): (), _: &impl HostWrite) -> u8 {
        0
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        0
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(0)
    }
}

impl Registered for Sequential {
    const INFO: PolicyInfo = PolicyInfo {
        name: "one-stream",
        aliases: &["m1", "M1", "sequential", "nosep"],
        source: "CAT paper §6.1.1, M1",
        summary: "host writes and survivors share one open block; no memory, no separation",
        params: NoParams::info,
    };

    fn build(args: &Args, _: &Context) -> Result<Self, ParamError> {
        NoParams::read(args).map(|_| Self)
    }
}
