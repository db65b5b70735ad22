//! Results of the front of a drive: a write buffer, an SLC cache.

use thermocline_ftl::{BufferCounters, CacheCounters};

use crate::{
    facts::Facts,
    metric::{Format, Look, part},
};

part! {
    /// What the device's write buffer did; absent where it has none.
    #[derive(Copy)]
    pub struct WriteBuffer ("write buffer") {
        /// Share of the pages written that replaced a page still in the buffer; `null` without host writes.
        pub hit_share: Option<f64>
            => Look::line("of the pages written, coalesced", Format::Percent).column("buffer\nhits", 12).more(),
        /// Pages written that replaced a page still in the buffer.
        pub coalesced_pages: u64 => Look::line("pages coalesced", Format::Count),
        /// Pages that went to the flash because the buffer was full.
        pub evicted_pages: u64 => Look::line("pages evicted", Format::Count),
        /// Pages that went to the flash because the host flushed.
        pub flushed_pages: u64 => Look::line("pages flushed", Format::Count).quiet(),
        /// Pages that the host trimmed while they were in the buffer.
        pub trimmed_pages: u64 => Look::line("pages trimmed in it", Format::Count).quiet(),
        /// Pages read from the buffer.
        pub read_hits: u64 => Look::line("pages read from it", Format::Count).quiet(),
        /// Bytes in the buffer at the end, which the flash does not have yet.
        pub left_bytes: u64 => Look::line("left in it", Format::Bytes),
    }
}

impl WriteBuffer {
    pub(super) fn of(facts: &Facts<'_>, did: BufferCounters) -> Self {
        let page = u64::from(facts.setup.plan.device.profile.geometry.page_size);
        Self {
            hit_share: (did.writes > 0).then(|| did.coalesced as f64 / did.writes as f64),
            coalesced_pages: did.coalesced,
            evicted_pages: did.evictions,
            flushed_pages: did.flushed,
            trimmed_pages: did.trimmed,
            read_hits: did.read_hits,
            left_bytes: did.left * page,
        }
    }
}

part! {
    /// What the device's SLC cache did; absent where it has none.
    #[derive(Copy)]
    pub struct SlcCache ("SLC cache") {
        /// Share of the pages that reached the flash which the cache took; `null` without any.
        pub hit_share: Option<f64>
            => Look::line("of the pages that reached the flash, cached", Format::Percent).column("SLC\ncache", 12),
        /// Pages programmed in it; part of `flash.pages_programmed`.
        pub programmed_pages: u64 => Look::line("pages programmed", Format::Count),
        /// Pages moved from it to the log; part of `flash.pages_copied`.
        pub folded_pages: u64 => Look::line("pages folded", Format::Count),
        /// Pages that bypassed it, because it had no block for them.
        pub bypassed_pages: u64 => Look::line("pages that bypassed it", Format::Count),
        /// Pages that the host trimmed in it.
        pub trimmed_pages: u64 => Look::line("pages trimmed in it", Format::Count).quiet(),
        /// Its blocks that were erased; part of `flash.blocks_erased`.
        pub erased_blocks: u64 => Look::line("blocks erased", Format::Count),
        /// Bytes of current pages in it at the end.
        pub left_bytes: u64 => Look::line("left in it", Format::Bytes),
        /// Blocks that held pages at the end.
        pub blocks: u64 => Look::line("blocks in use", Format::Count),
        /// The most blocks that ever did.
        pub most_blocks: u64 => Look::line("most blocks in use", Format::Count),
    }
}

impl SlcCache {
    pub(super) fn of(facts: &Facts<'_>, did: CacheCounters) -> Self {
        let page = u64::from(facts.setup.plan.device.profile.geometry.page_size);
        let reached = did.writes + did.bypassed;
        Self {
            hit_share: (reached > 0).then(|| did.writes as f64 / reached as f64),
            programmed_pages: did.writes,
            folded_pages: did.folded,
            bypassed_pages: did.bypassed,
            trimmed_pages: did.trimmed,
            erased_blocks: did.erases,
            left_bytes: did.left * page,
            blocks: did.blocks,
            most_blocks: did.most_blocks,
        }
    }
}
