//! One policy on one input, and many of them in parallel.

use std::time::Instant;

use rayon::prelude::*;
use thermocline_flash::{BlockId, CountingChip, Lpn};
use thermocline_ftl::{self as ftl, InPlace, Layer, PageMapped};
use thermocline_policy::{
    Context,
    placement::{self, Placement},
    preset::LayerKind,
    trigger::Watermarks,
    victim,
    wear::{Swap, WearLeveling},
};

use crate::{
    Device, Input, PolicySpec, Progress, RunResult, SimError,
    engine::{Engine, Measured},
    input::show_pages,
    metrics::{Lifetime, Wear},
    result::{self, Perf},
};

/// How much of the device holds data before the statistics begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// All logical pages, of which over-provisioning says how many there are.
    Logical,
    /// This share of the data pages less the reserve: the papers' utilization.
    Share(f64),
}

/// Which clock runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A request starts when the last has ended.
    Device,
    /// Requests arrive when the trace or the Poisson process says.
    Arrivals,
}

/// Which of the filled pages are written as read-only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadOnly {
    /// None.
    None,
    /// This share of them, which the workload leaves alone.
    Share(f64),
    /// Those the trace never writes.
    Unwritten,
}

/// One simulation.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The device.
    pub device: Device,
    /// The policies.
    pub policy: PolicySpec,
    /// What drives it.
    pub input: Input<'a>,
    /// What it holds at the start.
    pub fill: Fill,
    /// Physical over logical pages, less 1, where nothing else fixes the sizes.
    pub over_provisioning: f64,
    /// Trace addresses beyond the device are taken modulo its size.
    pub wrap: bool,
    /// The clock; by default arrivals where there are any.
    pub clock: Option<Clock>,
    /// Read-only data.
    pub read_only: ReadOnly,
    /// When cleaning starts and stops.
    pub watermarks: Watermarks,
    /// Blocks die at their rated endurance.
    pub wears_out: bool,
    /// Count everything again at the end.
    pub check: bool,
    /// The seed.
    pub seed: u64,
}

impl<'a> Job<'a> {
    /// A job with every choice at its default.
    #[must_use]
    pub fn new(device: Device, policy: PolicySpec, input: Input<'a>) -> Self {
        Self {
            device,
            policy,
            input,
            fill: Fill::Logical,
            over_provisioning: 0.15,
            wrap: false,
            clock: None,
            read_only: ReadOnly::None,
            watermarks: Watermarks::default(),
            wears_out: false,
            check: false,
            seed: 1,
        }
    }
}

/// Runs one job.
///
/// # Errors
/// [`SimError`].
pub fn run(job: &Job<'_>, progress: &Progress) -> Result<RunResult, SimError> {
    let setup = Setup::of(job)?;
    let runner = Runner { job, setup: &setup, progress };
    match job.policy.layer {
        LayerKind::InPlace => {
            let layer = InPlace::new(setup.device.chip(job.wears_out), setup.logical_pages)
                .map_err(|e| SimError::of_layer(e, 0))?;
            runner.drive(layer)
        }
        LayerKind::PageMapped => placement::dispatch(
            &job.policy.placement.name,
            &job.policy.placement.args,
            &setup.context(job.seed),
            runner,
        )
        .expect("names were checked when the policy was read")
        .map_err(|e| SimError::Usage(format!("placement {}: {e}", job.policy.placement.name)))?,
    }
}

/// Runs many jobs on `threads` threads (0: one a core); results are in the order of the jobs.
///
/// # Errors
/// The [`SimError`] of the first job that failed, in that order.
pub fn compare(
    jobs: &[Job<'_>],
    threads: usize,
    progress: &Progress,
) -> Result<Vec<RunResult>, SimError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| SimError::Failed(format!("cannot start {threads} threads: {e}")))?;
    let results: Vec<_> = pool.install(|| jobs.par_iter().map(|job| run(job, progress)).collect());
    results
        .into_iter()
        .zip(jobs)
        .map(|(result, job)| {
            result.map_err(|e| match e {
                SimError::Failed(text) => SimError::Failed(format!("{}: {text}", job.policy.name)),
                other => other,
            })
        })
        .collect()
}

/// Everything a job leaves to be worked out: sizes, clock, time scale.
struct Setup {
    device: Device,
    logical_pages: u32,
    /// Pages at the start of the device that only the fill writes.
    read_only_pages: u32,
    capacity: u64,
    clock: Clock,
    time_scale_ns: f64,
}

impl Setup {
    fn of(job: &Job<'_>) -> Result<Self, SimError> {
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
        // One block of garbage at least, or cleaning would free nothing.
        let most = capacity.saturating_sub(pages);
        let logical = match (job.fill, job.input) {
            (Fill::Share(share), _) => (share * capacity as f64 + 1e-9) as u64,
            (Fill::Logical, Input::Trace(trace, _)) if !job.wrap => u64::from(trace.pages),
            (Fill::Logical, _) => ((blocks * pages) as f64 / (1.0 + job.over_provisioning)) as u64,
        };
        if logical > most || logical == 0 {
            let page_size = geometry.page_size;
            return Err(SimError::Input(match job.fill {
                Fill::Share(share) => format!(
                    "--fill {}% of device {} leaves {}; at most {:.1}% can be filled",
                    share * 100.0,
                    device.profile.name,
                    if logical == 0 { "no page filled" } else { "no block to clean into" },
                    (most as f64 / capacity.max(1) as f64 * 1000.0).floor() / 10.0
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
    fn sized_device(job: &Job<'_>) -> Result<Device, SimError> {
        let Input::Trace(trace, _) = job.input else { return Ok(job.device.clone()) };
        if job.device.fixed_capacity || job.fill != Fill::Logical || job.wrap {
            return Ok(job.device.clone());
        }
        let pages = f64::from(job.device.profile.geometry.data_pages_per_block());
        let footprint = f64::from(trace.pages);
        let wanted = (footprint * (1.0 + job.over_provisioning) / pages).ceil() as u64;
        // Small traces need the reserve, an open block a stream and one to clean beside their data.
        let least = (footprint / pages).ceil() as u64 + u64::from(job.watermarks.high) + 3;
        job.device.sized(wanted.max(least))
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
            Input::Trace(trace, _) if trace.duration_ns > 0 && trace.page_writes > 0 => {
                Some(trace.duration_ns as f64 / trace.page_writes as f64)
            }
            Input::Trace(..) => None,
            Input::Workload(w) => w
                .interarrival_ns
                .map(|ns| ns as f64 / w.request_bytes.unwrap_or(page).div_ceil(page) as f64),
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

    fn context(&self, seed: u64) -> Context {
        let geometry = &self.device.profile.geometry;
        Context {
            logical_pages: self.logical_pages,
            blocks: geometry.blocks(),
            pages_per_block: geometry.data_pages_per_block(),
            time_scale: self.time_scale_ns,
            seed,
        }
    }
}

struct Runner<'a> {
    job: &'a Job<'a>,
    setup: &'a Setup,
    progress: &'a Progress,
}

impl placement::Visitor for Runner<'_> {
    type Output = Result<RunResult, SimError>;

    fn visit<P: Placement + 'static>(self, placement: P) -> Self::Output {
        let (job, setup) = (self.job, self.setup);
        let call = &job.policy.victim;
        let entry = victim::find(&call.name).expect("names were checked when the policy was read");
        let victim = (entry.build)(&call.args, &setup.context(job.seed))
            .map_err(|e| SimError::Usage(format!("victim policy {}: {e}", call.name)))?;
        let config = ftl::Config {
            logical_pages: setup.logical_pages,
            watermarks: job.watermarks,
            read_only_separation: job.policy.read_only_separation,
            wear_leveling: if job.policy.swap {
                WearLeveling::Swap(Swap::for_endurance(setup.device.profile.rules.endurance))
            } else {
                WearLeveling::None
            },
        };
        let chip = setup.device.chip(job.wears_out);
        let layer = PageMapped::new(chip, placement, victim, config)
            .map_err(|e| SimError::of_layer(e, 0))?;
        self.drive(layer)
    }
}

impl Runner<'_> {
    fn drive<L: Layer<Chip = CountingChip>>(self, mut layer: L) -> Result<RunResult, SimError> {
        let (job, setup) = (self.job, self.setup);
        let started = Instant::now();
        for lpn in 0..setup.logical_pages {
            let read_only = match (job.read_only, job.input) {
                (ReadOnly::Unwritten, Input::Trace(trace, _)) => !trace.is_written(lpn),
                _ => lpn < setup.read_only_pages,
            };
            layer.fill(Lpn(lpn), read_only, 0).map_err(|e| SimError::of_layer(e, 0))?;
            if lpn.is_multiple_of(1 << 16) && self.progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
        }
        layer.filled(0).map_err(|e| SimError::of_layer(e, 0))?;
        let filled = Snapshot::of(&layer);

        let page_size = setup.device.profile.geometry.page_size;
        let extents = job.input.open(
            setup.read_only_pages,
            setup.logical_pages - setup.read_only_pages,
            page_size,
            job.seed,
        )?;
        self.progress.expect(job.input.expected_pages(&extents));
        let running = Instant::now();
        let arrivals = setup.clock == Clock::Arrivals;
        let engine = Engine::new(&mut layer, setup.device.profile.timing, arrivals);
        let measured = engine.run(extents, page_size, self.progress)?;
        let seconds = running.elapsed().as_secs_f64();

        if job.check {
            layer.check().map_err(SimError::Broken)?;
        }
        let mut result = self.result(&layer, &filled, &measured);
        let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        result.perf = Some(Perf {
            wall_s: started.elapsed().as_secs_f64(),
            host_pages_per_s: per_second(result.host.pages_written),
            pages_programmed_per_s: per_second(result.flash.pages_programmed),
            peak_rss_bytes: peak_rss_bytes(),
        });
        Ok(result)
    }

    fn result<L: Layer<Chip = CountingChip>>(
        &self,
        layer: &L,
        filled: &Snapshot,
        measured: &Measured,
    ) -> RunResult {
        let (job, setup) = (self.job, self.setup);
        let profile = &setup.device.profile;
        let geometry = &profile.geometry;
        let pages = geometry.data_pages_per_block();
        let layer_did = layer.counters().since(&filled.counters);
        let chip_did = layer.chip().counts().since(&filled.counts);
        let erases: Vec<u32> = layer
            .chip()
            .erase_counts()
            .iter()
            .zip(&filled.erases)
            .map(|(now, then)| now - then)
            .collect();
        let programs = layer_did.host_writes + layer_did.copies;
        let timing = &profile.timing;
        let ratio = |write: u64, erase: u64| {
            if erase > 0 { write as f64 * f64::from(pages) / erase as f64 } else { 0.0 }
        };
        let cost = |omega: f64| {
            layer_did.erases as f64 + layer_did.copies as f64 * omega / f64::from(pages)
        };
        let data_pages = u64::from(geometry.data_blocks()) * u64::from(pages);
        let page_size = u64::from(geometry.page_size);
        let page_mapped = job.policy.layer == LayerKind::PageMapped;
        let seconds = measured.elapsed_ns as f64 / 1e9;
        RunResult {
            schema_version: result::SCHEMA_VERSION,
            config: result::Config {
                policy: job.policy.name.clone(),
                layer: if page_mapped { "page-mapped" } else { "in-place" },
                victim: page_mapped.then(|| job.policy.victim.show()),
                placement: page_mapped.then(|| job.policy.placement.show()),
                read_only_separation: job.policy.read_only_separation,
                wear_leveling: if job.policy.swap { "swap" } else { "none" },
                trigger: result::Trigger {
                    reserve_blocks: job.watermarks.reserve,
                    low_blocks: job.watermarks.low,
                    high_blocks: job.watermarks.high,
                },
                device: profile.into(),
                logical_pages: setup.logical_pages,
                filled_pages: setup.logical_pages,
                over_provisioning: data_pages as f64 / f64::from(setup.logical_pages) - 1.0,
                utilization: f64::from(setup.logical_pages) / setup.capacity as f64,
                clock: if setup.clock == Clock::Arrivals { "arrivals" } else { "device" },
                time_scale_us: setup.time_scale_ns / 1000.0,
                seed: job.seed,
            },
            trace: match job.input {
                Input::Trace(trace, _) => result::TraceInfo {
                    path: trace.path.clone(),
                    digest: Some(trace.digest.clone()),
                    requests: measured.requests,
                },
                Input::Workload(workload) => result::TraceInfo {
                    path: workload.on(u64::from(setup.logical_pages) * page_size).name(),
                    digest: None,
                    requests: measured.requests,
                },
            },
            host: result::Host {
                requests: measured.requests,
                pages_written: layer_did.host_writes,
                pages_read: layer_did.host_reads,
                pages_trimmed: layer_did.trims,
                flushes: measured.flushes,
            },
            flash: result::Flash {
                pages_programmed: chip_did.programs + chip_did.copies,
                pages_read: chip_did.reads + chip_did.copies,
                pages_copied: layer_did.copies,
                blocks_erased: layer_did.erases,
            },
            write_amplification: (layer_did.host_writes > 0)
                .then(|| programs as f64 / layer_did.host_writes as f64),
            cleaning: result::Cleaning {
                runs: layer_did.cleaning_runs,
                victims: layer_did.victims,
                mean_victim_utilization: (layer_did.victims > 0).then(|| {
                    layer_did.victims_valid as f64 / (layer_did.victims as f64 * f64::from(pages))
                }),
                cost: cost(0.75),
                cost_on_device: cost(ratio(timing.copy_ns, timing.erase())),
                choices: [(job.policy.victim.name.clone(), layer_did.victims)]
                    .into_iter()
                    .filter(|_| page_mapped)
                    .collect(),
                spills: layer_did.spills,
                swap_erases: layer_did.swap_erases,
                swap_copies: layer_did.swap_copies,
                retired_blocks: layer_did.retired,
            },
            wear: Wear::of(&erases),
            lifetime: Lifetime::of(
                &erases[..geometry.data_blocks() as usize],
                profile.rules.endurance,
                measured.elapsed_ns,
            ),
            response_us: result::Responses { write: measured.write, read: measured.read },
            elapsed_us: measured.elapsed_ns as f64 / 1000.0,
            throughput_kib_s: (seconds > 0.0)
                .then(|| measured.bytes_written as f64 / 1024.0 / seconds),
            energy_mj: profile.energy.as_ref().map(|energy| chip_did.energy_mj(energy)),
            banks: (0..geometry.banks)
                .map(|bank| {
                    let blocks =
                        bank * geometry.blocks_per_bank..(bank + 1) * geometry.blocks_per_bank;
                    let data =
                        blocks.clone().filter(|b| *b < geometry.data_blocks()).count() as f64;
                    let valid: u64 =
                        blocks.clone().map(|b| u64::from(layer.valid_pages(BlockId(b)))).sum();
                    result::Bank {
                        erases: blocks.map(|b| u64::from(erases[b as usize])).sum(),
                        utilization: valid as f64 / (data * f64::from(pages)).max(1.0),
                    }
                })
                .collect(),
            perf: None,
        }
    }
}

/// The state after the fill, where statistics begin.
struct Snapshot {
    counters: ftl::Counters,
    counts: thermocline_flash::Counts,
    erases: Vec<u32>,
}

impl Snapshot {
    fn of<L: Layer<Chip = CountingChip>>(layer: &L) -> Self {
        Self {
            counters: *layer.counters(),
            counts: *layer.chip().counts(),
            erases: layer.chip().erase_counts().to_vec(),
        }
    }
}

/// Most memory this process ever used, where the system tells.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}
