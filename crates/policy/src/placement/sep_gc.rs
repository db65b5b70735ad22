//! SepGC: host writes and garbage-collection copies go to different blocks (Van Houdt 2014; NoSep's
//! counterpart in the SepBIT paper, FAST 2022, §4.1). A page that survived a cleaning is older than
//! one just written, and so will probably live longer.

use thermocline_flash::Lpn;

use super::{Answer, HostWrite, Placement, Registered, Streams, Survivors};
use crate::{Args, Context, ParamError, PolicyInfo, params::NoParams};

const WRITTEN: u8 = 0;
const COPIED: u8 = 1;

/// Sends host writes to one stream and survivors to another.
#[derive(Clone, Copy, Debug, Default)]
pub struct SepGc;

impl Streams for SepGc {
    fn streams(&self) -> u8 {
        2
    }
}

impl Placement for SepGc {
    type Page = ();

    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        Some(WRITTEN)
    }

    #[inline(always)]
    fn host(&mut self, (): (), _: &impl HostWrite) -> u8 {
        WRITTEN
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        COPIED
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(COPIED)
    }
}

impl Registered for SepGc {
    const INFO: PolicyInfo = PolicyInfo {
        name: "sep-gc",
        aliases: &["hot-cold", "two-region"],
        source: "Shin 2011, as in update-interval paper §2; Van Houdt 2014; SepBIT (FAST 2022) §4.1",
        summary: "host writes and survivors apart; most of what separation gains, without memory",
        params: NoParams::info,
    };

    fn build(args: &Args, _: &Context) -> Result<Self, ParamError> {
        NoParams::read(args).map(|_| Self)
    }
}
