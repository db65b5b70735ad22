//! Placement by the host's hints, as NVMe FDP has it with *persistently isolated* handles (NVMe
//! TP4146, 2022): the copies of garbage collection, too, share reclaim units (blocks) only with what
//! was written with the same handle.
//!
//! Copies of a handle have a stream apart from its writes, because they live longer. Nothing is
//! stored per page: a block tells the handle of its pages. A page that spilt to another stream for
//! want of a free block counts to the handle of that stream from then on.

use thermocline_flash::Lpn;

use super::{
    Ahead, Answer, Cleaning, HostWrite, Placement, Registered, Streams, Survivors,
    handles::{Handles, HintsParams},
};
use crate::{Args, Context, ParamError, PolicyInfo};

/// Sends host writes to the stream of their handle, and survivors to another of the same handle.
#[derive(Clone, Debug)]
pub struct HintsIsolated {
    handles: Handles,
    /// The stream of the victim's survivors.
    copied: u8,
}

impl Streams for HintsIsolated {
    fn streams(&self) -> u8 {
        2 * self.handles.count()
    }

    fn is_hot_stream(&self, stream: u8) -> bool {
        stream < self.handles.count()
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        let count = self.handles.count();
        // Read-only data have a stream beyond these, and stay there.
        self.copied = count + victim.stream % count;
    }

    #[inline(always)]
    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        Some(&mut self.handles)
    }
}

impl Placement for HintsIsolated {
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
        self.copied
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(self.copied)
    }
}

impl Registered for HintsIsolated {
    const MODELS_HOST: bool = true;
    const INFO: PolicyInfo = PolicyInfo {
        name: "hints-isolated",
        aliases: &["fdp-persistently-isolated"],
        source: "NVMe TP4146 (Flexible Data Placement, 2022), persistently isolated handles",
        summary: "a stream for each placement hint of the host, and another for its survivors",
        params: HintsParams::info,
    };

    fn reads_hints(_: &Args) -> bool {
        true
    }

    fn build(args: &Args, _: &Context) -> Result<Self, ParamError> {
        let handles = Handles::read(args, true)?;
        Ok(Self { copied: handles.count(), handles })
    }
}
