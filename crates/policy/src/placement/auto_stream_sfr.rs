//! AutoStream SFR, sequentiality, frequency, recency: chunks of 2 MiB by the logarithm of their
//! decaying write counts (Yang, Pandurangan, Choi, Balakrishnan, SYSTOR 2017; as the SepBIT paper,
//! FAST 2022, §4.1, runs it).
//!
//! A write that continues where the last one ended goes to the same stream. Any other goes to
//! stream ⌊ln(writes)⌋ of its chunk. The chunk's count is halved for every 16,384 pages that the
//! host wrote since the chunk was last touched. Survivors have their own stream.
//!
//! A placement sees pages, not requests. A request is assumed to touch a chunk when a page does not
//! follow the last one in its chunk. Trims do not change chunks, because most pages of a chunk
//! remain.

use alloc::{vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

use super::{
    Answer, HostWrite, Placement, Registered, Streams, Survivors, auto_stream_mq::level, runs::Runs,
};
use crate::{
    Args, Context, ParamError, PolicyInfo, params,
    params::{MAX_STREAMS, within},
};

params! {
    /// Parameters of [`AutoStreamSfr`].
    pub struct AutoStreamSfrParams {
        /// Number of streams, 2 to 32: one for copies, the others for host writes.
        streams: u32 = 6,
        /// Pages of a chunk, at least 1; 2 MiB of 4 KiB pages.
        chunk: u32 = 512,
        /// Pages written by the host in which a chunk's count is halved, at least 1.
        half_life: u32 = 16_384,
    }
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    last: u64,
    writes: u32,
}

/// Sends host writes to the stream of their chunk's count, and survivors to the last stream.
#[derive(Clone, Debug)]
pub struct AutoStreamSfr {
    params: AutoStreamSfrParams,
    chunks: Vec<Chunk>,
    /// The highest stream for host writes.
    top: u8,
    /// Pages written by the host.
    writes: u64,
    runs: Runs,
    /// Chunk and stream of the page written last.
    current: u32,
    level: u8,
}

impl AutoStreamSfr {
    /// Records a host write of a page; returns its stream.
    #[inline(always)]
    fn write(&mut self, lpn: Lpn) -> u8 {
        let at = lpn.0 / self.params.chunk;
        let sequential = self.runs.goes_on_with(lpn);
        if at != self.current || !sequential {
            let writes = self.touch(at);
            if !sequential {
                self.level = level(writes, self.top);
            }
            self.current = at;
        }
        self.runs.written(lpn);
        self.writes += 1;
        self.level
    }

    /// Counts a request that touches a chunk; returns the chunk's count.
    fn touch(&mut self, at: u32) -> u32 {
        let chunk = &mut self.chunks[at as usize];
        let halvings = (self.writes - chunk.last) / u64::from(self.params.half_life);
        chunk.writes = chunk.writes.checked_shr(halvings.min(32) as u32).unwrap_or(0);
        chunk.writes = chunk.writes.saturating_add(1);
        chunk.last = self.writes;
        chunk.writes
    }
}

impl Streams for AutoStreamSfr {
    fn streams(&self) -> u8 {
        self.top + 2
    }
}

impl Placement for AutoStreamSfr {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        self.write(write.lpn())
    }

    fn filled(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        self.write(lpn);
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        self.top + 1
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(self.top + 1)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.chunks, (lpn.0 / self.params.chunk) as usize);
    }
}

impl Registered for AutoStreamSfr {
    const INFO: PolicyInfo = PolicyInfo {
        name: "auto-stream-sfr",
        aliases: &["auto-stream", "sfr"],
        source: "Yang, Pandurangan, Choi, Balakrishnan, SYSTOR 2017; SepBIT paper (FAST 2022) §4.1",
        summary: "sequential writes together, others by how often and lately their 2 MiB were written",
        params: AutoStreamSfrParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let params = AutoStreamSfrParams::read(args)?;
        let streams = within("streams", params.streams, 2..=MAX_STREAMS)?;
        let chunk = within("chunk", params.chunk, 1..=u32::MAX)?;
        within("half_life", params.half_life, 1..=u32::MAX)?;
        let chunks = context.logical_pages.div_ceil(chunk) as usize;
        Ok(Self {
            params,
            chunks: vec![Chunk { last: 0, writes: 0 }; chunks],
            top: streams as u8 - 2,
            writes: 0,
            runs: Runs::new(),
            current: u32::MAX,
            level: 0,
        })
    }
}
