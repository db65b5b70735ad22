//! Caveats of results.

use thermocline_policy::{preset::LayerKind, trigger::Pacing};
use thermocline_report::number;
use thermocline_sim::{PolicySpec, RunResult};
use thermocline_units as units;

use crate::{
    jobs::{self, Ready},
    settings::run::SimulationArgs,
};

/// The deviation of over-provisioning from the requested one that is reported.
const WORTH_SAYING: f64 = 0.02;

/// Over-provisioning above this is rather a share without its percent sign.
const MOST_SPARE: f64 = 2.0;

/// Bytes of a page write below which sizes are rather sectors that were taken for bytes.
const LEAST_BYTES: f64 = 128.0;

/// Pages below which a footprint is rather an address that was taken for something else.
const FEWEST_PAGES: u32 = 64;

/// Requests a second above which times are rather in another unit.
const MOST_IOPS: f64 = 20e6;

/// Remarks on the results of one input, one line each.
pub fn on(
    results: &[&RunResult],
    policies: &[PolicySpec],
    from_trace: bool,
    args: &SimulationArgs,
) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(result) = results.first() {
        notes.extend(much_spare(args).map(|note| format!("{}: {note}", result.trace.path)));
        notes.extend(default_device(&result.trace.path, &result.config.device.name, args));
        notes.extend(small_trace(result, from_trace, args));
        notes.extend(sampled(result));
        if from_trace {
            notes.extend(odd_units(result));
        }
    }
    notes.extend(nothing_cleaned(results, from_trace));
    notes.extend(overloaded(results));
    notes.extend(never_idle(results, policies, args));
    notes.extend(levels_of_others(results, args));
    notes.extend(saw_no_files(results, from_trace));
    notes.extend(worn_out(results));
    notes
}

/// Warnings of traces whose volumes become one device, one line each.
pub fn of_volumes(inputs: &[Ready]) -> Vec<String> {
    let several = inputs.iter().filter(|input| input.volumes() > 1);
    several
        .map(|input| {
            format!(
                "{}: its {} are simulated as one device; `compare ‹per-volume›` takes each as a device \
                 of its own, ‹volume NAME› takes one (`thermocline trace info` lists them)",
                input.name(),
                number::counted(input.volumes() as u64, "volume")
            )
        })
        .collect()
}

/// Why results have no distance to the oracle.
pub fn no_oracle(input: &str, why: &str) -> String {
    format!("{input}: not measured against the oracle: {why}")
}

/// The caveat of a sample.
fn sampled(result: &RunResult) -> Option<String> {
    result.sample.map(|sample| {
        format!(
            "{}: write amplification and lifetime are estimates from one page in {}, 95 % of which are \
             within the interval; counts and RAM are those of the sample, and response times are left out",
            result.trace.path, sample.one_of
        )
    })
}

/// The device that followed from a trace.
pub fn default_device(trace: &str, name: &str, args: &SimulationArgs) -> Option<String> {
    let followed = args.device.shape.device.is_none() && name != jobs::DEFAULT;
    followed.then(|| of_device(trace, name))
}

/// As above.
pub fn of_device(trace: &str, name: &str) -> String {
    format!(
        "{trace}: recorded on a phone or a card, so the device is {name}; ‹device NAME› takes another"
    )
}

/// `7` is 700 %.
pub fn much_spare(args: &SimulationArgs) -> Option<String> {
    let asked = args.device.over_provisioning?;
    (asked > MOST_SPARE).then(|| {
        format!(
            "‹over-provisioning {asked}› is {}; for {asked} percent write {asked}%",
            number::percent(asked)
        )
    })
}

/// Figures of a trace that no host and no device have: a column was read in the wrong unit.
fn odd_units(result: &RunResult) -> Vec<String> {
    let (path, host) = (&result.trace.path, &result.host);
    let mut notes = Vec::new();
    let bytes = host.bytes_written as f64 / host.pages_written.max(1) as f64;
    if host.pages_written > 0 && bytes < LEAST_BYTES {
        notes.push(format!(
            "{path}: writes are {} bytes a page: sizes and offsets are rather sectors than bytes \
             (‹columns 'offset=…:sectors,size=…:sectors'›)",
            number::short(bytes)
        ));
    }
    if result.config.logical_pages < FEWEST_PAGES && host.requests > u64::from(FEWEST_PAGES) {
        notes.push(format!(
            "{path}: all requests go to {}: see with `thermocline trace info` whether offsets are \
             read right",
            number::counted(result.config.logical_pages.into(), "page")
        ));
    }
    let seconds = result.trace.arrivals_us.map_or(0.0, |us| us / 1e6);
    if seconds > 0.0 && result.trace.requests as f64 / seconds > MOST_IOPS {
        notes.push(format!(
            "{path}: {} requests a second are more than any device takes: times are rather in a larger \
             unit (‹columns 'time=…:us'›, ms or s)",
            number::short(result.trace.requests as f64 / seconds)
        ));
    }
    notes
}

/// A small trace's device cannot be cut to size: its blocks are too large.
fn small_trace(result: &RunResult, from_trace: bool, args: &SimulationArgs) -> Option<String> {
    let device = &args.device;
    let sized = from_trace
        && result.config.device.overhead.is_none()
        && device.shape.capacity.is_none()
        && device.fill.is_none();
    let asked = device.over_provisioning.unwrap_or(units::USUAL_OVER_PROVISIONING);
    let is = result.config.over_provisioning;
    (sized && !args.mapping.wrap && is > asked + WORTH_SAYING).then(|| {
        let geometry = &result.config.device.geometry;
        let of = result.sample.map_or(1, |sample| sample.one_of);
        let pages = u64::from(geometry.pages_per_block) * u64::from(of);
        let block = u64::from(geometry.page_size) * pages;
        format!(
            "{}: over-provisioning is {} instead of {}: the trace is small for this device's \
             blocks of {}; a smaller ‹block-size› brings it closer",
            result.trace.path,
            number::percent(is),
            number::percent(asked),
            units::show_size(block)
        )
    })
}

/// Runs without garbage collection do not compare policies.
fn nothing_cleaned(results: &[&RunResult], from_trace: bool) -> Option<String> {
    let idle = |r: &&&RunResult| r.config.victim.is_some() && r.cleaning.victims == 0;
    let result = results.iter().find(idle)?;
    if results.iter().filter(|r| r.config.victim.is_some()).any(|r| r.cleaning.victims > 0) {
        return None;
    }
    let path = &result.trace.path;
    Some(if result.host.pages_written == 0 {
        format!("{path}: nothing was written, so there is no garbage to collect")
    } else if from_trace {
        format!(
            "{path}: no garbage was collected: the trace writes less than the spare space; use \
             ‹loop 3›, a smaller ‹over-provisioning› or ‹footprint written›"
        )
    } else {
        format!(
            "{path}: no garbage was collected: the workload writes less than the spare space; use \
             more ‹bytes› or a smaller ‹over-provisioning›"
        )
    })
}

/// A device that is still busy long after the last request has a queue, not response times.
fn overloaded(results: &[&RunResult]) -> Option<String> {
    let factor = |r: &&RunResult| r.lifetime.time_factor.filter(|_| r.lifetime.overloaded);
    let late: Vec<(&str, f64)> =
        results.iter().filter_map(|run| Some((run.config.policy.as_str(), factor(run)?))).collect();
    let factors = || late.iter().map(|(_, factor)| *factor);
    let (least, most) = (factors().reduce(f64::min)?, factors().reduce(f64::max)?);
    let range = match (number::short(least), number::short(most)) {
        (least, most) if least == most => most,
        (least, most) => format!("{least} to {most}"),
    };
    let of = match late.len() {
        n if n == results.len() => String::new(),
        1..=3 => {
            format!(" with {}", late.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
        }
        n => format!(" with {n} of {} policies", results.len()),
    };
    Some(format!(
        "{}: the device is overloaded{of}: it would need {range} × the time the trace has; response \
         times are those of a growing queue, and years are not compared (‹clock device› shows service \
         times, ‹load 70%› response times at a load that it bears)",
        results[0].trace.path
    ))
}

/// Where a request starts when the previous one has ended, there is no idle time.
fn never_idle(
    results: &[&RunResult],
    policies: &[PolicySpec],
    args: &SimulationArgs,
) -> Option<String> {
    let result = results.first().filter(|result| result.config.clock == "device")?;
    let policy = policies.iter().find(|policy| policy.idle.is_some())?;
    let remedy = match args.device.clock {
        Some(_) => "leave out ‹clock device›",
        None => "it needs arrival times (‹interarrival›)",
    };
    Some(format!(
        "{}: on the device's own clock there is no idle time for {}; {remedy}",
        result.trace.path, policy.name
    ))
}

/// Options that speak of the blocks of a log, where no policy has one.
fn levels_of_others(results: &[&RunResult], args: &SimulationArgs) -> Option<String> {
    let result = results.first()?;
    if results.iter().any(|result| result.config.layer == LayerKind::PageMapped.name()) {
        return None;
    }
    let cleaning = &args.cleaning;
    let given = [
        (cleaning.low.is_some(), "‹low›"),
        (cleaning.high.is_some(), "‹high›"),
        (cleaning.trigger.is_some(), "‹trigger›"),
        (cleaning.pacing.is_some_and(|pacing| pacing != Pacing::Off), "‹pacing›"),
        (cleaning.batch.is_some(), "‹batch›"),
        (cleaning.bank_assignment.is_some(), "‹bank-assignment›"),
    ];
    let (_, option) = given.into_iter().find(|(given, _)| *given)?;
    let own = match result.config.layer == LayerKind::Nftl.name() {
        true => "; it has thresholds of its own, as in 'nftl(start=10, stop=20)'",
        false => "",
    };
    Some(format!("{}: {option} has no effect on {}{own}", result.trace.path, result.config.policy))
}

/// Inferring dead data from a file system's tables needs the data written to them.
fn saw_no_files(results: &[&RunResult], from_trace: bool) -> Option<String> {
    let watches = |r: &&&RunResult| r.config.dead_data.starts_with("fsaf");
    let result = results.iter().find(watches)?;
    let armed = result.dead_data.is_some_and(|dead| dead.armed > 0);
    (!armed).then(|| {
        format!(
            "{}: {} saw no FAT, exFAT, ext or NTFS file system, and did nothing: {}",
            result.trace.path,
            result.config.policy,
            if from_trace {
                "it needs a trace with the contents of requests (a pcap capture of a USB stick \
                 from before it is plugged in) and ‹absolute›"
            } else {
                "patterns have none; use a file workload (s1, s2, ...)"
            }
        )
    })
}

fn worn_out(results: &[&RunResult]) -> Option<String> {
    let most = results.iter().max_by_key(|r| r.cleaning.retired_blocks)?;
    let retired = most.cleaning.retired_blocks;
    (retired > 0).then(|| {
        format!(
            "{}: up to {} wore out ({})",
            most.trace.path,
            number::counted(retired, "block"),
            most.config.policy
        )
    })
}
