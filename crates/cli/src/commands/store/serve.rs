//! `thermocline serve`: chips become block devices.

use std::{
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use thermocline_ftl::Mount;
use thermocline_media::{Place, Ram};
use thermocline_policy::dead::DeadData;
use thermocline_server::{Limits, Listener, Opening, Options, Pace, Server, Stopper};
use thermocline_sim::{Device, PolicySpec, SimError, Store, store};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use super::{
    command::{OwnSocket, Running},
    exports, format,
    pidfile::PidFile,
};
use crate::{
    args::store::{Exported, ServeArgs},
    chips::{self, Access, Opened, failed},
    exit::Failure,
    jobs,
};

/// Serves until it is told to stop.
pub fn run(args: &ServeArgs, quiet: bool) -> Result<(), Failure> {
    log_to_stderr(args, quiet)?;
    if args.exit_with_parent {
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))
            .map_err(|e| SimError::Failed(format!("--exit-with-parent: {e}")))?;
    }
    let asked = &args.policy;
    let (victim, placement) = (asked.victim.as_deref(), asked.placement.as_deref());
    let policy =
        jobs::policy(asked.policy.as_deref(), victim, placement, chips::SERVED, &asked.cleaning)?;
    let policy = jobs::adjusted(&policy, &asked.cleaning);
    let access =
        Access { read_only: args.read_only, direct: args.direct, faults: args.inject.clone() };
    // All that can be refused is refused before a chip is mounted.
    exports::check(&args.chips)?;
    args.pidfile.as_deref().map_or(Ok(()), PidFile::check)?;
    let options = Options {
        limits: Limits { connections: args.max_connections as usize, ..Limits::default() },
        record: args.record.clone(),
        metrics: args.metrics.clone(),
        #[cfg(feature = "tls")]
        tls: tls(args)?,
    };
    options.check().map_err(failed)?;
    let mut listeners = Listener::inherited().map_err(failed)?;
    let own_socket = own_socket(args, !listeners.is_empty())?;
    let found: Vec<_> = args
        .chips
        .iter()
        .map(|exported| Found::at(&exported.chip, &access, args))
        .collect::<Result<_, _>>()?;
    // Who connects before the chips are mounted waits.
    for path in args.unix.iter().chain(own_socket.as_ref().map(|own| &own.path)) {
        listeners.push(Listener::unix(path).map_err(failed)?);
    }
    for address in &args.tcp {
        listeners.extend(Listener::tcp(address).map_err(failed)?);
    }
    let openings = args
        .chips
        .iter()
        .zip(found)
        .map(|(exported, found)| opening(exported, found, &policy, &access, args))
        .collect::<Result<_, _>>()?;
    let mut server = Server::new(openings, options).map_err(failed)?;
    listeners.into_iter().for_each(|listener| server.listen(listener));
    if let Some(address) = server.metrics_address() {
        tracing::info!(%address, "metrics");
    }
    stop_by_signal(&server.stopper())?;
    let pidfile = args.pidfile.as_deref().map(PidFile::create).transpose()?;
    let socket = own_socket.as_ref().map(|own| &own.path).or(args.unix.first());
    let command = match (&args.run, socket) {
        (Some(text), Some(socket)) => Some(Running::start(text, socket, &server.stopper())?),
        _ => None,
    };
    let served = server.run().map_err(failed);
    drop((pidfile, own_socket));
    let ended = command.map_or(Ok(()), Running::ended);
    served.and(ended)
}

/// A chip that can be mounted or made.
enum Found {
    Ram(Device),
    Chip(Opened),
}

impl Found {
    fn at(chip: &Place, access: &Access, args: &ServeArgs) -> Result<Self, Failure> {
        Ok(match chip {
            Place::Ram => Self::Ram(jobs::device(&args.shape)?),
            chip => Self::Chip(chips::open(chip, access)?),
        })
    }
}

/// The server's certificate, and whether clients must encrypt.
#[cfg(feature = "tls")]
fn tls(args: &ServeArgs) -> Result<Option<(thermocline_server::Tls, bool)>, Failure> {
    let (Some(chain), Some(key)) = (&args.tls_cert, &args.tls_key) else { return Ok(None) };
    let tls = thermocline_server::Tls::load(chain, key, args.tls_clients.as_deref());
    Ok(Some((tls.map_err(chips::input)?, args.tls_required)))
}

/// A chip, mounted.
fn opening(
    exported: &Exported,
    found: Found,
    policy: &PolicySpec,
    access: &Access,
    args: &ServeArgs,
) -> Result<Opening, Failure> {
    let adjust = |store: Store| Store {
        time_scale_ns: args.policy.time_scale.map(|ns| ns as f64),
        watermarks: jobs::watermarks(&args.policy.cleaning),
        seed: args.policy.seed,
        ..store
    };
    let of_policy = |e: SimError| Failure::from(e.of_policy(&policy.name));
    let (mut layer, device, pace, mounted) = match found {
        Found::Ram(device) => {
            let store = adjust(format::fit(device, args.over_provisioning, policy.clone())?);
            let profile = &store.device.profile;
            let ram = chips::with_faults(Ram::new(profile.geometry, profile.rules), access);
            let (chip, pace) = paced(ram, args.pace, profile);
            let layer = store.format(chip, format::new_format()?).map_err(of_policy)?;
            (layer, store.device, pace, None)
        }
        Found::Chip(opened) => {
            let begun = Instant::now();
            let (chip, pace) = paced(opened.chip, args.pace, &opened.device.profile);
            let logical_pages = opened.summary.logical_pages;
            let store = adjust(Store::new(opened.device, policy.clone(), logical_pages));
            let how = if args.rebuild { Mount::FromPages } else { Mount::Quick };
            let (layer, recovery) = store.mount(chip, how).map_err(of_policy)?;
            let took = begun.elapsed();
            tracing::info!(
                image = %exported.chip,
                policy = policy.name,
                clean = recovery.clean,
                checkpoint = recovery.used_checkpoint,
                areas_read = recovery.areas_read,
                pages_verified = recovery.pages_verified,
                milliseconds = took.as_millis() as u64,
                "mounted"
            );
            if !recovery.rolled_back.is_empty() {
                tracing::warn!(
                    image = %exported.chip,
                    pages = recovery.rolled_back.len(),
                    "the newest copies of some pages were cut off or damaged: older ones take their place"
                );
            }
            (layer, store.device, pace, Some((recovery, took)))
        }
    };
    let time_ns = mounted.as_ref().map_or(0, |(found, _)| found.newest_time.saturating_add(1));
    let is_empty = mounted.as_ref().is_none_or(|(found, _)| found.pages_found == 0);
    if is_empty && !access.read_only {
        store::begin(&mut layer, time_ns)?;
    }
    let over = layer.inspect().end_of_life();
    if let Some(why) = over {
        tracing::error!(image = %exported.chip, "{why}: the chip is exported read-only");
    }
    Ok(Opening {
        name: exports::name(exported),
        description: format!("{} on {}", policy.name, device.profile.name),
        read_only: args.read_only || over.is_some(),
        time_ns,
        recovery: mounted.map(|(_, took)| took),
        idle: policy.build_idle()?,
        timing: device.profile.timing,
        pace,
        ignores_trims: policy.build_dead_data()? == DeadData::None,
        ..Opening::new(layer)
    })
}

fn paced(
    chip: chips::Chip,
    pace: bool,
    profile: &thermocline_flash::Profile,
) -> (chips::Chip, Option<Pace>) {
    if !pace {
        return (chip, None);
    }
    let (chip, pace) = Pace::slow(chip, profile.timing);
    (chip, Some(pace))
}

/// A socket for --run, where no other was named; and a refusal where nobody could connect at all.
fn own_socket(args: &ServeArgs, inherited: bool) -> Result<Option<OwnSocket>, Failure> {
    let somewhere = inherited || !args.unix.is_empty() || !args.tcp.is_empty();
    match (&args.run, somewhere) {
        (None, false) => Err(Failure::usage(
            "nobody could connect: say where to listen with --unix SOCK or --tcp ADDR",
        )),
        (Some(_), _) if args.unix.is_empty() => OwnSocket::new().map(Some),
        _ => Ok(None),
    }
}

/// A second signal that comes sooner than this is the first one again.
const TWICE: Duration = Duration::from_millis(200);

/// SIGTERM, SIGHUP and Ctrl-C stop the server in good order, the second of them at once.
fn stop_by_signal(stopper: &Stopper) -> Result<(), Failure> {
    let failed = |e: std::io::Error| SimError::Failed(format!("signals: {e}"));
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(failed)?;
    let stopper = stopper.clone();
    let mut first: Option<Instant> = None;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for _ in signals.forever() {
                // Who signals a process and its group means it once.
                if first.is_none_or(|first| first.elapsed() > TWICE) {
                    first.get_or_insert_with(Instant::now);
                    stopper.stop();
                }
            }
        })
        .map_err(failed)?;
    Ok(())
}

fn log_to_stderr(args: &ServeArgs, quiet: bool) -> Result<(), Failure> {
    let filter = if quiet { "error" } else { args.log.as_str() };
    let targets: Targets = filter.parse().map_err(|e| {
        Failure::usage(format!("--log {filter}: {e}; expected error, warn, info or debug"))
    })?;
    let events = tracing_subscriber::registry().with(targets);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    if args.log_json {
        events.with(lines.json()).init();
    } else {
        let has_colour = crate::console::stderr_has_colour();
        events.with(lines.with_target(false).with_ansi(has_colour)).init();
    }
    Ok(())
}
