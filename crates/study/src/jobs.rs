//! From settings to the simulator's jobs.

use std::path::Path;

use thermocline_assembly::{
    Device, PolicySpec,
    device::Overrides,
    policy::{OwnPolicies, split_list},
};
use thermocline_flash::BUILT_IN_PROFILES;
use thermocline_policy::trigger::Watermarks;
use thermocline_sim::{
    Clock, DelayLog, Fill, Input, Job, Outcome, PreparedTrace, ReadOnly, Sampling, SimError,
    TraceMapping, Watch, Workload, compare_each, traffic::Traffic, with_cache,
};
use thermocline_trace::{
    generate::GeneratorOptions,
    read::{self, ReadOptions},
};
use thermocline_units::{format_size, naming::in_results};
use thermocline_workloads::{WorkloadSpec, open};

use crate::{
    Context, Counted,
    opening::{self, Seen},
    settings::{
        cleaning::CleaningArgs,
        device::{ClockArg, DeviceArgs, PreconditionArg, ShapeArgs, SuperblocksArg},
        input::{FootprintArg, PartialPages},
        run::SimulationArgs,
        transform::Part,
        values::{FillArg, ReadOnlyArg},
    },
    usage,
};

/// An input, ready for any number of runs.
pub enum Ready {
    /// A trace that was read.
    Trace(Box<PreparedTrace>),
    /// Requests of a host that uses files; generated once, so that all policies get the same.
    Files(Box<PreparedTrace>),
    /// A workload; it is generated while it runs.
    Workload(Workload),
}

impl Ready {
    /// Its name in results.
    pub fn name(&self) -> String {
        match self {
            Self::Trace(trace) | Self::Files(trace) => trace.path.clone(),
            Self::Workload(workload) => workload.name(),
        }
    }

    /// Volumes whose requests become those of one device.
    pub fn volumes(&self) -> usize {
        match self {
            Self::Trace(trace) => trace.volumes,
            Self::Files(_) | Self::Workload(_) => 1,
        }
    }

    /// The largest placement hint of its writes; 0 is none.
    pub fn most_hint(&self) -> u16 {
        match self {
            Self::Trace(trace) | Self::Files(trace) => trace.most_hint,
            Self::Workload(_) => 0,
        }
    }

    /// Whether somebody recorded it.
    pub const fn is_recorded(&self) -> bool {
        matches!(self, Self::Trace(_))
    }
}

/// The default device.
pub const DEFAULT: &str = "slc-generic";

/// The device that was asked for.
pub fn device(args: &ShapeArgs) -> Result<Device, SimError> {
    named(args.device.as_deref().unwrap_or(DEFAULT), args)
}

/// A device, with the figures that were asked for.
fn named(name: &str, args: &ShapeArgs) -> Result<Device, SimError> {
    let overrides = Overrides {
        capacity: args.capacity,
        block_size: args.block_size,
        page_size: args.page_size,
        header_pages: args.header_pages,
        banks: args.banks,
        channels: args.channels,
    };
    Ok(Device::load(name)?.with(&overrides)?)
}

/// The simulated device: the part that a sample fills, if there is one. By default it follows from the
/// traces.
pub fn simulated(args: &SimulationArgs, recorded: Option<&str>) -> Result<Device, SimError> {
    let shape = &args.device.shape;
    let device = named(shape.device.as_deref().or(recorded).unwrap_or(DEFAULT), shape)?;
    let device = with_front(device, &args.device)?;
    match (args.mapping.sample, args.device.scale) {
        (Some(_), Some(_)) => {
            Err(usage("‹sample› and ‹scale› both make the device smaller; leave one out"))
        }
        (Some(of), None) => Ok(device.sampled(of)?),
        (None, Some(of)) => Ok(device.scaled(of)?),
        (None, None) => Ok(device),
    }
}

/// The device with the requested parts beside its log.
fn with_front(mut device: Device, args: &DeviceArgs) -> Result<Device, SimError> {
    if let Some(superblocks) = args.superblocks {
        device = device.superblocks(superblocks == SuperblocksArg::Parity)?;
    }
    let profile = &mut device.profile;
    profile.write_buffer = args.write_buffer.unwrap_or(profile.write_buffer);
    profile.slc_cache = args.slc_cache.unwrap_or(profile.slc_cache);
    profile.overhead = args.overhead.or(profile.overhead);
    Ok(device.checked()?)
}

/// The profile nearest to the device on which all traces were recorded, if their formats show it and no
/// device is given.
pub fn recorded_on<'a>(
    traces: impl IntoIterator<Item = &'a Path>,
    args: &SimulationArgs,
    context: Context<'_>,
) -> Option<&'static str> {
    if args.device.shape.device.is_some() {
        return None;
    }
    let in_memory =
        |path: &Path| context.traces().is_some_and(|traces| traces.has(&path.to_string_lossy()));
    // Errors of a trace appear when it is read.
    let device = |path: &Path| {
        let guess = (!in_memory(path)).then(|| read::recognise(path, &args.reading.options()).ok());
        profile(guess.flatten()?.device()?)
    };
    let mut devices = traces.into_iter().map(device);
    let first = devices.next().flatten()?;
    devices.all(|other| other == Some(first)).then_some(first)
}

/// A built-in profile that a trace names; a newer program may have others.
pub(crate) fn profile(name: &str) -> Option<&'static str> {
    BUILT_IN_PROFILES.iter().map(|(known, _)| *known).find(|known| *known == name)
}

/// Reports that a trace was recorded on another kind of device than the simulated one, if that was not given.
pub(crate) fn say_device(
    trace: &str,
    seen: &Seen,
    device: &Device,
    args: &SimulationArgs,
    context: Context<'_>,
) {
    if let (None, Some(better)) = (&args.device.shape.device, seen.device().and_then(profile))
        && device.profile.name != better
    {
        context.warn(&format!(
            "{trace}: recorded on a phone or a card, simulated on {}; ‹device {better}› is nearer",
            device.profile.name
        ));
    }
}

/// Reads all traces, each once, and describes all workloads. Contents are kept for policies that want
/// them.
pub fn ready<'a>(
    traces: impl IntoIterator<Item = &'a Path>,
    workloads: impl IntoIterator<Item = &'a WorkloadSpec>,
    policies: &[PolicySpec],
    device: &Device,
    args: &SimulationArgs,
    context: Context<'_>,
) -> Result<Vec<Ready>, SimError> {
    let contents = policies.iter().any(PolicySpec::wants_contents);
    let sampled = args.mapping.sample.is_some();
    if let Some(policy) = policies.iter().find(|policy| sampled && policy.wants_contents()) {
        return Err(usage(format!(
            "{} needs the contents of requests, of which ‹sample› would keep parts; leave it out",
            policy.name
        )));
    }
    let scale = args.device.scale.map_or(1, u64::from);
    let mut inputs = Vec::new();
    for path in traces {
        if scale > 1 {
            return Err(usage(format!(
                "‹scale› is for workloads; for a trace take ‹sample 1/{scale}›"
            )));
        }
        inputs.push(Ready::Trace(Box::new(prepare(path, contents, device, args, context)?)));
    }
    for spec in workloads {
        if sampled {
            return Err(usage(format!(
                "‹sample› is for traces; for {spec} take a smaller ‹capacity› and ‹block-size›"
            )));
        }
        inputs.push(match spec {
            WorkloadSpec::Files(_) if scale > 1 => {
                return Err(usage(format!(
                    "‹scale› is for patterns; for {spec} take a smaller ‹capacity›"
                )));
            }
            WorkloadSpec::Files(_) => Ready::Files(Box::new(files(spec, device, args, context)?)),
            WorkloadSpec::Pattern(pattern) => Ready::Workload(Workload {
                spec: pattern.clone(),
                bytes: args.workload.bytes,
                request_bytes: args.workload.request,
                interarrival_ns: args.workload.interarrival,
                read_share: args.workload.reads.unwrap_or(0.0),
            }),
        });
    }
    Ok(inputs)
}

/// Lets a host use files on a volume as large as the device.
fn files(
    spec: &WorkloadSpec,
    device: &Device,
    args: &SimulationArgs,
    context: Context<'_>,
) -> Result<PreparedTrace, SimError> {
    let device = &with_cache(device.clone())?;
    let exported = device.exported_pages(args.device.spare(device.over_provisioning));
    let options = GeneratorOptions {
        bytes: args.workload.bytes,
        request_bytes: args.workload.request,
        interarrival_ns: args.workload.interarrival.map(|ns| ns as f64),
        read_share: args.workload.reads.unwrap_or(0.0),
        seed: args.seed,
        ..GeneratorOptions::new(u64::from(exported) * u64::from(device.profile.geometry.page_size))
    };
    let mapping = TraceMapping {
        read_modify_write: args.mapping.partial_pages != Some(PartialPages::Round),
        ..TraceMapping::of_files(device, exported)
    };
    let mut source = open(spec, &options).map_err(SimError::from)?;
    let mut counted = Counted::new(context, format!("generating {spec}"), &mut *source);
    let bytes = args.workload.bytes;
    let length = bytes
        .map_or(String::new(), |bytes| format!(" {}", in_results("bytes", &format_size(bytes))));
    let name = format!("{spec}{length}");
    PreparedTrace::prepare(&mut counted, &name, mapping, context.progress())
}

fn prepare(
    path: &Path,
    contents: bool,
    device: &Device,
    args: &SimulationArgs,
    context: Context<'_>,
) -> Result<PreparedTrace, SimError> {
    let name = path.display().to_string();
    let mapping = mapping(device, args);
    let read = |source: &mut dyn thermocline_trace::Source| {
        let mut counted = Counted::new(context, format!("reading {name}"), source);
        PreparedTrace::prepare(&mut counted, &name, mapping, context.progress())
    };
    // Dense numbers are not addresses, so contents have no place.
    let contents = contents && mapping.absolute;
    let reading = ReadOptions { contents, ..args.reading.options() };
    let (trace, seen) = opening::with_trace(path, &reading, &args.transforms, context, read)?;
    say_device(&name, &seen, device, args, context);
    Ok(trace)
}

/// How a trace's addresses become pages of the device.
pub fn mapping(device: &Device, args: &SimulationArgs) -> TraceMapping {
    TraceMapping {
        page_size: device.profile.geometry.page_size,
        absolute: args.mapping.absolute,
        written_only: args.mapping.footprint == Some(FootprintArg::Written),
        read_modify_write: args.mapping.partial_pages != Some(PartialPages::Round),
        device_pages: 0,
        sample: args.mapping.sample.map(|of| Sampling { of, seed: args.seed }),
    }
}

/// Additional data of runs beside their results.
#[derive(Clone, Copy, Default)]
pub struct Extras<'a> {
    /// The delay of each request.
    pub delays: Option<&'a DelayLog>,
    /// How the runs with the first seed went.
    pub history: bool,
    /// What the host asked, for charts.
    pub traffic: bool,
    /// The observer of each run.
    pub watch: Option<&'a dyn Watchers>,
}

/// Says who looks on at runs.
pub trait Watchers {
    /// Who looks on at this one, which has not begun.
    fn watch(&self, job: &Job<'_>) -> Box<dyn Watch>;
}

/// Runs every policy on every input with this many seeds, input by input, and returns the results in that
/// order.
///
/// # Errors
/// Errors that do not depend on the policy.
pub fn run_all(
    inputs: &[Ready],
    policies: &[PolicySpec],
    (seeds, oracle): (u64, bool),
    extras: Extras<'_>,
    device: &Device,
    args: &SimulationArgs,
    context: Context<'_>,
) -> Result<Vec<Outcome>, SimError> {
    let seeded = |input, policy| {
        let job = Job { delays: extras.delays, ..job(input, policy, device, args) };
        (0..seeds).map(move |more| Job {
            seed: args.seed.wrapping_add(more),
            history: extras.history && more == 0,
            ..job.clone()
        })
    };
    let mut jobs: Vec<Job<'_>> = inputs
        .iter()
        .flat_map(|input| policies.iter().map(move |policy| (input, policy)))
        .flat_map(|(input, policy)| seeded(input, policy))
        .collect();
    let message = match jobs.len() {
        1 => "running".to_owned(),
        n => format!("{n} runs"),
    };
    let watches: Vec<_> = jobs.iter().filter_map(|job| Some(extras.watch?.watch(job))).collect();
    jobs.iter_mut().zip(&watches).for_each(|(job, watch)| job.watch = Some(&**watch));
    let _told = context.runs(message, jobs.iter().map(known_pages).sum());
    compare_each(&jobs, oracle, args.threads, context.progress())
}

/// The host's requests, for any policy; `None` if no policy can run.
pub fn traffic(
    input: &Ready,
    policies: &[PolicySpec],
    device: &Device,
    args: &SimulationArgs,
    context: Context<'_>,
) -> Option<Traffic> {
    let of = |policy| Traffic::of(&job(input, policy, device, args), context.progress()).ok();
    policies.iter().find_map(of)
}

/// One policy on one input.
pub fn job<'a>(
    input: &'a Ready,
    policy: &PolicySpec,
    device: &Device,
    args: &SimulationArgs,
) -> Job<'a> {
    let input = match input {
        Ready::Trace(trace) => Input::Trace(trace, args.mapping.times.unwrap_or(1)),
        Ready::Files(trace) => Input::Trace(trace, 1),
        Ready::Workload(workload) => Input::Workload(workload),
    };
    job_on(input, policy, device, args)
}

/// As above, on an input that the simulator knows.
pub fn job_on<'a>(
    input: Input<'a>,
    policy: &PolicySpec,
    device: &Device,
    args: &SimulationArgs,
) -> Job<'a> {
    let over_provisioning = args.device.spare(device.over_provisioning);
    let page_size = u64::from(device.profile.geometry.page_size);
    let stands_for = u64::from(args.device.scale.unwrap_or(input.sampled()));
    // A drive's capacity does not depend on the footprint of a trace.
    let whole = args.device.over_provisioning.is_none() && device.over_provisioning.is_some();
    let exported = (whole && !matches!(args.device.fill, Some(FillArg::Share(_))))
        .then(|| device.exported_pages(over_provisioning));
    Job {
        fill: match (args.device.fill, args.device.preconditioned) {
            // Whoever makes a file system first needs no other data.
            (None, None) if input.prelude() > 0 && args.transforms.part == Part::Whole => {
                Fill::Nothing
            }
            (None, None | Some(PreconditionArg::Sequential)) => Fill::Logical,
            (None, Some(PreconditionArg::Shuffled)) => Fill::Shuffled,
            (Some(FillArg::Nothing), _) | (None, Some(PreconditionArg::Fresh)) => Fill::Nothing,
            (Some(FillArg::Share(share)), _) => Fill::Share(share),
        },
        over_provisioning,
        used: args.device.used.map(|bytes| bytes / stands_for / page_size),
        scale: args.device.scale.unwrap_or(1),
        time_scale_ns: args.device.time_scale.map(|ns| ns as f64),
        map_cache: args.device.map_cache,
        logical_pages: args
            .device
            .logical_pages
            .map(|pages| pages.div_ceil(stands_for as u32))
            .or(exported),
        warm_up: args.device.warm_up.unwrap_or(0),
        settle: args.mapping.settle,
        wrap: args.mapping.wrap,
        clock: args.device.clock.map(|clock| match clock {
            ClockArg::Device => Clock::Device,
            ClockArg::Arrivals => Clock::Arrivals,
        }),
        read_only: match args.device.read_only {
            None => ReadOnly::None,
            Some(ReadOnlyArg::Share(share)) => ReadOnly::Share(share),
            Some(ReadOnlyArg::Unwritten) => ReadOnly::Unwritten,
        },
        queue_depth: args.device.queue_depth,
        reads_first: args.device.reads_first,
        suspend: args.device.suspend,
        load: args.device.load,
        watermarks: watermarks(&args.cleaning),
        wears_out: args.device.wear_out,
        daily_writes: args.device.daily_writes,
        check: args.check,
        seed: args.seed,
        ..Job::new(device.clone(), adjusted(policy, &args.cleaning), input)
    }
}

/// The requested policy; `default` without a policy and axes.
pub fn policy(
    policy: Option<&str>,
    victim: Option<&str>,
    placement: Option<&str>,
    default: &str,
    args: &CleaningArgs,
    own: &OwnPolicies,
) -> Result<PolicySpec, SimError> {
    let default = (victim.is_none() && placement.is_none()).then_some(default);
    let policy = own.spec(policy.or(default), victim, placement)?;
    with_axes(policy, args)
}

/// The word for the translation layer of the simulated drive.
pub const DRIVE: &str = "drive";

/// The policy of a drive, by its profile.
pub fn policy_of_drive(device: &Device, own: &OwnPolicies) -> Option<Result<PolicySpec, SimError>> {
    let drive = device.profile.drive.as_ref()?;
    let spec = own.spec(None, Some(&drive.victim), Some(&drive.placement));
    Some(spec.map_err(SimError::from).map(|spec| PolicySpec { name: DRIVE.to_owned(), ..spec }))
}

/// The policy with the idle policy and the dead data that were asked for.
pub fn with_axes(policy: PolicySpec, args: &CleaningArgs) -> Result<PolicySpec, SimError> {
    let idle = only("‹idle›", &args.idle)?;
    let dead_data = only("‹dead-data›", &args.dead_data)?;
    Ok(policy.with(idle.as_deref(), dead_data.as_deref())?)
}

/// The policy with the user's settings.
pub fn adjusted(policy: &PolicySpec, args: &CleaningArgs) -> PolicySpec {
    let policy = policy.clone();
    PolicySpec {
        bank_assignment: args.bank_assignment.unwrap_or(policy.bank_assignment),
        trigger: args.trigger.unwrap_or(policy.trigger),
        pacing: args.pacing.unwrap_or(policy.pacing),
        batch: args.batch.unwrap_or(policy.batch),
        ..policy
    }
}

/// When cleaning starts and stops.
pub fn watermarks(args: &CleaningArgs) -> Watermarks {
    let reserve = args.reserve.unwrap_or(Watermarks::default().reserve);
    let low = args.low.unwrap_or(reserve.saturating_add(1));
    Watermarks { reserve, low, high: args.high.unwrap_or(low) }
}

/// Pages a run will write, as far as known before it begins; a bar corrects itself.
pub fn known_pages(job: &Job<'_>) -> u64 {
    match job.input {
        Input::Trace(trace, times) => trace.page_writes * u64::from(times),
        Input::Workload(workload) => {
            let pages = match job.fill {
                Fill::Share(share) => f64::from(job.device.exported_pages(0.0)) * share,
                _ => f64::from(job.device.exported_pages(job.over_provisioning)),
            };
            let pages = job.used.map_or(pages, |used| used as f64);
            let page = u64::from(job.device.profile.geometry.page_size) * u64::from(job.scale);
            workload.on(pages as u64 * page).bytes.unwrap_or(0) / page
        }
    }
}

/// The one name an option was given, if any.
pub fn only(option: &str, given: &[String]) -> Result<Option<String>, SimError> {
    let mut names: Vec<_> = given.iter().flat_map(|text| split_list(text)).collect();
    match names.len() {
        0 if !given.is_empty() => Err(usage(format!("{option} names nothing"))),
        0 | 1 => Ok(names.pop()),
        _ => Err(usage(format!(
            "{option} names {}; it takes one here, and several in `thermocline compare`",
            names.join(", ")
        ))),
    }
}
