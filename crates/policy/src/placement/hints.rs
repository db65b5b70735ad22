//! Placement by the host's hints, as NVMe FDP has it with *initially isolated* handles (NVMe TP4146,
//! 2022): what the host writes with one handle shares reclaim units (blocks) only with the same
//! handle, and what garbage collection copies, of whatever handle, goes to units of its own.
//!
//! Nothing is stored per page. A write without a hint, and the fill, have a handle of their own, as
//! FDP has a default one. Without any hints this places as [SepGC](super::SepGc) does.

use thermocline_flash::Lpn;

use super::{
    Ahead, Answer, HostWrite, Placement, Registered, Streams, Survivors,
    handles::{Handles, HintsParams},
};
use crate::{Args, Context, ParamError, PolicyInfo};

/// Sends host writes to the stream of their handle, and all survivors to one.
#[derive(Clone, Debug)]
pub struct Hints {
    handles: Handles,
}

impl Hints {
    #[inline(always)]
    const fn copied(&self) -> u8 {
        self.handles.count()
    }
}

impl Streams for Hints {
    fn streams(&self) -> u8 {
        self.copied() + 1
    }

    fn is_hot_stream(&self, stream: u8) -> bool {
        stream != self.copied()
    }

    #[inline(always)]
    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        Some(&mut self.handles)
    }
}

impl Placement for Hints {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        self.handles.of(write.lpn())
    }

    #[inline(always)]
    fn written(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        self.handles.written(lpn);
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        self.copied()
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(self.copied())
    }
}

impl Registered for Hints {
    const MODELS_HOST: bool = true;
    const INFO: PolicyInfo = PolicyInfo {
        name: "hints",
        aliases: &["fdp", "fdp-initially-isolated"],
        source: "NVMe TP4146 (Flexible Data Placement, 2022), initially isolated handles",
        summary: "a stream for each placement hint of the host, one for all survivors",
        params: HintsParams::info,
    };

    fn reads_hints(_: &Args) -> bool {
        true
    }

    fn build(args: &Args, _: &Context) -> Result<Self, ParamError> {
        Handles::read(args, false).map(|handles| Self { handles })
    }
}
