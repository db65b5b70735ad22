//! Runs one policy on one input: builds the layer, fills it, drives it and collects the result.

use std::time::Instant;

use thermocline_assembly::{AssemblyError, LayerVisitor, Onlooking};
use thermocline_flash::{CountingChip, Lpn};
use thermocline_ftl::Layer;
use thermocline_policy::preset::LayerKind;
use thermocline_trace::generate::Permutation;

use crate::{
    Fill, Input, Job, Progress, ReadOnly, RunResult, SimError, Watch,
    classes::with_fewer_classes,
    demand_paged, dftl,
    engine::{Driven, Engine, stopped},
    facts::Snapshot,
    front::Front,
    future::{Shared, Span},
    history::{History, erase_curve},
    huge_pages::Meter,
    load::with_rates,
    result::Perf,
    room,
    settling::Settling,
    setup::Setup,
};

/// Runs one job.
///
/// # Errors
/// [`SimError`].
pub fn run(job: &Job<'_>, progress: &Progress) -> Result<RunResult, SimError> {
    let [job] = &with_rates(vec![job.clone()], progress)?[..] else { unreachable!("one job") };
    Ok(run_sharing(job, &Shared::new(1), progress)?.result)
}

/// Repetitions of an input until write amplification settles.
struct Passes {
    count: u32,
    /// The last two passes.
    settling: Option<Settling>,
}

impl Passes {
    fn is_level(&self) -> bool {
        self.settling.as_ref().is_some_and(Settling::is_level)
    }
}

/// A run, with its history if requested.
pub(crate) struct Ran {
    pub result: RunResult,
    pub history: Option<History>,
}

/// Runs one job that shares its future with others.
pub(crate) fn run_sharing(
    job: &Job<'_>,
    future: &Shared,
    progress: &Progress,
) -> Result<Ran, SimError> {
    let fewer = with_fewer_classes(job);
    let job = fewer.as_ref().unwrap_or(job);
    let mut setup = Setup::of(job)?;
    setup.plan.onlooker = Onlooking(job.watch.and_then(Watch::onlooker));
    let future = if job.policy.sees_future() {
        Some(future.get(job, Span::of(&setup), progress)?)
    } else {
        None
    };
    room::require(setup.least_memory(), "the layer with its map")?;
    let chip = setup.chip(job.wears_out);
    let runner = Runner { job, setup: &setup, progress, memory: Meter::start() };
    if let Some(bytes) = job.map_cache {
        return match job.policy.layer {
            LayerKind::Dftl => dftl::on(chip, &setup, bytes, runner),
            _ => demand_paged::on(chip, &setup, bytes, runner),
        };
    }
    let ran = setup.plan.build(chip, future, runner);
    // A result computed after a failure of the policy is discarded.
    match setup.plan.faults.take() {
        Some(failure) => Err(SimError::Policy(failure)),
        None => ran?,
    }
}

/// Runs a job on a layer of any type. Memory is measured from after the creation of the chip.
pub(crate) struct Runner<'a> {
    job: &'a Job<'a>,
    setup: &'a Setup,
    progress: &'a Progress,
    memory: Meter,
}

impl LayerVisitor<CountingChip> for Runner<'_> {
    type Output = Result<Ran, SimError>;

    fn visit<L: Layer<Chip = CountingChip> + Send + 'static>(
        self,
        mut layer: L,
    ) -> Result<Ran, SimError> {
        self.drive(&mut layer)
    }
}

impl Runner<'_> {
    /// Runs the layer, behind what its device has in front of it.
    pub(crate) fn drive(self, layer: &mut dyn Driven) -> Result<Ran, SimError> {
        match Front::of(layer, self.job, self.setup)? {
            Some(mut front) => self.drive_this(&mut front),
            None => self.drive_this(layer),
        }
    }

    /// Fills the layer, runs it, and collects the result.
    fn drive_this(self, layer: &mut dyn Driven) -> Result<Ran, SimError> {
        let (job, setup) = (self.job, self.setup);
        let started = clock();
        // The system backs tables when they are first written, so this is the last chance to
        // refuse.
        if let Some(bytes) = self.memory.bytes() {
            room::require(bytes, "the layer with its tables")?;
        }
        self.fill(layer)?;
        // The simulation's tables are not those of a device with its map on the chip.
        let memory = match job.map_cache {
            Some(_) => Some(setup.map_ram(job)),
            None => self.memory.bytes(),
        };
        self.write_found(layer)?;
        let page_size = setup.plan.device.profile.geometry.page_size;
        let mut extents = job.input.open(
            setup.read_only_pages,
            setup.used_pages - setup.read_only_pages,
            page_size,
            job.scale,
            job.seed,
        )?;
        if let Some(rate) = &job.rate {
            extents = extents.at(rate.timetable(job.input.prelude(), job.seed));
        }
        self.progress.expect(job.input.expected_pages(&extents));
        let mut engine = Engine::new(layer, job, setup)?;
        engine.prepare(
            &mut extents,
            job.input.prelude(),
            setup.warm_up_pages(job),
            self.progress,
        )?;
        let running = clock();
        let mut before = Snapshot::of(engine.layer());
        engine.run(&mut extents, job.watch, self.progress)?;
        let mut passes = Passes { count: 1, settling: None };
        while passes.count < job.settle.unwrap_or(1) && !passes.is_level() {
            let last = engine.write_amplification();
            before = Snapshot::of(engine.layer());
            engine.run_again(&mut extents)?;
            engine.run(&mut extents, job.watch, self.progress)?;
            passes.count += 1;
            passes.settling = last.zip(engine.write_amplification()).map(Settling::of_passes);
        }
        let mut measured = engine.finish();
        if job.settle.is_some() {
            (measured.settling, measured.passes) = (passes.settling, Some(passes.count));
        }
        let seconds = running.map(|since| since.elapsed().as_secs_f64());

        if job.check {
            layer.inspect().check().map_err(SimError::Broken)?;
        }
        let recorded = measured.recorded.take();
        let facts = before.facts(job, setup, layer, &measured, memory);
        let mut result = RunResult::of(&facts);
        result.perf = started.zip(seconds).map(|(started, seconds)| {
            let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
            Perf {
                wall_s: started.elapsed().as_secs_f64(),
                host_pages_per_s: per_second(result.host.pages_written),
                pages_programmed_per_s: per_second(result.flash.pages_programmed),
                peak_rss_bytes: peak_rss_bytes(),
            }
        });
        let history = recorded.map(|recorded| History {
            samples: recorded.samples,
            victims: recorded.victims,
            writes: recorded.writes,
            reads: recorded.reads,
            erases: erase_curve(&facts.erases),
        });
        Ok(Ran { result, history })
    }

    /// Writes the data that the device holds before the run.
    fn fill(&self, layer: &mut dyn Driven) -> Result<(), SimError> {
        let (job, setup) = (self.job, self.setup);
        let shuffled = (job.fill == Fill::Shuffled)
            .then(|| Permutation::of_seed(setup.filled_pages.into(), job.seed));
        for at in 0..setup.filled_pages {
            let lpn = shuffled.as_ref().map_or(at, |order| order.apply(at.into()) as u32);
            let read_only = match (job.read_only, job.input) {
                (ReadOnly::Unwritten, Input::Trace(trace, _)) => !trace.is_written(lpn),
                _ => lpn < setup.read_only_pages,
            };
            layer.fill(Lpn(lpn), read_only, 0).map_err(|e| AssemblyError::of_layer(e, 0))?;
            if at.is_multiple_of(1 << 16) && self.progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            if at.is_multiple_of(1 << 16) && setup.plan.faults.any() {
                return Err(stopped());
            }
        }
        layer.upkeep().filled(0).map_err(|e| AssemblyError::of_layer(e, 0))?;
        if setup.filled_pages > 0 {
            for lpn in setup.used_pages..setup.plan.logical_pages {
                layer.trim(Lpn(lpn), 0).map_err(|e| AssemblyError::of_layer(e, 0))?;
            }
        }
        Ok(())
    }

    /// Writes the contents that a recording found on the device.
    fn write_found(&self, layer: &mut dyn Driven) -> Result<(), SimError> {
        let (job, setup) = (self.job, self.setup);
        for (lpn, page) in job.input.found() {
            if setup.keeps_contents && *lpn < setup.plan.logical_pages {
                layer.write(Lpn(*lpn), page, 0).map_err(|e| AssemblyError::of_layer(e, 0))?;
            }
        }
        Ok(())
    }
}

/// Now; nothing in a browser, where a page measures its workers itself.
fn clock() -> Option<Instant> {
    (!cfg!(target_family = "wasm")).then(Instant::now)
}

/// Peak memory of this process, if the system reports it.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}
