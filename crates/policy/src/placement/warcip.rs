//! WARCIP: host writes in clusters of similar rewrite intervals (Yang, Pei, Yang, SYSTOR 2019; as
//! the SepBIT paper, FAST 2022, §4.1, runs it).
//!
//! A page written again after an interval joins the cluster with the nearest centre. The centre,
//! which is the mean interval of the pages in the cluster's open block, moves. A page that was
//! copied had been put with data too hot for it, so its age at its last copy is added to its next
//! interval. All copies have their own stream.
//!
//! After every 256 blocks that the clusters filled, a cluster that took more than half of the
//! writes is split if a stream is free. Otherwise, a cluster that took less than a block of writes
//! is removed when its block is full. Time counts pages written by the host.
//!
//! Memory: 8 bytes a page, 24 after 4·10⁹ page writes.

use alloc::{vec, vec::Vec};
use core::hint::select_unpredictable;

use thermocline_flash::{BlockId, Lpn};

use super::{Answer, Entry, HostWrite, Placement, Registered, Streams, Survivors, beyond::Beyond};
use crate::{
    Args, Context, ParamError, PolicyInfo, params,
    params::{MAX_STREAMS, within},
};

/// Number of blocks filled by clusters between two checks for a split or a merge.
const PERIOD: u32 = 256;

/// No host write; the first one has number 1.
const NEVER: u64 = 0;

params! {
    /// Parameters of [`Warcip`].
    pub struct WarcipParams {
        /// Number of streams, 2 to 32: one for copies, the others for clusters.
        streams: u32 = 6,
    }
}

/// The cluster of a stream.
#[derive(Clone, Copy, Debug, Default)]
struct Cluster {
    active: bool,
    /// Mean interval of the pages in the open block; infinitely far from any interval if inactive.
    centre: f64,
    pages: u64,
    /// Pages written since the last check.
    writes: u64,
}

/// Sends host writes to the stream of their interval's cluster, and survivors to the last stream.
#[derive(Clone, Debug)]
pub struct Warcip {
    /// State of a page: the last host write, or [`NEVER`], and the age at its last copy, if it was
    /// copied since.
    beyond: Beyond<[u64; 2]>,
    /// Clusters by stream. The next stream number is for copies.
    clusters: Vec<Cluster>,
    /// The stream whose cluster is removed when its block is full.
    leaving: Option<u8>,
    /// Pages written by the host.
    writes: u64,
    /// Blocks filled by clusters since the last check.
    filled: u32,
    pages_per_block: u64,
}

impl Warcip {
    /// Chooses the stream of a page that the host is about to write.
    #[inline(always)]
    fn place(&mut self, page: u64, lpn: Lpn) -> u8 {
        let [last, penalty] = self.beyond.unpack(lpn, page);
        let interval = if last == NEVER { 0 } else { self.writes + 1 - last + penalty };
        self.join(interval as f64)
    }

    fn join(&mut self, interval: f64) -> u8 {
        // The nearest centre is unpredictable, so the search has no branch on it.
        let (mut nearest, mut least) = (0, f64::INFINITY);
        for (stream, cluster) in self.clusters.iter().enumerate() {
            let distance = libm::fabs(cluster.centre - interval);
            nearest = select_unpredictable(distance < least, stream, nearest);
            least = select_unpredictable(distance < least, distance, least);
        }
        let cluster = &mut self.clusters[nearest];
        let pages = cluster.pages as f64;
        cluster.centre = (cluster.centre * pages + interval) / (pages + 1.0);
        cluster.pages += 1;
        cluster.writes += 1;
        nearest as u8
    }

    fn split_or_merge(&mut self) {
        let total: u64 = self.clusters.iter().map(|c| c.writes).sum();
        let busy = self.clusters.iter().position(|c| c.active && c.writes > total / 2);
        let free = self.clusters.iter().position(|c| !c.active);
        if let (Some(busy), Some(free)) = (busy, free) {
            // The new centre is half-way to the next lower one.
            let centre = self.clusters[busy].centre;
            let lower = self.clusters.iter().filter(|c| c.active && c.centre < centre);
            let below = lower.map(|c| c.centre).fold(0.0, f64::max);
            let centre = (below + centre) / 2.0;
            self.clusters[free] = Cluster { active: true, centre, pages: 0, writes: 0 };
        } else if self.leaving.is_none() && self.clusters.iter().filter(|c| c.active).count() > 1 {
            let idle = |c: &Cluster| c.active && c.writes < self.pages_per_block;
            self.leaving = self.clusters.iter().position(idle).map(|stream| stream as u8);
        }
        for cluster in &mut self.clusters {
            cluster.writes = 0;
        }
    }
}

impl Streams for Warcip {
    fn streams(&self) -> u8 {
        self.clusters.len() as u8 + 1
    }

    fn closing(&mut self, _bank: u32, _block: BlockId, stream: u8) -> Entry {
        let Some(cluster) = self.clusters.get_mut(usize::from(stream)) else {
            return Entry::Indexed; // copies
        };
        cluster.pages = 0;
        if self.leaving == Some(stream) {
            self.leaving = None;
            (cluster.active, cluster.centre) = (false, f64::INFINITY);
        }
        self.filled += 1;
        if self.filled == PERIOD {
            self.filled = 0;
            self.split_or_merge();
        }
        Entry::Indexed
    }
}

impl Placement for Warcip {
    type Page = u64;

    #[inline(always)]
    fn host(&mut self, page: u64, write: &impl HostWrite) -> u8 {
        self.place(page, write.lpn())
    }

    fn filled(&mut self, page: &mut u64, lpn: Lpn, now: u64) {
        self.place(0, lpn);
        self.written(page, lpn, now);
    }

    #[inline(always)]
    fn written(&mut self, page: &mut u64, lpn: Lpn, _: u64) {
        self.writes += 1;
        *page = self.beyond.pack(lpn, [self.writes, 0]);
    }

    #[inline(always)]
    fn survivor(&mut self, page: &mut u64, lpn: Lpn, _: u64) -> u8 {
        let [last, _] = self.beyond.unpack(lpn, *page);
        if last != NEVER {
            *page = self.beyond.pack(lpn, [last, self.writes - last]);
        }
        self.clusters.len() as u8
    }

    #[inline(always)]
    fn survivors(&mut self, survivors: &mut Survivors<'_, u64>) -> Answer {
        survivors.ask(self);
        Answer::Together(self.clusters.len() as u8)
    }
}

impl Registered for Warcip {
    const INFO: PolicyInfo = PolicyInfo {
        name: "warcip",
        aliases: &[],
        source: "Yang, Pei, Yang, SYSTOR 2019; SepBIT paper (FAST 2022) §4.1",
        summary: "host writes in clusters of like rewrite intervals, copies apart",
        params: WarcipParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let streams = WarcipParams::read(args)?.streams;
        let streams = within("streams", streams, 2..=MAX_STREAMS)? as usize;
        Ok(Self {
            beyond: Beyond::none(context.logical_pages),
            clusters: vec![Cluster { active: true, ..Cluster::default() }; streams - 1],
            leaving: None,
            writes: 0,
            filled: 0,
            pages_per_block: u64::from(context.pages_per_block),
        })
    }
}
