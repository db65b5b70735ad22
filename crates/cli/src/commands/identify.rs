//! `thermocline identify`: the device that explains the measurements of a drive.

use std::path::Path;

use thermocline_assembly::Device;
use thermocline_flash::Profile;
use thermocline_identify::{
    Family, Identified, MeasuredRun, RunInput, Settings, families, identify, page, scale,
};
use thermocline_measured::{Options, import};
use thermocline_sim::{Fill, SimError};
use thermocline_study::{
    jobs::{self, Ready},
    settings::{device::PreconditionArg, run::RunSpec, table::Group},
};

use super::measured::bad;
use crate::{
    args::identify::{IdentifyArgs, RunArgs},
    console::Console,
    exit::Failure,
    output::Output,
    pictures,
    print::{identify as print, json, table::USUAL_WIDTH},
};

/// The drive whose times and endurance stand in where nothing is known.
const LIKE: &str = "nvme-tlc-datacenter";

/// Searches, prints, and writes the drive.
pub fn run(args: &IdentifyArgs, console: Console) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let fitted = args.output.as_deref().map(|path| Output::open(Some(path))).transpose()?;
    let report = args.report.as_deref().map(|path| Output::open(Some(path))).transpose()?;
    let (base, exported_bytes) = base(args)?;
    let families = match &args.families[..] {
        [] => families(),
        named => named.iter().map(|name| Family::parse(name)).collect::<Result<_, _>>()?,
    };
    let settings = Settings {
        exported_bytes,
        scale: scale(exported_bytes, base.geometry.page_size, args.pages),
        base,
        families,
        overhead: args.overhead,
        next: true,
        threads: args.threads,
        seed: args.seed,
    };
    let runs = args.runs.iter().map(|run| read(run, args, settings.scale, console));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let context = console.context();
    let told = context.runs("identifying".into(), page_writes(&runs, &settings));
    let found = identify(&runs, &settings, context.progress())?;
    drop(told);
    let profile = profile(&found, &runs, &settings, args);
    if let Some(fitted) = fitted {
        let text = toml::to_string_pretty(&profile).map_err(Failure::failed)?;
        fitted.put(text.as_bytes())?;
    }
    if let Some(report) = report {
        let lead = print::answer(&found, &runs);
        let page = page::page(&found, &runs, lead, pictures::repeat().command);
        report.put(pictures::rendered(&page)?.as_bytes())?;
    }
    if args.json {
        json::print(&print::value(&found, &runs, &profile), output)?;
    } else {
        let width = output.width().unwrap_or(USUAL_WIDTH);
        output.put_styled(&print::show(&found, &runs, width))?;
    }
    // The findings so far are valid; the exit code shows the interruption.
    if found.stopped { Err(SimError::Interrupted.into()) } else { Ok(()) }
}

/// The known figures of the drive.
fn base(args: &IdentifyArgs) -> Result<(Profile, u64), Failure> {
    let named = args.device.as_deref().unwrap_or(LIKE);
    let profile = Device::load(named)?.profile;
    let known = profile.drive.as_ref().map(|drive| drive.exported_bytes);
    let exported = args.exports.or(known).ok_or_else(|| {
        Failure::usage(format!(
            "{named} says nothing of what it exports; say it by --exports, in bytes as `lsblk -b` does"
        ))
    })?;
    Ok((profile, exported))
}

/// A measurement and its traffic.
fn read(
    run: &RunArgs,
    args: &IdentifyArgs,
    scale: u32,
    console: Console,
) -> Result<MeasuredRun, Failure> {
    let file = run.measured.display().to_string();
    let device = args.device.as_deref().unwrap_or(LIKE);
    let mut given = vec![("seed", args.seed.to_string()), ("device", device.to_owned())];
    match (&run.workload, &run.trace) {
        (Some(workload), None) => given.push(("workload", workload.clone())),
        (None, Some(trace)) => {
            given.push(("trace", trace.display().to_string()));
            if scale > 1 {
                given.push(("sample", format!("1/{scale}")));
            }
        }
        _ => {
            return Err(Failure::usage(format!(
                "{file}: say what ran meanwhile, by --workload or by --trace after it, not both"
            )));
        }
    }
    given.extend(run.request.map(|bytes| ("request", bytes.to_string())));
    let imported = import([&run.measured], &Options::default()).map_err(|e| bad(&e))?;
    imported.notes.iter().for_each(|note| console.note(note));
    let settings = RunSpec::of(given.iter().map(|(name, value)| (*name, Some(&**value))))
        .map_err(SimError::from)?;
    let (input, simulation) = (&settings.one.input, &settings.simulation);
    let device = jobs::device(&simulation.device.shape)?;
    let context = console.context();
    let ready =
        jobs::ready(input.trace.as_deref(), &input.workload, &[], &device, simulation, context)?;
    let input = match ready.into_iter().next() {
        Some(Ready::Workload(workload)) => RunInput::Workload(workload),
        Some(Ready::Trace(trace)) => RunInput::Trace(trace),
        Some(Ready::Files(_)) | None => {
            return Err(Failure::usage(format!(
                "{file}: a workload of files has no sizes of a whole drive; record it, and give the trace"
            )));
        }
    };
    let state = run.preconditioned.map(|how| match how {
        PreconditionArg::Fresh => Fill::Nothing,
        PreconditionArg::Sequential => Fill::Logical,
        PreconditionArg::Shuffled => Fill::Shuffled,
    });
    let what = run.workload.clone().or_else(|| {
        run.trace
            .as_deref()
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy().into_owned())
    });
    let stem = run.measured.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = format!("{} ({})", stem.unwrap_or(file), what.unwrap_or_default());
    let measured = MeasuredRun::new(&name, &imported.measurement, input, state, run.used);
    measured.map_err(|e| bad(&e))
}

/// Pages that the hosts of all simulations write, about: a bar corrects itself.
fn page_writes(runs: &[MeasuredRun], settings: &Settings) -> u64 {
    /// Evaluations of a family, on average, over all steps.
    const EVALUATIONS: f64 = 18.0;
    let page = f64::from(settings.base.geometry.page_size) * f64::from(settings.scale);
    let once: f64 = runs.iter().map(|run| run.curve.total() / page).sum();
    (once * EVALUATIONS * settings.families.len() as f64) as u64
}

/// The drive, with what its figures rest on.
fn profile(
    found: &Identified,
    runs: &[MeasuredRun],
    settings: &Settings,
    args: &IdentifyArgs,
) -> Profile {
    let mut profile = found.profile(settings);
    let worst = print::worst(found);
    profile.name.clone_from(&args.name);
    profile.summary =
        format!("{}, fitted to measurements of a drive", found.best().fit.model.family.name);
    let like = args.device.as_deref().unwrap_or(LIKE);
    profile.sources = vec![
        format!(
            "Over-provisioning, superblocks, overhead, victims, placement: fitted to {} by `thermocline \
             identify`; write amplification in the last quarter of these runs is off by at most {:.1} %.",
            runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>().join(", "),
            worst * 100.0
        ),
        format!("Times, endurance, page size: those of {like}, not fitted."),
    ];
    // A page takes the time of one page in the drive's fastest run.
    let rate = runs.iter().filter_map(|run| run.bytes_per_second).reduce(f64::max);
    if let Some(rate) = rate.filter(|rate| *rate > 0.0) {
        let page = f64::from(profile.geometry.page_size);
        let ns = ((page / rate * 1e9) as u64).max(1);
        let timing = &mut profile.timing;
        (timing.program_setup_ns, timing.program_ns) = (0, ns);
        (timing.copy_setup_ns, timing.copy_ns) = (0, timing.read() + ns);
        profile.sources[1] = format!(
            "Programs: as fast as the drive programmed in its fastest run. Other times, endurance, page size: those \
             of {like}, not fitted."
        );
    }
    profile
}
