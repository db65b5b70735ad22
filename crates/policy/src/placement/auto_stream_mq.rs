//! AutoStream MQ: chunks of 1 MiB in queues by the logarithm of their writes (Yang, Pandurangan,
//! Choi, Balakrishnan, SYSTOR 2017; as the SepBIT paper, FAST 2022, §4.1, runs it).
//!
//! A request goes to the stream of its chunk's queue. Then it adds 1 to the writes of each chunk it
//! touches and moves the chunk to the end of queue ⌊ln(writes)⌋. (If the queue were looked up after
//! that, expiry would have no effect.) A chunk not written for the *life time*, which is the last
//! rewrite interval of the hottest chunk, expires. After each write the first chunk of each queue
//! moves down a queue if it has expired. If it was the hottest, the next in its queue becomes the
//! hottest. Time counts writes to chunks. Survivors have their own stream.
//!
//! A placement sees pages, not requests. A request is assumed to touch a chunk when a page does not
//! follow the last one in its chunk. Trims do not change chunks, because most pages of a chunk
//! remain.

use alloc::{vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

use super::{Answer, HostWrite, Placement, Registered, Streams, Survivors, runs::Runs};
use crate::{
    Args, Context, ParamError, PolicyInfo, params,
    params::{MAX_STREAMS, within},
};

/// No chunk, or no queue.
const NONE: u32 = u32::MAX;

params! {
    /// Parameters of [`AutoStreamMq`].
    pub struct AutoStreamMqParams {
        /// Number of streams, 2 to 32: one for copies, the others for the queues.
        streams: u32 = 6,
        /// Pages of a chunk, at least 1; 1 MiB of 4 KiB pages.
        chunk: u32 = 256,
    }
}

/// The smallest number of writes of each level from 1 on: eᵏ, rounded up.
const LEAST: [u32; 22] = [
    3,
    8,
    21,
    55,
    149,
    404,
    1_097,
    2_981,
    8_104,
    22_027,
    59_875,
    162_755,
    442_414,
    1_202_605,
    3_269_018,
    8_886_111,
    24_154_953,
    65_659_970,
    178_482_301,
    485_165_196,
    1_318_815_735,
    3_584_912_847,
];

/// ⌊ln(writes)⌋, at most `top`.
#[inline]
pub(super) fn level(writes: u32, top: u8) -> u8 {
    LEAST.iter().take(usize::from(top)).map(|&least| u8::from(writes >= least)).sum()
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    last: u64,
    expires: u64,
    writes: u32,
    queue: u32,
    /// Neighbours in the queue.
    before: u32,
    after: u32,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
}

/// Sends host writes to the stream of their chunk's queue, and survivors to the last stream.
#[derive(Clone, Debug)]
pub struct AutoStreamMq {
    chunk: u32,
    chunks: Vec<Chunk>,
    queues: Vec<Queue>,
    /// Writes to chunks.
    writes: u64,
    hottest: u32,
    most_writes: u32,
    life_time: u64,
    runs: Runs,
    /// Chunk and stream of the page written last.
    current: u32,
    stream: u8,
}

impl AutoStreamMq {
    /// Records a host write of a page; returns its stream.
    #[inline(always)]
    fn write(&mut self, lpn: Lpn) -> u8 {
        let at = lpn.0 / self.chunk;
        if at != self.current || !self.runs.goes_on_with(lpn) {
            let queue = self.chunks[at as usize].queue;
            self.stream = if queue == NONE { 0 } else { queue as u8 };
            self.promote(at);
            self.demote();
            self.current = at;
        }
        self.runs.written(lpn);
        self.stream
    }

    fn leave(&mut self, at: u32) {
        let Chunk { queue, before, after, .. } = self.chunks[at as usize];
        if queue == NONE {
            return;
        }
        match before {
            NONE => self.queues[queue as usize].first = after,
            _ => self.chunks[before as usize].after = after,
        }
        match after {
            NONE => self.queues[queue as usize].last = before,
            _ => self.chunks[after as usize].before = before,
        }
    }

    fn enter(&mut self, at: u32, queue: u32) {
        let before = core::mem::replace(&mut self.queues[queue as usize].last, at);
        match before {
            NONE => self.queues[queue as usize].first = at,
            _ => self.chunks[before as usize].after = at,
        }
        let chunk = &mut self.chunks[at as usize];
        (chunk.queue, chunk.before, chunk.after) = (queue, before, NONE);
    }

    fn promote(&mut self, at: u32) {
        self.writes += 1;
        let chunk = &mut self.chunks[at as usize];
        chunk.writes = chunk.writes.saturating_add(1);
        if chunk.writes > self.most_writes {
            self.hottest = at;
            self.life_time = self.writes - chunk.last;
            self.most_writes = chunk.writes;
        }
        chunk.last = self.writes;
        chunk.expires = self.writes + self.life_time;
        let queue = level(chunk.writes, self.queues.len() as u8 - 1);
        self.leave(at);
        self.enter(at, u32::from(queue));
    }

    fn demote(&mut self) {
        for queue in 0..self.queues.len() {
            let at = self.queues[queue].first;
            if at == NONE || self.chunks[at as usize].expires >= self.writes {
                continue;
            }
            let chunk = &mut self.chunks[at as usize];
            chunk.expires = self.writes + self.life_time;
            if at == self.hottest && chunk.after != NONE {
                self.hottest = chunk.after;
                self.most_writes = self.chunks[self.hottest as usize].writes;
            }
            self.leave(at);
            self.enter(at, queue.saturating_sub(1) as u32);
        }
    }
}

impl Streams for AutoStreamMq {
    fn streams(&self) -> u8 {
        self.queues.len() as u8 + 1
    }
}

impl Placement for AutoStreamMq {
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
        self.queues.len() as u8
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(self.queues.len() as u8)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.chunks, (lpn.0 / self.chunk) as usize);
    }
}

impl Registered for AutoStreamMq {
    const INFO: PolicyInfo = PolicyInfo {
        name: "auto-stream-mq",
        aliases: &["mq"],
        source: "Yang, Pandurangan, Choi, Balakrishnan, SYSTOR 2017; SepBIT paper (FAST 2022) §4.1",
        summary: "chunks of 1 MiB in queues by the logarithm of their writes, copies apart",
        params: AutoStreamMqParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = AutoStreamMqParams::read(args)?;
        let streams = within("streams", p.streams, 2..=MAX_STREAMS)? as usize;
        let chunk = within("chunk", p.chunk, 1..=u32::MAX)?;
        let unwritten =
            Chunk { last: 0, expires: 0, writes: 0, queue: NONE, before: NONE, after: NONE };
        Ok(Self {
            chunk,
            chunks: vec![unwritten; context.logical_pages.div_ceil(chunk) as usize],
            queues: vec![Queue { first: NONE, last: NONE }; streams - 1],
            writes: 0,
            hottest: NONE,
            most_writes: 0,
            life_time: 0,
            runs: Runs::new(),
            current: NONE,
            stream: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_the_logarithm_rounded_down() {
        let around = LEAST.iter().flat_map(|&least| [least - 1, least, least + 1]);
        for writes in around.chain(1..3000).chain([u32::MAX]) {
            let exact = libm::log(f64::from(writes)) as u8;
            for top in [0, 1, 4, 22, 30] {
                assert_eq!(level(writes, top), exact.min(top), "{writes} writes, at most {top}");
            }
        }
        assert_eq!(level(0, 4), 0);
    }
}
