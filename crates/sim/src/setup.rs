//! Everything a job leaves to be worked out: sizes, clock, time scale.

use std::sync::Arc;

use thermocline_flash::{CountingChip, Geometry};
use thermocline_fswatch as fswatch;
use thermocline_ftl::{self as ftl, nftl};
use thermocline_policy::{
    Context, Future,
    bank::BankAssignment,
    dead::{DeadData, Fsaf, Guards},
    placement::{self, Placement},
    preset::LayerKind,
    trigger::{Trigger, Watermarks},
    victim::{self, Victim},
    wear::{Swap, WearLeveling},
};

use crate::{
    Device, Input, PolicySpec, SimError,
    job::{Clock, Fill, Job, ReadOnly},
    units,
};

/// Everything a job leaves to be worked out: sizes, clock, time scale.
pub(crate) struct Setup {
    pub device: Device,
    pub logical_pages: u32,
    /// How many of them are written before the run.
    pub filled_pages: u32,
    /// Pages at the start of the device that only the fill writes.
    pub read_only_pages: u32,
    pub capacity: u64,
    pub clock: Clock,
    pub time_scale_ns: f64,
    pub watermarks: Watermarks,
    /// Free blocks in each bank that are made in idle time.
    pub idle_free: u32,
    /// Blocks of a bank beside those its share of the data takes.
    pub spare_blocks: u32,
    /// Whether operations of banks overlap, or what follows an answer is not waited for.
    overlaps: bool,
    /// Whether the block-mapped layer moves data for the sake of even wear.
    pub levels_wear: bool,
    /// Whether the chip keeps what little is known of what is written.
    pub keeps_contents: bool,
}

impl Setup {
    pub(crate) fn of(job: &Job<'_>) -> Result<Self, SimError> {
        if job.watermarks.reserve == 0
            || job.watermarks.low <= job.watermarks.reserve
            || job.watermarks.high < job.watermarks.low
        {
            return Err(SimError::Usage(format!(
                "watermarks: reserve {} < low {} <= high {} must hold, and the reserve be at least 1",
                job.watermarks.reserve, job.watermarks.low, job.watermarks.high
            )));
        }
        if job.policy.batch == 0 || job.queue_depth == Some(0) {
            let option = if job.policy.batch == 0 { "--batch" } else { "--queue-depth" };
            return Err(SimError::Usage(format!("{option} 0 does nothing; give it at least 1")));
        }
        let device = Self::sized_device(job)?;
        let geometry = device.profile.geometry;
        let pages = u64::from(geometry.data_pages_per_block());
        let blocks = u64::from(geometry.data_blocks());
        let banks = u64::from(geometry.banks);
        let page_mapped = job.policy.layer == LayerKind::PageMapped;
        // The last banks may hold system blocks.
        let in_bank = |bank: u64| {
            let first = bank * u64::from(geometry.blocks_per_bank);
            blocks.saturating_sub(first).min(u64::from(geometry.blocks_per_bank))
        };
        let smallest = (0..banks).map(in_bank).min().unwrap_or(0);
        let watermarks = Self::watermarks(job, smallest);
        let reserve = match job.policy.layer {
            LayerKind::PageMapped => u64::from(watermarks.reserve) * banks,
            LayerKind::Nftl => u64::from(watermarks.reserve.max(nftl::RESERVE)),
            LayerKind::InPlace => u64::from(watermarks.reserve),
        };
        let capacity = blocks.saturating_sub(reserve) * pages;
        // A block of garbage for each open block, or cleaning would free nothing.
        let open = if page_mapped { u64::from(streams(&job.policy, &geometry)) } else { 0 };
        let most = match job.policy.bank_assignment {
            _ if !page_mapped => capacity,
            BankAssignment::Static => {
                smallest.saturating_sub(u64::from(watermarks.reserve) + open) * pages * banks
            }
            BankAssignment::Dynamic => (0..banks)
                .map(|b| in_bank(b).saturating_sub(u64::from(watermarks.reserve) + open) * pages)
                .sum(),
        };
        if page_mapped && u64::from(watermarks.high) + open > smallest {
            return Err(SimError::Usage(format!(
                "--high {} is more free blocks than a bank of device {} can have: it has \
                 {smallest} in all, and policy {} keeps {open} open",
                watermarks.high, device.profile.name, job.policy.name
            )));
        }
        let logical = match (job.fill, job.input) {
            _ if job.logical_pages.is_some() => job.logical_pages.map_or(0, u64::from),
            (Fill::Share(share), _) => (share * capacity as f64 + 1e-9) as u64,
            (_, Input::Trace(trace, _)) if !job.wrap => u64::from(trace.pages),
            (_, _) => u64::from(device.exported_pages(job.over_provisioning)),
        };
        if logical > most || logical == 0 {
            let page_size = geometry.page_size;
            return Err(SimError::Input(match job.fill {
                Fill::Share(share) => format!(
                    "--fill {}% of device {} leaves {}; with policy {} at most {:.1}% can be filled",
                    share * 100.0,
                    device.profile.name,
                    if logical == 0 { "no page filled" } else { "no block to clean into" },
                    job.policy.name,
                    (most as f64 / capacity.max(1) as f64 * 1000.0).floor() / 10.0
                ),
                _ if logical == 0 => format!(
                    "--over-provisioning {}% leaves no page for data; take a smaller one",
                    job.over_provisioning * 100.0
                ),
                _ => format!(
                    "{} do not fit device {}, which can hold {}; give it more --capacity or more \
                     --over-provisioning{}",
                    show_pages(logical, page_size),
                    device.profile.name,
                    show_pages(most, page_size),
                    if matches!(job.input, Input::Trace(trace, _) if trace.prelude == 0) {
                        ", or --wrap the addresses"
                    } else {
                        ""
                    }
                ),
            }));
        }
        if let Input::Trace(trace, _) = job.input
            && u64::from(trace.pages) > logical
            && !job.wrap
        {
            let (needs, holds) = (
                show_pages(u64::from(trace.pages), geometry.page_size),
                show_pages(logical, geometry.page_size),
            );
            return Err(SimError::Input(if trace.prelude > 0 {
                format!(
                    "{}: the volume takes {needs}, --fill leaves {holds}; leave it out",
                    trace.path
                )
            } else {
                format!(
                    "{}: the trace needs {needs}, the device holds {holds}; give it more \
                     --capacity, or --wrap the addresses",
                    trace.path
                )
            }));
        }
        let logical_pages = logical as u32;
        let data_blocks = logical.div_ceil(banks).div_ceil(pages);
        let spare_blocks = smallest.saturating_sub(data_blocks) as u32;
        let idle_free = job.policy.build_idle()?.map_or(0, |idle| {
            idle.enough_free().unwrap_or_else(|| watermarks.high + 1 + spare_blocks / 16)
        });
        let (clock, time_scale_ns) = Self::time(job, &device)?;
        let read_only_pages = match (job.read_only, job.input) {
            (ReadOnly::Share(share), Input::Workload(_)) if share < 1.0 => {
                (f64::from(logical_pages) * share) as u32
            }
            (ReadOnly::None, _) | (ReadOnly::Unwritten, Input::Trace(..)) => 0,
            _ => {
                return Err(SimError::Usage(
                    "--read-only takes a share below 100% with a pattern (uniform, hot-cold, ...), \
                     `unwritten` with a trace or a file workload"
                        .into(),
                ));
            }
        };
        let filled_pages = if job.fill == Fill::Nothing { 0 } else { logical_pages };
        Ok(Self {
            device,
            logical_pages,
            filled_pages,
            read_only_pages,
            capacity,
            clock,
            time_scale_ns,
            watermarks,
            idle_free,
            spare_blocks,
            levels_wear: job.policy.layer == LayerKind::Nftl && job.policy.build_nftl()?.gap > 0,
            keeps_contents: job.input.knows_contents() && job.policy.wants_contents(),
            overlaps: page_mapped && (banks > 1 || job.policy.trigger == Trigger::Eager),
        })
    }

    /// The job's watermarks; a falling threshold begins at an eighth of a bank's blocks unless the
    /// job says where.
    fn watermarks(job: &Job<'_>, blocks: u64) -> Watermarks {
        let marks = job.watermarks;
        let early = (blocks / 8).min(u64::from(marks.low) + 64) as u32;
        if job.policy.trigger == Trigger::Falling && marks.high == marks.low {
            Watermarks { high: early.max(marks.low + 1), ..marks }
        } else {
            marks
        }
    }

    /// The page-mapped layer of a policy.
    pub(crate) fn page_mapped(&self, policy: &PolicySpec) -> ftl::Config {
        ftl::Config {
            logical_pages: self.logical_pages,
            bank_assignment: policy.bank_assignment,
            trigger: policy.trigger,
            watermarks: self.watermarks,
            batch: policy.batch,
            idle_free: self.idle_free,
            read_only_separation: policy.read_only_separation,
            wear_leveling: if policy.swap {
                WearLeveling::Swap(Swap::for_endurance(self.device.profile.rules.endurance))
            } else {
                WearLeveling::None
            },
        }
    }

    /// What builds the victim policy of each bank.
    pub(crate) fn victims(
        &self,
        policy: &PolicySpec,
        seed: u64,
    ) -> impl Fn(u32) -> Box<dyn Victim> {
        let call = &policy.victim;
        let entry = victim::find(&call.name).expect("names were checked when the policy was read");
        move |bank| {
            let context = self.context(seed.wrapping_add(bank.into()), None);
            (entry.build)(&call.args, &context).expect("arguments were checked with the policy")
        }
    }

    /// The block-mapped layer of a policy.
    pub(crate) fn nftl(&self, policy: &PolicySpec) -> Result<nftl::Config, SimError> {
        let (params, idle) = (policy.build_nftl()?, policy.build_idle()?);
        let pages = self.device.profile.geometry.data_pages_per_block();
        Ok(nftl::Config {
            logical_pages: self.logical_pages,
            choice: match policy.victim.name.as_str() {
                "cost-benefit" => nftl::Choice::CostBenefit,
                _ => nftl::Choice::Greedy,
            },
            start_percent: params.start,
            stop_percent: params.stop,
            wear_gap: (params.gap > 0).then_some(params.gap),
            idle_dead_pages: idle
                .as_ref()
                .map_or(0, |idle| idle.least_dead().unwrap_or(pages).max(1)),
            idle_short_percent: idle.as_ref().map_or(0, |idle| idle.short_percent().min(100)),
            reclaim: match policy.build_dead_data()? {
                DeadData::Fsaf(fsaf) => Some(fsaf.reclaim()),
                DeadData::None | DeadData::Trim => None,
            },
        })
    }

    /// The watcher of a file system's tables.
    pub(crate) fn watch(&self, fsaf: &Fsaf) -> fswatch::Config {
        let guards = match fsaf.guards {
            Guards::Full => fswatch::Guards::FULL,
            Guards::Thesis => fswatch::Guards::THESIS,
        };
        fswatch::Config { guards, ..fswatch::Config::new(self.device.profile.geometry.page_size) }
    }

    /// An erased chip of the device. Banks and what is cleaned after an answer need a clock of their
    /// own; where operations simply follow one another their counts tell the time.
    pub(crate) fn chip(&self, wears_out: bool) -> CountingChip {
        let profile = &self.device.profile;
        let mut chip = CountingChip::new(profile.geometry, profile.rules);
        if self.overlaps {
            chip = chip.with_clock(profile.timing);
        }
        if self.keeps_contents {
            chip = chip.with_payload();
        }
        if wears_out { chip.that_wears_out() } else { chip }
    }

    /// A trace alone chooses the number of blocks: its footprint and the over-provisioning.
    pub(crate) fn sized_device(job: &Job<'_>) -> Result<Device, SimError> {
        let Input::Trace(trace, _) = job.input else { return Ok(job.device.clone()) };
        if job.device.fixed_capacity || matches!(job.fill, Fill::Share(_)) || job.wrap {
            return Ok(job.device.clone());
        }
        let pages = f64::from(job.device.profile.geometry.data_pages_per_block());
        let footprint = f64::from(trace.pages);
        let wanted = (footprint * (1.0 + job.over_provisioning) / pages).ceil() as u64;
        // Small traces need the reserve, an open block a stream and one to clean beside their data,
        // in every bank.
        let banks = u64::from(job.device.profile.geometry.banks);
        let data = (footprint / pages / banks as f64).ceil() as u64;
        let mut device = job.device.sized(wanted)?;
        loop {
            // Some take more streams on a larger device; none takes a stream for every block more.
            let geometry = &device.profile.geometry;
            let streams = u64::from(Self::least_streams(&job.policy, geometry));
            let least = (data + u64::from(job.watermarks.high) + streams) * banks;
            if u64::from(geometry.data_blocks()) >= least {
                return Ok(device);
            }
            device = job.device.sized(least)?;
        }
    }

    /// Open blocks that a device cut to size has room for. What takes as many as there are gets no
    /// larger device than the others.
    fn least_streams(policy: &PolicySpec, geometry: &Geometry) -> u32 {
        const USUAL: u32 = 3;
        if policy.takes_what_there_is() { USUAL } else { streams(policy, geometry).max(USUAL) }
    }

    fn time(job: &Job<'_>, device: &Device) -> Result<(Clock, f64), SimError> {
        /// Mean gaps between page writes that make the age transformation's time scale
        /// (the CAT paper's tables on the trace clock).
        const GAPS: f64 = 1700.0;
        let page = u64::from(device.profile.geometry.page_size);
        let mean_gap = match job.input {
            Input::Trace(trace, _) if trace.duration_ns > 0 => {
                // A trace without writes still has a clock.
                Some(trace.duration_ns as f64 / trace.page_writes.max(1) as f64)
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
                    "--clock arrivals needs arrival times; the input has none (a workload gets \
                     them by --interarrival)"
                        .into(),
                ));
            }
            (Some(clock), _) => clock,
            (None, Some(_)) => Clock::Arrivals,
            (None, None) => Clock::Device,
        };
        let scale = match (clock, mean_gap) {
            (Clock::Arrivals, Some(gap)) => GAPS * gap,
            _ => device.time_scale_ns(),
        };
        Ok((clock, job.time_scale_ns.unwrap_or(scale)))
    }

    pub(crate) fn context(&self, seed: u64, future: Option<Arc<Future>>) -> Context {
        let geometry = &self.device.profile.geometry;
        Context {
            logical_pages: self.logical_pages,
            blocks: geometry.blocks(),
            pages_per_block: geometry.data_pages_per_block(),
            banks: geometry.banks,
            time_scale: self.time_scale_ns,
            seed,
            future,
        }
    }
}

/// Open blocks a policy keeps at the same time in each bank of a device.
fn streams(policy: &PolicySpec, geometry: &Geometry) -> u32 {
    struct Count;
    impl placement::Visitor for Count {
        type Output = u32;
        fn visit<P: Placement + 'static>(self, placement: P) -> u32 {
            u32::from(placement.streams())
        }
    }
    // How many there are depends on the parameters and on the number of blocks, not on the pages.
    let (blocks, banks) = (geometry.blocks(), geometry.banks);
    let context = Context { blocks, banks, ..Context::smallest() };
    let count =
        placement::dispatch(&policy.placement.name, &policy.placement.args, &context, Count);
    count.and_then(Result::ok).unwrap_or(1) + u32::from(policy.read_only_separation)
}

/// "1000 pages (4 MiB)".
fn show_pages(pages: u64, page_size: u32) -> String {
    format!("{pages} pages ({})", units::show_size(pages * u64::from(page_size)))
}
