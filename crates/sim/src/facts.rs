//! Data available at the end of a run: the counts since the fill, and the measurements.
//!
//! Results are computed only from these.

use std::collections::BTreeMap;

use thermocline_flash::{BlockId, Counts};
use thermocline_ftl::{
    BufferCounters, CacheCounters, Counters, DeadDataCounters, PageWork, TableCounters,
};
use thermocline_policy::preset::LayerKind;

use crate::{
    engine::{Driven, Measured},
    job::Job,
    life::Life,
    result,
    setup::Setup,
};

/// The state after the fill, when statistics begin.
pub(crate) struct Snapshot {
    counters: Counters,
    choices: Vec<(&'static str, u64)>,
    counts: Counts,
    dead_data: Option<DeadDataCounters>,
    write_buffer: Option<BufferCounters>,
    slc_cache: Option<CacheCounters>,
    mapping_table: Option<TableCounters>,
    erases: Vec<u32>,
}

/// A completed run.
pub(crate) struct Facts<'a> {
    pub job: &'a Job<'a>,
    pub setup: &'a Setup,
    pub measured: &'a Measured,
    /// Counters of the layer.
    pub layer: Counters,
    /// Counts of the chip.
    pub chip: Counts,
    /// Number of blocks chosen by each rule.
    pub choices: BTreeMap<String, u64>,
    /// Dead data that were found, if any were or a source was in use.
    pub dead_data: Option<result::DeadData>,
    /// The placement's report at the end.
    pub report: BTreeMap<String, String>,
    /// Erase count of each block.
    pub erases: Vec<u32>,
    /// Valid pages of each block at the end.
    valid: Vec<u32>,
    /// Work per host page, where it is bounded.
    pub page_work: Option<PageWork>,
    /// Counters of the write buffer.
    pub write_buffer: Option<BufferCounters>,
    /// Counters of the SLC cache.
    pub slc_cache: Option<CacheCounters>,
    /// Counters of the cached mapping table.
    pub mapping_table: Option<TableCounters>,
    /// RAM of the layer, if it was measured.
    pub memory_bytes: Option<u64>,
}

impl Snapshot {
    pub(crate) fn of(layer: &dyn Driven) -> Self {
        Self {
            counters: *layer.inspect().counters(),
            choices: layer.inspect().choices(),
            counts: *layer.chip().counts(),
            dead_data: layer.dead_data(),
            write_buffer: layer.inspect().write_buffer(),
            slc_cache: layer.inspect().slc_cache(),
            mapping_table: layer.inspect().mapping_table(),
            erases: layer.chip().erase_counts().to_vec(),
        }
    }

    /// The facts of a run of `job` on `layer`, given the state `self` after the fill.
    pub(crate) fn facts<'a>(
        &self,
        job: &'a Job<'a>,
        setup: &'a Setup,
        layer: &dyn Driven,
        measured: &'a Measured,
        memory_bytes: Option<u64>,
    ) -> Facts<'a> {
        let did = layer.inspect().counters().since(&self.counters);
        let blocks = setup.plan.device.profile.geometry.blocks();
        let erases = layer.chip().erase_counts().iter().zip(&self.erases);
        Facts {
            job,
            setup,
            measured,
            chip: layer.chip().counts().since(&self.counts),
            choices: self.choices(job, layer, did.victims),
            dead_data: self.dead_data(layer, &did),
            report: layer
                .inspect()
                .report()
                .into_iter()
                .map(|(name, what)| (name.to_owned(), what))
                .collect(),
            erases: erases.map(|(now, then)| now - then).collect(),
            valid: (0..blocks).map(|block| layer.inspect().valid_pages(BlockId(block))).collect(),
            layer: did,
            page_work: layer.inspect().page_work(),
            write_buffer: layer
                .inspect()
                .write_buffer()
                .zip(self.write_buffer)
                .map(|(now, then)| now.since(&then)),
            slc_cache: layer
                .inspect()
                .slc_cache()
                .zip(self.slc_cache)
                .map(|(now, then)| now.since(&then)),
            mapping_table: layer
                .inspect()
                .mapping_table()
                .zip(self.mapping_table)
                .map(|(now, then)| now.since(&then)),
            memory_bytes,
        }
    }

    /// Number of blocks chosen by each rule since the snapshot.
    fn choices(&self, job: &Job<'_>, layer: &dyn Driven, victims: u64) -> BTreeMap<String, u64> {
        let rules = layer.inspect().choices();
        if rules.is_empty() {
            let only = (job.policy.victim.name.clone(), victims);
            let chooses = job.policy.layer != LayerKind::InPlace;
            return chooses.then_some(only).into_iter().collect();
        }
        let before = |rule| self.choices.iter().find(|(r, _)| *r == rule).map_or(0, |(_, n)| *n);
        rules.into_iter().map(|(rule, n)| (rule.to_owned(), n - before(rule))).collect()
    }

    fn dead_data(&self, layer: &dyn Driven, did: &Counters) -> Option<result::DeadData> {
        // Not relative to the snapshot, because file systems are mostly recognised before the
        // statistics begin.
        let watched = layer.dead_data().zip(self.dead_data).map(|(now, then)| DeadDataCounters {
            armed: now.armed,
            disarmed: now.disarmed,
            ..now.since(&then)
        });
        if watched.is_none() && did.dead_left == 0 && did.reclaimed == 0 {
            return None;
        }
        let watched = watched.unwrap_or_default();
        Some(result::DeadData {
            sectors_marked: watched.sectors_marked,
            sectors_revived: watched.sectors_revived,
            pages_left: did.dead_left,
            blocks_reclaimed: did.reclaimed,
            extra_reads: watched.extra_reads,
            armed: watched.armed,
            disarmed: watched.disarmed,
            memory_bytes: watched.memory_bytes,
        })
    }
}

impl Facts<'_> {
    /// Whether the layer has a page-level map.
    pub(crate) fn is_page_mapped(&self) -> bool {
        self.job.policy.layer == LayerKind::PageMapped
    }

    /// Whether the layer is block-mapped.
    pub(crate) fn is_nftl(&self) -> bool {
        self.job.policy.layer == LayerKind::Nftl
    }

    /// Data pages of a block.
    pub(crate) fn pages(&self) -> u32 {
        self.setup.plan.device.profile.geometry.data_pages_per_block()
    }

    /// Data pages of the chip.
    pub(crate) fn data_pages(&self) -> u64 {
        u64::from(self.setup.plan.device.profile.geometry.data_blocks()) * u64::from(self.pages())
    }

    /// Bytes that the device exports; for a sample, those of the whole device.
    pub(crate) fn logical_bytes(&self) -> u64 {
        let page = self.setup.plan.device.profile.geometry.page_size;
        u64::from(self.setup.plan.logical_pages) * u64::from(page) * self.of()
    }

    /// Bytes that are in use.
    pub(crate) fn used_bytes(&self) -> u64 {
        let page = self.setup.plan.device.profile.geometry.page_size;
        u64::from(self.setup.used_pages) * u64::from(page) * self.of()
    }

    /// Bytes of all host writes; for a sample, scaled to the whole device.
    pub(crate) fn host_bytes(&self) -> u64 {
        self.measured.bytes_written * self.of()
    }

    /// Number of pages that each page stands for.
    fn of(&self) -> u64 {
        self.job.stands_for().into()
    }

    /// (host + copied + metadata page programs) / host page writes, as counted.
    pub(crate) fn programs_a_write(&self) -> Option<f64> {
        self.a_write(self.layer.programs())
    }

    /// Programs of new data / host page writes: 1 unless there is a write buffer.
    pub(crate) fn first_programs_a_write(&self) -> Option<f64> {
        self.a_write(self.layer.first_programs())
    }

    fn a_write(&self, programs: u64) -> Option<f64> {
        let writes = self.layer.host_writes;
        (writes > 0).then(|| programs as f64 / writes as f64)
    }

    /// Valid pages of a block.
    pub(crate) fn valid_pages(&self, block: BlockId) -> u32 {
        self.valid[block.0 as usize]
    }

    /// Pages that a file-system watcher read in addition to the host.
    pub(crate) fn extra_reads(&self) -> u64 {
        self.dead_data.map_or(0, |dead| dead.extra_reads)
    }

    /// The data for extrapolating the lifetime.
    pub(crate) fn life(&self) -> Life<'_> {
        let profile = &self.setup.plan.device.profile;
        Life {
            erases: &self.erases[..profile.geometry.data_blocks() as usize],
            endurance: profile.rules.endurance,
            host_bytes: self.host_bytes(),
            more_programs: result::more_programs(self),
            logical_bytes: self.logical_bytes(),
            elapsed_ns: self.measured.elapsed_ns.saturating_sub(self.measured.late_ns),
            arrivals_ns: self.measured.last_arrival_ns,
            requests: self.measured.requests,
            daily_writes: self.job.daily_writes,
        }
    }
}
