//! What a person should know before believing a result.

use thermocline_policy::preset::LayerKind;
use thermocline_sim::{PolicySpec, RunResult, units};

use crate::{args::simulation::SimulationArgs, print::number};

/// How far over-provisioning may be from what was asked before it is worth a word.
const WORTH_SAYING: f64 = 0.02;

/// How many times as long as the arrivals a device may be busy before it is worth a word.
const BEHIND: f64 = 1.05;

/// Remarks on the results of one input, one line each.
pub fn on(
    results: &[&RunResult],
    policies: &[PolicySpec],
    from_trace: bool,
    args: &SimulationArgs,
) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(results.first().and_then(|result| small_trace(result, from_trace, args)));
    notes.extend(nothing_cleaned(results, from_trace));
    notes.extend(overloaded(results));
    notes.extend(never_idle(results, policies, args));
    notes.extend(levels_of_others(results, args));
    notes.extend(saw_no_files(results, from_trace));
    notes.extend(worn_out(results));
    notes
}

/// Why results have no distance to the oracle.
pub fn no_oracle(input: &str, why: &str) -> String {
    format!("{input}: not measured against the oracle: {why}")
}

/// A small trace's device cannot be cut to size: its blocks are too large.
fn small_trace(result: &RunResult, from_trace: bool, args: &SimulationArgs) -> Option<String> {
    let device = &args.device;
    let sized = from_trace && device.shape.capacity.is_none() && device.fill.is_none();
    let (asked, is) = (device.over_provisioning, result.config.over_provisioning);
    (sized && !args.mapping.wrap && is > asked + WORTH_SAYING).then(|| {
        let geometry = &result.config.device.geometry;
        let block = u64::from(geometry.page_size) * u64::from(geometry.pages_per_block);
        format!(
            "{}: over-provisioning is {} instead of {}: the trace is small for this device's \
             blocks of {}; a smaller --block-size brings it closer",
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
             --loop 3, a smaller --over-provisioning or --footprint written"
        )
    } else {
        format!(
            "{path}: no garbage was collected: the workload writes less than the spare space; use \
             more --bytes or a smaller --over-provisioning"
        )
    })
}

/// A device that is still busy long after the last request has a queue, not response times.
fn overloaded(results: &[&RunResult]) -> Option<String> {
    let late =
        |r: &&RunResult| r.trace.arrivals_us.filter(|&us| us > 0.0).map(|us| r.elapsed_us / us);
    let least = results.iter().filter_map(late).reduce(f64::min)?;
    let result = &results[0];
    (least > BEHIND).then(|| {
        format!(
            "{}: the device cannot keep up with the arrivals, it needs {} times as long; response \
             times are those of a growing queue (--clock device shows service times)",
            result.trace.path,
            number::short(least)
        )
    })
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
        Some(_) => "leave out --clock device",
        None => "it needs arrival times (--interarrival)",
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
        (cleaning.low.is_some(), "--low"),
        (cleaning.high.is_some(), "--high"),
        (cleaning.trigger.is_some(), "--trigger"),
        (cleaning.batch.is_some(), "--batch"),
        (cleaning.bank_assignment.is_some(), "--bank-assignment"),
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
            "{}: {} saw no FAT32 or exFAT file system, and did nothing: {}",
            result.trace.path,
            result.config.policy,
            if from_trace {
                "it needs a trace with the contents of requests (a pcap capture of a USB stick \
                 from before it is plugged in) and --absolute"
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
