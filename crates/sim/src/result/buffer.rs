//! Results of a write buffer.

use thermocline_ftl::BufferCounters;

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
