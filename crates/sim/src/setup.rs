//! Derived settings of a simulation: the size of the device, the clock, and the fill.

use thermocline_assembly::{Device, LayerPlan, Room, show_pages};
use thermocline_flash::{CacheSize, CountingChip, ReadsFirst, SlcCache, Suspend};
use thermocline_policy::{preset::LayerKind, trigger::Trigger};

use crate::{
    Input, SimError,
    job::{Clock, Fill, Job, ReadOnly},
    load::Rate,
};

/// Derived settings of a simulation.
pub(crate) struct Setup {
    /// The layer.
    pub plan: LayerPlan,
    /// Number of logical pages written before the run.
    pub filled_pages: u32,
    /// Number of logical pages in use; the rest is trimmed after the fill.
    pub used_pages: u32,
    /// Number of pages that each page stands for.
    pub scale: u32,
    /// Number of pages at the start of the device that only the fill writes.
    pub read_only_pages: u32,
    /// Data pages minus the reserve.
    pub capacity: u64,
    pub clock: Clock,
    /// Most blocks of the SLC cache; 0 if there is none.
    pub cached_blocks: u32,
    /// Whether operations overlap between banks, or continue after a request is answered.
    overlaps: bool,
    /// How reads are served first, if they are.
    pub reads_first: Option<ReadsFirst>,
    /// Whether the block-mapped layer levels wear.
    pub levels_wear: bool,
    /// Whether the chip stores the contents known from the input.
    pub keeps_contents: bool,
}

impl Setup {
    pub(crate) fn of(job: &Job<'_>) -> Result<Self, SimError> {
        if job.queue_depth == Some(0) {
            let text = "‹queue-depth 0› does nothing; give it at least 1";
            return Err(SimError::Usage(text.into()));
        }
        let policy = &job.policy;
        if job.stands_for() > 1 && policy.layer != LayerKind::PageMapped {
            let option = if job.scale > 1 { "‹scale›" } else { "‹sample›" };
            let text = format!("{option} is for policies that map pages: others move whole blocks");
            return Err(SimError::Usage(text));
        }
        if job.settle.is_some() && policy.sees_future() {
            let text = "a policy that knows the future cannot run until it settles; leave out ‹settle›, or the policy";
            return Err(SimError::Usage(text.into()));
        }
        if job.suspend.is_some() && job.reads_first.is_none() {
            let text = "‹suspend› does nothing without ‹reads-first›";
            return Err(SimError::Usage(text.into()));
        }
        let device = Self::sized_device(job)?;
        let of_profile = device.profile.suspend;
        let suspend = job.suspend.map(|ns| Suspend { program_ns: ns, erase_ns: ns });
        let rule = |most| ReadsFirst { most, suspend: suspend.or(of_profile) };
        let room = Room::of(&device, policy, job.watermarks)?;
        let logical_pages = logical_pages(job, &device, &room)?;
        let (clock, time_scale_ns) = time(job, &device)?;
        let banks = device.profile.geometry.banks;
        let page_mapped = policy.layer == LayerKind::PageMapped;
        let pairs = device.profile.page_pairs.is_some();
        let used_pages = used_pages(job, logical_pages)?;
        let cached_blocks = most_cached(job, &device);
        Ok(Self {
            cached_blocks,
            plan: LayerPlan::new(
                device,
                policy.clone(),
                &room,
                logical_pages,
                time_scale_ns,
                job.seed,
            )?,
            filled_pages: if job.fill == Fill::Nothing { 0 } else { logical_pages },
            used_pages,
            scale: job.scale,
            read_only_pages: read_only_pages(job, used_pages)?,
            capacity: room.capacity_pages,
            clock,
            levels_wear: policy.layer == LayerKind::Nftl && policy.build_nftl()?.gap > 0,
            keeps_contents: job.input.knows_contents() && policy.wants_contents(),
            // The clock of banks is the page-mapped layer's alone.
            reads_first: job.reads_first.filter(|_| page_mapped).map(rule),
            overlaps: page_mapped && (banks > 1 || pairs || policy.trigger == Trigger::Eager),
        })
    }

    /// Number of pages that the host writes before the statistics begin; for a sample, those within
    /// it.
    pub(crate) fn warm_up_pages(&self, job: &Job<'_>) -> u64 {
        let page = u64::from(self.plan.device.profile.geometry.page_size);
        job.warm_up.div_ceil(page).div_ceil(u64::from(job.stands_for()))
    }

    /// Minimum memory of a layer in bytes: the map and the reverse map.
    pub(crate) fn least_memory(&self) -> u64 {
        if self.plan.policy.layer != LayerKind::PageMapped {
            return 0;
        }
        let pages = self.capacity + u64::from(self.plan.logical_pages);
        pages * size_of::<u32>() as u64
    }

    /// RAM of the layer in bytes, with the map on the chip.
    pub(crate) fn map_ram(&self, job: &Job<'_>) -> u64 {
        let ram = match job.policy.layer {
            LayerKind::Dftl => crate::dftl::ram,
            _ => crate::demand_paged::ram,
        };
        job.map_cache.map_or(0, |cache| ram(self, cache))
    }

    /// An erased chip of the device. Banks, and cleaning after an answer, need a clock. Without
    /// overlap the operation counts give the time.
    pub(crate) fn chip(&self, wears_out: bool) -> CountingChip {
        let profile = &self.plan.device.profile;
        let chip = CountingChip::new(profile.geometry, profile.rules);
        let mut chip = chip.with_timing(profile.timing);
        if let Some(rule) = self.reads_first {
            chip = chip.with_reads_first(profile.timing, rule);
        } else if self.overlaps {
            chip = chip.with_clock(profile.timing);
        }
        if let Some(pairs) =
            profile.page_pairs.filter(|_| self.overlaps || self.reads_first.is_some())
        {
            chip = chip.with_page_pairs(pairs.ns());
        }
        if self.keeps_contents {
            chip = chip.with_payload();
        }
        if wears_out { chip.that_wears_out() } else { chip }
    }

    /// The device with its number of blocks. Only the trace's footprint and the over-provisioning
    /// determine it, not the policy, so a result does not depend on the other policies of a
    /// comparison.
    pub(crate) fn sized_device(job: &Job<'_>) -> Result<Device, SimError> {
        match cut_to_trace(job) {
            Some(Cut { wanted, least }) => {
                let data = wanted.max(least);
                let cached = fixed_cache(job.device.profile.slc_cache)
                    .map_or(0, |share| (data as f64 * share / (1.0 - share)).ceil() as u64);
                with_cache(job.device.sized(data + cached)?)
            }
            None => with_cache(job.device.clone()),
        }
    }
}

/// The share of a fixed SLC cache, if the device has one.
fn fixed_cache(cache: Option<SlcCache>) -> Option<f64> {
    cache.filter(|cache| cache.size == CacheSize::Fixed).map(|cache| cache.share)
}

/// The device with the blocks of its fixed SLC cache apart from its data blocks: they are its last.
///
/// # Errors
/// [`SimError::Usage`] if no data block is left.
pub fn with_cache(mut device: Device) -> Result<Device, SimError> {
    if let Some(share) = fixed_cache(device.profile.slc_cache) {
        let geometry = &mut device.profile.geometry;
        geometry.system_blocks += part_of(share, geometry.data_blocks());
        geometry.check().map_err(|e| SimError::Usage(format!("‹slc-cache›: {e}")))?;
    }
    Ok(device)
}

/// A share of `blocks` blocks, at least one.
fn part_of(share: f64, blocks: u32) -> u32 {
    (share * f64::from(blocks)).round().max(1.0) as u32
}

/// Most blocks of the SLC cache of a device that was sized; those of a fixed one are no data blocks any more.
fn most_cached(job: &Job<'_>, device: &Device) -> u32 {
    let geometry = &device.profile.geometry;
    match device.profile.slc_cache {
        None => 0,
        Some(SlcCache { size: CacheSize::Fixed, .. }) => {
            geometry.system_blocks - job.device.profile.geometry.system_blocks
        }
        Some(SlcCache { share, .. }) => part_of(share, geometry.data_blocks()),
    }
}

/// Open blocks of a bank for which a device sized by a trace has room: as many as any preset keeps.
const OPEN_BLOCKS: u64 = 6;

/// Data blocks of a device that is sized by a trace.
struct Cut {
    /// Number of blocks given by the over-provisioning.
    wanted: u64,
    /// Minimum number of blocks: the data plus free and open blocks in every bank.
    least: u64,
}

/// The size of the device, if the trace determines it.
fn cut_to_trace(job: &Job<'_>) -> Option<Cut> {
    let Input::Trace(trace, _) = job.input else { return None };
    if job.device.fixed_capacity || matches!(job.fill, Fill::Share(_)) || job.wrap {
        return None;
    }
    let geometry = &job.device.profile.geometry;
    let (pages, banks) = (f64::from(geometry.data_pages_per_block()), u64::from(geometry.banks));
    let footprint = f64::from(trace.pages);
    let data = (footprint / pages / banks as f64).ceil() as u64;
    Some(Cut {
        wanted: (footprint * (1.0 + job.over_provisioning) / pages).ceil() as u64,
        least: (data + u64::from(job.watermarks.high) + OPEN_BLOCKS) * banks,
    })
}

/// Whether the trace is so small that its device has more blocks than the over-provisioning
/// requires.
#[must_use]
pub fn is_enlarged(job: &Job<'_>) -> bool {
    cut_to_trace(job).is_some_and(|cut| cut.least > cut.wanted)
}

/// Number of logical pages of the device. Checks that they fit the device and that the trace fits
/// them.
fn logical_pages(job: &Job<'_>, device: &Device, room: &Room) -> Result<u32, SimError> {
    let logical = match (job.fill, job.input) {
        _ if job.logical_pages.is_some() => job.logical_pages.map_or(0, u64::from),
        (Fill::Share(share), _) => (share * room.capacity_pages as f64 + 1e-9) as u64,
        (_, Input::Trace(trace, _)) if !job.wrap => u64::from(trace.pages),
        (_, _) => u64::from(device.exported_pages(job.over_provisioning)),
    };
    if logical > room.most_pages || logical == 0 {
        return Err(SimError::Input(no_room(job, device, room, logical)));
    }
    let page_size = device.profile.geometry.page_size;
    match job.input {
        Input::Trace(trace, _) if u64::from(trace.pages) > logical && !job.wrap => {
            let (needs, holds) =
                (show_pages(trace.pages.into(), page_size), show_pages(logical, page_size));
            Err(SimError::Input(if trace.prelude > 0 {
                format!(
                    "{}: the volume takes {needs}, ‹fill› leaves {holds}; leave it out",
                    trace.path
                )
            } else {
                format!(
                    "{}: the trace needs {needs}, the device holds {holds}; give it more \
                     ‹capacity›, or ‹wrap› the addresses",
                    trace.path
                )
            }))
        }
        _ => Ok(logical as u32),
    }
}

/// Why a device cannot hold this many logical pages.
fn no_room(job: &Job<'_>, device: &Device, room: &Room, logical: u64) -> String {
    let page_size = device.profile.geometry.page_size;
    match job.fill {
        Fill::Share(share) => format!(
            "‹fill {}%› of device {} leaves {}; with policy {} at most {:.1}% can be filled",
            share * 100.0,
            device.profile.name,
            if logical == 0 { "no page filled" } else { "no block to clean into" },
            job.policy.name,
            (room.most_pages as f64 / room.capacity_pages.max(1) as f64 * 1000.0).floor() / 10.0
        ),
        _ if logical == 0 => format!(
            "‹over-provisioning {}%› leaves no page for data; take a smaller one",
            job.over_provisioning * 100.0
        ),
        _ => format!(
            "{} do not fit device {}, which can hold {}; give it more ‹capacity› or more \
             ‹over-provisioning›{}",
            show_pages(logical, page_size),
            device.profile.name,
            show_pages(room.most_pages, page_size),
            if matches!(job.input, Input::Trace(trace, _) if trace.prelude == 0) {
                ", or ‹wrap› the addresses"
            } else {
                ""
            }
        ),
    }
}

/// Number of logical pages in use, the first ones.
fn used_pages(job: &Job<'_>, logical_pages: u32) -> Result<u32, SimError> {
    let Some(used) = job.used else { return Ok(logical_pages) };
    if used == 0 || used > u64::from(logical_pages) {
        return Err(SimError::Usage(format!(
            "‹used {}›: the device exports {}; use at least a page and at most these",
            show_pages(used, job.device.profile.geometry.page_size),
            show_pages(logical_pages.into(), job.device.profile.geometry.page_size)
        )));
    }
    if let Input::Trace(trace, _) = job.input
        && u64::from(trace.pages) > used
        && !job.wrap
    {
        return Err(SimError::Usage(format!(
            "{}: the trace needs more than ‹used› leaves it; take more",
            trace.path
        )));
    }
    Ok(used as u32)
}

/// Number of pages at the start of the device that only the fill writes.
fn read_only_pages(job: &Job<'_>, used: u32) -> Result<u32, SimError> {
    match (job.read_only, job.input) {
        (ReadOnly::Share(share), Input::Workload(_)) if share < 1.0 => {
            Ok((f64::from(used) * share) as u32)
        }
        (ReadOnly::None, _) | (ReadOnly::Unwritten, Input::Trace(..)) => Ok(0),
        _ => Err(SimError::Usage(
            "‹read-only› takes a share below 100% with a pattern (uniform, hot-cold, ...), \
             `unwritten` with a trace or a file workload"
                .into(),
        )),
    }
}

/// The clock, and the time scale of age transformations.
fn time(job: &Job<'_>, device: &Device) -> Result<(Clock, f64), SimError> {
    /// The time scale of the age transformation in mean gaps between page writes (the CAT paper's
    /// tables on the trace clock).
    const GAPS: f64 = 1700.0;
    let page = u64::from(device.profile.geometry.page_size);
    let mean_gap = match job.input {
        // Until the rate is measured the device's own scale stands for it.
        _ if job.load.is_some() => {
            let gap = |rate: &Rate| rate.page_gap_ns(&job.input, page);
            Some(job.rate.as_ref().and_then(gap).unwrap_or(device.time_scale_ns() / GAPS))
        }
        Input::Trace(trace, _) if trace.duration_ns > 0 => {
            // A trace without writes still has a clock.
            Some(trace.duration_ns as f64 / trace.whole.page_writes.max(1) as f64)
        }
        Input::Trace(..) => None,
        Input::Workload(w) => w.interarrival_ns.map(|ns| {
            let pages = w.request_bytes.unwrap_or(page).div_ceil(page) as f64;
            ns as f64 / pages / (1.0 - w.read_share)
        }),
    };
    let clock = match (job.clock, mean_gap) {
        (Some(Clock::Arrivals), None) => {
            return Err(SimError::Usage(
                "‹clock arrivals› needs arrival times; the input has none (a workload gets \
                 them by ‹interarrival›)"
                    .into(),
            ));
        }
        (Some(clock), _) => clock,
        (None, Some(_)) => Clock::Arrivals,
        (None, None) => Clock::Device,
    };
    if clock == Clock::Device && device.answers_at_once() {
        return Err(SimError::Usage(format!(
            "device {}: all its times are 0, so that it has no clock; use ‹clock arrivals›",
            device.profile.name
        )));
    }
    if let (Clock::Arrivals, Input::Trace(trace, _), None) = (clock, job.input, job.load) {
        trace.has_clock()?;
    }
    let scale = match (clock, mean_gap) {
        (Clock::Arrivals, Some(gap)) => GAPS * gap,
        _ => device.time_scale_ns(),
    };
    Ok((clock, job.time_scale_ns.unwrap_or(scale)))
}
