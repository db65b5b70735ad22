//! Everything a job leaves to be worked out: sizes, clock, time scale.

use std::sync::Arc;

use thermocline_policy::{
    Context, Future,
    placement::{self, Placement},
    preset::LayerKind,
};

use crate::{
    Device, Input, PolicySpec, SimError,
    compare::takes_what_there_is,
    job::{Clock, Fill, Job, ReadOnly},
    units,
};

/// Everything a job leaves to be worked out: sizes, clock, time scale.
pub(crate) struct Setup {
    pub device: Device,
    pub logical_pages: u32,
    /// Pages at the start of the device that only the fill writes.
    pub read_only_pages: u32,
    pub capacity: u64,
    pub clock: Clock,
    pub time_scale_ns: f64,
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
        let device = Self::sized_device(job)?;
        let geometry = device.profile.geometry;
        let pages = u64::from(geometry.data_pages_per_block());
        let blocks = u64::from(geometry.data_blocks());
        let capacity = blocks.saturating_sub(u64::from(job.watermarks.reserve)) * pages;
        // A block of garbage for each open block, or cleaning would free nothing.
        let page_mapped = job.policy.layer == LayerKind::PageMapped;
        let spare = if page_mapped { u64::from(streams(&job.policy)) * pages } else { 0 };
        let most = capacity.saturating_sub(spare);
        if page_mapped && u64::from(job.watermarks.high) + u64::from(streams(&job.policy)) > blocks
        {
            return Err(SimError::Usage(format!(
                "--high {} is more free blocks than device {} can have: it has {blocks} in all",
                job.watermarks.high, device.profile.name
            )));
        }
        let logical = match (job.fill, job.input) {
            (Fill::Share(share), _) => (share * capacity as f64 + 1e-9) as u64,
            (Fill::Logical, Input::Trace(trace, _)) if !job.wrap => u64::from(trace.pages),
            (Fill::Logical, _) => ((blocks * pages) as f64 / (1.0 + job.over_provisioning)) as u64,
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
                Fill::Logical if logical == 0 => format!(
                    "--over-provisioning {}% leaves no page for data; take a smaller one",
                    job.over_provisioning * 100.0
                ),
                Fill::Logical => format!(
                    "{} do not fit device {}, which can hold {}; give it more --capacity or more \
                     --over-provisioning{}",
                    show_pages(logical, page_size),
                    device.profile.name,
                    show_pages(most, page_size),
                    if matches!(job.input, Input::Trace(..)) {
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
            return Err(SimError::Input(format!(
                "{}: the trace needs {}, the device holds {}; give it more --capacity, or --wrap \
                 the addresses",
                trace.path,
                show_pages(u64::from(trace.pages), geometry.page_size),
                show_pages(logical, geometry.page_size)
            )));
        }
        let logical_pages = logical as u32;
        let (clock, time_scale_ns) = Self::time(job, &device)?;
        let read_only_pages = match (job.read_only, job.input) {
            (ReadOnly::Share(share), Input::Workload(_)) if share < 1.0 => {
                (f64::from(logical_pages) * share) as u32
            }
            (ReadOnly::None, _) | (ReadOnly::Unwritten, Input::Trace(..)) => 0,
            _ => {
                return Err(SimError::Usage(
                    "--read-only takes a share below 100% with a workload, `unwritten` with a trace"
                        .into(),
                ));
            }
        };
        Ok(Self { device, logical_pages, read_only_pages, capacity, clock, time_scale_ns })
    }

    /// A trace alone chooses the number of blocks: its footprint and the over-provisioning.
    pub(crate) fn sized_device(job: &Job<'_>) -> Result<Device, SimError> {
        let Input::Trace(trace, _) = job.input else { return Ok(job.device.clone()) };
        if job.device.fixed_capacity || job.fill != Fill::Logical || job.wrap {
            return Ok(job.device.clone());
        }
        let pages = f64::from(job.device.profile.geometry.data_pages_per_block());
        let footprint = f64::from(trace.pages);
        let wanted = (footprint * (1.0 + job.over_provisioning) / pages).ceil() as u64;
        // Small traces need the reserve, an open block a stream and one to clean beside their data.
        let least = (footprint / pages).ceil() as u64
            + u64::from(job.watermarks.high)
            + u64::from(Self::least_streams(&job.policy));
        job.device.sized(wanted.max(least))
    }

    /// Open blocks that a device cut to size has room for. What takes as many as there are gets no
    /// larger device than the others.
    fn least_streams(policy: &PolicySpec) -> u32 {
        const USUAL: u32 = 3;
        if takes_what_there_is(policy) { USUAL } else { streams(policy).max(USUAL) }
    }

    fn time(job: &Job<'_>, device: &Device) -> Result<(Clock, f64), SimError> {
        /// Mean gaps between page writes that make the age transformation's time scale
        /// (the CAT paper's tables on the trace clock).
        const GAPS: f64 = 1700.0;
        /// The same on the papers' device, by its own clock, and the erase time of that device.
        const DEVICE_SCALE_NS: f64 = 250e9;
        const DEVICE_ERASE_NS: f64 = 0.689e9;
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
            _ => {
                let erase = device.profile.timing.erase() as f64;
                if erase > 0.0 {
                    DEVICE_SCALE_NS * erase / DEVICE_ERASE_NS
                } else {
                    DEVICE_SCALE_NS
                }
            }
        };
        Ok((clock, scale))
    }

    pub(crate) fn context(&self, seed: u64, future: Option<Arc<Future>>) -> Context {
        let geometry = &self.device.profile.geometry;
        Context {
            logical_pages: self.logical_pages,
            blocks: geometry.blocks(),
            pages_per_block: geometry.data_pages_per_block(),
            banks: 1,
            time_scale: self.time_scale_ns,
            seed,
            future,
        }
    }
}

/// Open blocks a policy keeps at the same time.
fn streams(policy: &PolicySpec) -> u32 {
    struct Count;
    impl placement::Visitor for Count {
        type Output = u32;
        fn visit<P: Placement + 'static>(self, placement: P) -> u32 {
            u32::from(placement.streams())
        }
    }
    // How many there are depends on the parameters alone, so a device of one page serves.
    let context = Context::smallest();
    let count =
        placement::dispatch(&policy.placement.name, &policy.placement.args, &context, Count);
    count.and_then(Result::ok).unwrap_or(1) + u32::from(policy.read_only_separation)
}

/// "1000 pages (4 MiB)".
fn show_pages(pages: u64, page_size: u32) -> String {
    format!("{pages} pages ({})", units::show_size(pages * u64::from(page_size)))
}
