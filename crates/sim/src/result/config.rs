//! The settings of the run, with every default filled in.

use thermocline_flash::{Energy, Geometry, Kind, Profile, Rules, Suspend};
use thermocline_policy::{params::ParamValue, preset::LayerKind};

use crate::{
    facts::Facts,
    job::{Clock, Fill},
    metric::{Look, part},
};

part! {
    /// The settings of the run, with every default filled in.
    pub struct Config ("config") of facts {
        /// What the user called the policy.
        pub policy: String = facts.job.policy.name.clone() => Look::HIDDEN,
        /// Translation layer.
        pub layer: String = facts.job.policy.layer.name().into() => Look::HIDDEN,
        /// Victim policy with its arguments, on the block-mapped layer the choice among pairs; `null`
        /// for the in-place baseline.
        pub victim: Option<String> = victim(facts) => Look::HIDDEN,
        /// Placement with its arguments; `null` for all but the page-mapped layer.
        pub placement: Option<String> = facts.is_page_mapped().then(|| facts.job.policy.placement.show())
            => Look::HIDDEN,
        /// Read-only and writable data in separate blocks.
        pub read_only_separation: bool = facts.job.policy.read_only_separation => Look::HIDDEN,
        /// `none`, `swap`, or `gap` (of erase counts, on the block-mapped layer).
        pub wear_leveling: String = wear_leveling(facts).into() => Look::HIDDEN,
        /// What makes cleaning start, and the watermarks of each bank.
        pub trigger: Trigger = Trigger::of(facts) => Look::HIDDEN,
        /// `paced`, or the most copies after a page of the host; absent where victims are cleaned whole.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pacing: Option<String> = facts.page_work.map(|_| facts.job.policy.pacing.to_string())
            => Look::HIDDEN,
        /// `static` or `dynamic`: how pages are spread over banks.
        pub bank_assignment: String = facts.job.policy.bank_assignment.show() => Look::HIDDEN,
        /// Requests worked on at once; absent where it was left open.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub queue_depth: Option<u32> = facts.job.queue_depth => Look::HIDDEN,
        /// Most reads that pass an operation of their bank; absent where none does.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reads_first: Option<u32> = facts.setup.reads_first.map(|rule| rule.most) => Look::HIDDEN,
        /// Microseconds to suspend a program for a read; absent where it cannot be suspended.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub suspend_program_us: Option<f64> =
            suspend(facts).map(|it| it.program_ns as f64 / 1000.0) => Look::HIDDEN,
        /// Microseconds to suspend an erase for a read; absent where it cannot be suspended.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub suspend_erase_us: Option<f64> =
            suspend(facts).map(|it| it.erase_ns as f64 / 1000.0) => Look::HIDDEN,
        /// Bytes of RAM for changes of the map; absent where the map is in RAM.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub map_cache_bytes: Option<u64> = facts.job.map_cache => Look::HIDDEN,
        /// Cleaning in idle time; absent where there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub idle: Option<Idle> = idle(facts) => Look::HIDDEN,
        /// Whom the layer believes that data are dead.
        pub dead_data: String = facts.job.policy.dead_data.show() => Look::HIDDEN,
        /// The device.
        pub device: Device = (&facts.setup.plan.device.profile).into() => Look::HIDDEN,
        /// Logical pages the device exports in this run.
        pub logical_pages: u32 = facts.setup.plan.logical_pages => Look::HIDDEN,
        /// Pages written before the statistics began, in sequence if `preconditioned` is absent.
        pub filled_pages: u32 = facts.setup.filled_pages => Look::HIDDEN,
        /// `shuffled` where they were written in random order; absent otherwise.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub preconditioned: Option<String> =
            (facts.job.fill == Fill::Shuffled).then_some("shuffled".into()) => Look::HIDDEN,
        /// Logical pages that are used, the first ones; absent where all are.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub used_pages: Option<u32> = facts.job.used.map(|_| facts.setup.used_pages) => Look::HIDDEN,
        /// Pages that each page of the device stands for; absent where it is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scale: Option<u32> = Some(facts.job.scale).filter(|scale| *scale > 1) => Look::HIDDEN,
        /// Physical over logical data pages, less 1.
        pub over_provisioning: f64 =
            facts.data_pages() as f64 / f64::from(facts.setup.plan.logical_pages) - 1.0 => Look::HIDDEN,
        /// Filled share of the capacity the papers speak of: data pages less the reserve.
        pub utilization: f64 = f64::from(facts.setup.filled_pages) / facts.setup.capacity as f64
            => Look::HIDDEN,
        /// `device` or `arrivals`.
        pub clock: String =
            if facts.setup.clock == Clock::Arrivals { "arrivals" } else { "device" }.into()
            => Look::HIDDEN,
        /// Time scale of age transformations where none was named.
        pub time_scale_us: f64 = facts.setup.plan.time_scale_ns / 1000.0 => Look::HIDDEN,
        /// Pages the host wrote before the statistics began, beside the fill; absent without a warm-up.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub warm_up_pages: Option<u64> =
            Some(facts.setup.warm_up_pages(facts.job)).filter(|pages| *pages > 0) => Look::HIDDEN,
        /// The seed.
        pub seed: u64 = facts.job.seed => Look::HIDDEN,
    }
}

fn suspend(facts: &Facts<'_>) -> Option<Suspend> {
    facts.setup.reads_first?.suspend
}

part! {
    /// Cleaning in idle time.
    #[derive(Eq)]
    pub struct Idle ("idle") {
        /// The idle policy with its arguments.
        pub policy: String => Look::HIDDEN,
        /// Free blocks in each bank at which it ends, on a page-mapped layer.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub free_blocks: Option<u32> => Look::HIDDEN,
    }
}

part! {
    /// When cleaning starts and stops, in free blocks of a bank.
    #[derive(Eq)]
    pub struct Trigger ("trigger") of facts {
        /// `lazy`, `eager` or `falling`.
        pub kind: String = facts.job.policy.trigger.show() => Look::HIDDEN,
        /// Blocks kept for the cleaner.
        pub reserve_blocks: u32 = facts.setup.plan.watermarks.reserve => Look::HIDDEN,
        /// Cleaning starts below.
        pub low_blocks: u32 = facts.setup.plan.watermarks.low => Look::HIDDEN,
        /// Cleaning stops at.
        pub high_blocks: u32 = facts.setup.plan.watermarks.high => Look::HIDDEN,
        /// Blocks cleaned at once, where the placement sorts survivors.
        pub batch_blocks: u32 = facts.job.policy.batch => Look::HIDDEN,
    }
}

part! {
    /// The device of a run.
    pub struct Device ("device") {
        /// Profile.
        pub name: String => Look::HIDDEN,
        /// NOR or NAND.
        pub kind: Kind => Look::HIDDEN,
        /// Shape.
        pub geometry: Geometry => Look::HIDDEN,
        /// Rules of the medium.
        pub rules: Rules => Look::HIDDEN,
        /// Whole read of a page.
        pub read_us: f64 => Look::HIDDEN,
        /// Whole program of a page.
        pub program_us: f64 => Look::HIDDEN,
        /// Moving a page during cleaning.
        pub copy_us: f64 => Look::HIDDEN,
        /// Whole erase of a block.
        pub erase_us: f64 => Look::HIDDEN,
        /// Where the rated program/erase cycles come from; absent where the profile does not say.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub endurance_source: Option<String> => Look::HIDDEN,
        /// Energy of the operations; absent where no source gives it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub energy: Option<Energy> => Look::HIDDEN,
        /// Bytes of its write buffer; absent where it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub write_buffer_bytes: Option<u64> => Look::HIDDEN,
        /// Which page leaves that first: `lru` or `fifo`; absent where it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub write_buffer_order: Option<String> => Look::HIDDEN,
        /// `fixed` or `dynamic`, its SLC cache; absent where it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub slc_cache: Option<String> => Look::HIDDEN,
        /// Share of the blocks in that, or the most that it borrows; absent where it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub slc_cache_share: Option<f64> => Look::HIDDEN,
        /// Bits of a cell outside that; absent where it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub slc_cache_bits: Option<u32> => Look::HIDDEN,
        /// Pages of a stripe over the dies of a superblock, one of them parity; absent where there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub stripe_pages: Option<u32> => Look::HIDDEN,
        /// Bytes that a drive programs beside each byte of a page (parity, metadata); absent for a chip.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub overhead: Option<f64> => Look::HIDDEN,
    }
}

impl From<&Profile> for Device {
    fn from(p: &Profile) -> Self {
        let us = |ns: u64| ns as f64 / 1000.0;
        Self {
            name: p.name.clone(),
            kind: p.kind,
            geometry: p.geometry,
            rules: p.rules,
            read_us: us(p.timing.read()),
            program_us: us(p.timing.program()),
            copy_us: us(p.timing.copy_ns),
            erase_us: us(p.timing.erase()),
            endurance_source: endurance_source(p).map(str::to_owned),
            energy: p.energy,
            write_buffer_bytes: p.write_buffer.map(|buffer| buffer.bytes),
            write_buffer_order: p.write_buffer.map(|buffer| buffer.order.name().into()),
            slc_cache: p.slc_cache.map(|cache| cache.size.name().into()),
            slc_cache_share: p.slc_cache.map(|cache| cache.share),
            slc_cache_bits: p.slc_cache.map(|cache| cache.bits),
            stripe_pages: p.stripe_pages,
            overhead: p.metadata(),
        }
    }
}

/// The source of the endurance: the one that begins with it, else the first that mentions it.
fn endurance_source(profile: &Profile) -> Option<&str> {
    let sources = || profile.sources.iter().map(String::as_str);
    let named = |source: &&str| source.to_lowercase().contains("endurance");
    sources().find(|source| source.starts_with("Endurance")).or_else(|| sources().find(named))
}

fn victim(facts: &Facts<'_>) -> Option<String> {
    (facts.is_page_mapped() || facts.is_nftl()).then(|| facts.job.policy.victim.show())
}

fn wear_leveling(facts: &Facts<'_>) -> &'static str {
    match facts.job.policy.layer {
        LayerKind::Nftl if facts.setup.levels_wear => "gap",
        LayerKind::Nftl => "none",
        _ if facts.job.policy.swap => "swap",
        _ => "none",
    }
}

/// On its own clock a device is never idle, and the in-place layer leaves nothing to clean.
fn idle(facts: &Facts<'_>) -> Option<Idle> {
    let cleans = facts.is_page_mapped() || facts.is_nftl();
    let is_idle = facts.measured.last_arrival_ns.is_some() && cleans;
    facts.job.policy.idle.as_ref().filter(|_| is_idle).map(|idle| Idle {
        policy: idle.show(),
        free_blocks: facts.is_page_mapped().then_some(facts.setup.plan.idle_free),
    })
}
