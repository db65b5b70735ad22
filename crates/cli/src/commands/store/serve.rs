//! `thermocline serve`: chips become block devices.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use thermocline_assembly::{
    Access, Candidate, ServeOptions,
    chips::{SERVED, caution, profile_text},
    policy::OwnPolicies,
};
use thermocline_ftl::Recovery;
use thermocline_media::Place;
use thermocline_policy::dead::DeadData;
use thermocline_server::{
    About, Access as ExportAccess, Limits, Listener, Opening, Options, Pace, Rights, Server,
    Stopper, control::seat,
};
use thermocline_study::jobs;
use tracing_subscriber::{
    filter::Targets, fmt::writer::BoxMakeWriter, layer::SubscriberExt, util::SubscriberInitExt,
};

use super::{
    command::{OwnSocket, Running},
    exports,
    pidfile::PidFile,
    tuning::Tuning,
};
use crate::{
    args::store::{Exported, Rule, ServeArgs},
    exit::Failure,
};

/// Serves until stopped.
pub fn run(args: &ServeArgs, quiet: bool) -> Result<(), Failure> {
    start_log(args, quiet)?;
    if args.exit_with_parent {
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))
            .map_err(|e| Failure::failed(format!("--exit-with-parent: {e}")))?;
    }
    serve_options(args, SERVED)?;
    let access = Access {
        read_only: args.read_only,
        direct: args.direct,
        faults: args.inject.clone(),
        ..Access::default()
    };
    // All that can be refused is refused before a chip is mounted.
    exports::check(&args.chips)?;
    check_rules(args)?;
    #[cfg(not(feature = "tls"))]
    refuse_tls(args)?;
    args.pidfile.as_deref().map_or(Ok(()), PidFile::check)?;
    let options = Options {
        limits: limits(args),
        record: args.record.clone(),
        metrics: args.metrics.clone(),
        dashboard: args.dashboard.clone(),
        #[cfg(feature = "tls")]
        tls: tls(args)?,
    };
    options.check().map_err(Failure::failed)?;
    let mut listeners = Listener::inherited().map_err(Failure::failed)?;
    let own_socket = own_socket(args, !listeners.is_empty())?;
    let device = || jobs::device(&args.shape);
    let found: Vec<_> = args
        .chips
        .iter()
        .map(|exported| Candidate::find(&exported.chip, &access, device))
        .collect::<Result<_, _>>()?;
    // Who connects before the chips are mounted waits.
    listen(args, own_socket.as_ref(), &mut listeners)?;
    let control = control(args)?;
    let openings = args
        .chips
        .iter()
        .zip(found)
        .map(|(exported, found)| opening(exported, found, &access, args))
        .collect::<Result<_, _>>()?;
    let mut server = Server::new(openings, options).map_err(Failure::failed)?;
    listeners.into_iter().for_each(|listener| server.listen(listener));
    control.into_iter().for_each(|(listener, export)| server.control(listener, export));
    if let Some(address) = server.metrics_address() {
        tracing::info!(%address, "metrics");
    }
    if let Some(address) = server.dashboard_address() {
        tracing::info!("dashboard at http://{address}/");
        if !address.ip().is_loopback() {
            tracing::warn!(
                %address,
                "whoever reaches the dashboard's address sees the chip at work, and what is sent is not \
                 encrypted; a port without a host keeps it here"
            );
        }
    }
    stop_by_signal(&server.stopper())?;
    let pidfile = args.pidfile.as_deref().map(PidFile::create).transpose()?;
    let socket = own_socket.as_ref().map(|own| &own.path).or(args.unix.first());
    let command = match (&args.run, socket) {
        (Some(text), Some(socket)) => Some(Running::start(text, socket, &server.stopper())?),
        _ => None,
    };
    let served = server.run().map_err(Failure::failed);
    drop((pidfile, own_socket));
    let ended = command.map_or(Ok(()), Running::ended);
    served.and(ended)
}

/// Listens on the configured addresses.
fn listen(
    args: &ServeArgs,
    own: Option<&OwnSocket>,
    listeners: &mut Vec<Listener>,
) -> Result<(), Failure> {
    let owner = args.unix_owner;
    let rights = Rights {
        mode: args.unix_mode,
        user: owner.and_then(|owner| owner.user),
        group: owner.and_then(|owner| owner.group),
    };
    for path in &args.unix {
        listeners.push(Listener::unix_of(path, &rights).map_err(Failure::failed)?);
    }
    if let Some(own) = own {
        listeners.push(Listener::unix_of(&own.path, &Rights::OWNER).map_err(Failure::failed)?);
    }
    for address in &args.tcp {
        listeners.extend(Listener::tcp(address).map_err(Failure::failed)?);
    }
    let all_encrypt = args.tls_required || args.tls_clients.is_some();
    for listener in listeners.iter().filter(|it| it.is_beyond_loopback() && !all_encrypt) {
        tracing::warn!(
            address = listener.address(),
            "clients of this address need not encrypt, and others on the network can read and change \
             what they send; --tls-required refuses them, an address such as 127.0.0.1 keeps it here"
        );
    }
    Ok(())
}

/// The control sockets: one for each image file in a private folder, or the configured one; and their exports.
fn control(args: &ServeArgs) -> Result<Vec<(Listener, usize)>, Failure> {
    match &args.control {
        Some(path) if path.as_os_str() == "none" => return Ok(Vec::new()),
        Some(path) => {
            let listener = Listener::unix_of(path, &Rights::OWNER).map_err(Failure::failed)?;
            return Ok(vec![(listener, 0)]);
        }
        None => {}
    }
    let mut all = Vec::new();
    for (export, chip) in args.chips.iter().enumerate() {
        let Some(path) = chip.chip.path().filter(|path| path.is_file()) else { continue };
        let socket = seat::take(path).map_err(|e| e.to_string());
        let listener = socket.and_then(|socket| {
            Listener::unix_of(&socket, &Rights::OWNER).map_err(|e| e.to_string())
        });
        match listener {
            Ok(listener) => all.push((listener, export)),
            // It can be served all the same.
            Err(e) => {
                tracing::warn!("no control socket for `ctl` and `backup`: {e}; see --control");
            }
        }
    }
    Ok(all)
}

/// The rules for an export.
fn of<T: Clone>(rules: &[Rule<T>], name: &str) -> Vec<T> {
    let is_meant = |rule: &&Rule<T>| rule.export.as_deref().is_none_or(|export| export == name);
    rules.iter().filter(is_meant).map(|rule| rule.admits.clone()).collect()
}

/// Who may use an export.
fn admitted(args: &ServeArgs, name: &str) -> ExportAccess {
    ExportAccess { networks: of(&args.allow, name), names: of(&args.tls_allow, name) }
}

/// A rule for an export that there is not would protect nothing.
fn check_rules(args: &ServeArgs) -> Result<(), Failure> {
    let names: Vec<_> = args.chips.iter().map(exports::name).collect();
    let of_networks = args.allow.iter().map(|rule| ("--allow", &rule.export));
    let of_names = args.tls_allow.iter().map(|rule| ("--tls-allow", &rule.export));
    let of_regions = args.separate.iter().map(|rule| ("--separate", &rule.export));
    for (option, export) in of_networks.chain(of_names).chain(of_regions) {
        if let Some(export) = export.as_ref().filter(|export| !names.contains(export)) {
            return Err(Failure::usage(format!(
                "{option} {export}=: there is no export {export:?}; there are {}",
                names.join(", ")
            )));
        }
    }
    Ok(())
}

/// Limits on clients.
fn limits(args: &ServeArgs) -> Limits {
    Limits {
        connections: args.max_connections as usize,
        connections_per_address: args.max_connections_per_address as usize,
        memory: usize::try_from(args.buffers).unwrap_or(usize::MAX),
        stall: Duration::from_nanos(args.stall_timeout),
        idle: args.idle_timeout.map(Duration::from_nanos),
        ..Limits::default()
    }
}

/// The requested policies, and the other options of serving a chip.
fn serve_options(args: &ServeArgs, default: &str) -> Result<ServeOptions, Failure> {
    let asked = &args.policy;
    let (victim, placement) = (asked.victim.as_deref(), asked.placement.as_deref());
    let policy = jobs::policy(
        asked.policy.as_deref(),
        victim,
        placement,
        default,
        &asked.cleaning,
        &OwnPolicies::default(),
    )?;
    Ok(ServeOptions {
        policy: jobs::adjusted(&policy, &asked.cleaning),
        over_provisioning: args.over_provisioning,
        watermarks: jobs::watermarks(&asked.cleaning),
        grouped: asked.cleaning.low.is_none() && asked.cleaning.high.is_none(),
        time_scale_ns: asked.time_scale.map(|ns| ns as f64),
        seed: asked.seed,
        separate: Vec::new(),
        rebuild: args.rebuild,
        map_cache: args.map_cache,
    })
}

/// The server's certificate, and whether clients must encrypt.
#[cfg(feature = "tls")]
fn tls(args: &ServeArgs) -> Result<Option<(thermocline_server::Tls, bool)>, Failure> {
    use thermocline_assembly::AssemblyError;
    use thermocline_server::Clients;

    let (Some(chain), Some(key)) = (&args.tls_cert, &args.tls_key) else { return Ok(None) };
    let clients = args.tls_clients.as_deref();
    let clients =
        clients.map(|authorities| Clients { authorities, revoked: args.tls_crl.as_deref() });
    let tls = thermocline_server::Tls::load(chain, key, clients);
    Ok(Some((tls.map_err(|e| AssemblyError::Input(e.to_string()))?, args.tls_required)))
}

/// Without TLS support the options must fail, not serve in clear.
#[cfg(not(feature = "tls"))]
fn refuse_tls(args: &ServeArgs) -> Result<(), Failure> {
    if args.tls_cert.is_none() {
        return Ok(());
    }
    Err(Failure::usage(
        "--tls-cert: this thermocline was built without TLS; build it with `make build`, or with \
         `cargo build --release --package thermocline-cli --features tls`",
    ))
}

/// Mounts a chip, and describes the export that it becomes.
fn opening(
    exported: &Exported,
    found: Candidate,
    access: &Access,
    args: &ServeArgs,
) -> Result<Opening, Failure> {
    let default = found.default_policy(args.map_cache);
    let name = exports::name(exported);
    let separate = of(&args.separate, &name).into_iter().map(|region| region.0).collect();
    let options = &ServeOptions { separate, ..serve_options(args, default)? };
    let begun = Instant::now();
    let mut pace = None;
    let served = found.start(access, options, |chip, profile| {
        if !args.pace {
            return chip;
        }
        let (chip, paced) = Pace::slow(chip, profile.timing);
        pace = Some(paced);
        chip
    })?;
    let took = begun.elapsed();
    // As the chip's layer takes it.
    let policy = &served.remounter.policy().clone();
    if let Some(recovery) = &served.recovery {
        log_mount(&exported.chip, &policy.name, recovery, took);
    }
    if let Some(why) = served.end_of_life {
        tracing::error!(image = %exported.chip, "{why}: the chip is exported read-only");
    }
    if let Some(caution) = caution(policy.layer) {
        tracing::warn!(image = %exported.chip, policy = policy.name, "{caution}");
    }
    let profile = &served.device.profile;
    let about = About {
        image: exported.chip.to_string(),
        device: profile.name.clone(),
        id: served.summary.id.iter().map(|byte| format!("{byte:02x}")).collect(),
        format_version: served.summary.version,
        layer: policy.layer.name(),
        endurance: profile.rules.endurance,
        profile: profile_text(profile)?,
        folder: folder_of(&exported.chip),
    };
    let asked = args.policy.policy.as_deref().unwrap_or(default);
    let tuning = Tuning::new(served.remounter, asked, &args.policy.cleaning);
    Ok(Opening {
        access: admitted(args, &name),
        settings: tuning.settings()?,
        remount: Some(Box::new(tuning)),
        about,
        name,
        description: format!("{} on {}", policy.name, served.device.profile.name),
        read_only: args.read_only || served.end_of_life.is_some(),
        time_ns: served.time_ns,
        recovery: served.recovery.map(|_| took),
        idle: policy.build_idle()?,
        timing: served.device.profile.timing,
        pace,
        ignores_trims: policy.build_dead_data()? == DeadData::None,
        scrub: args.scrub.map(Duration::from_nanos),
        ..Opening::new(served.layer)
    })
}

/// The folder of an image file: there is a disk below it.
fn folder_of(chip: &Place) -> Option<PathBuf> {
    let path = chip.path().filter(|path| path.is_file())?;
    Some(std::path::absolute(path).ok()?.parent()?.to_owned())
}

fn log_mount(chip: &Place, policy: &str, recovery: &Recovery, took: Duration) {
    tracing::info!(
        image = %chip,
        policy,
        clean = recovery.clean,
        checkpoint = recovery.used_checkpoint,
        areas_read = recovery.areas_read,
        pages_verified = recovery.pages_verified,
        milliseconds = took.as_millis() as u64,
        "mounted"
    );
    if !recovery.lost.is_empty() {
        tracing::error!(
            image = %chip,
            pages = recovery.lost.len(),
            "the data of some pages are nowhere to be found: they read as errors until they are written or trimmed"
        );
    }
    if !recovery.rolled_back.is_empty() {
        tracing::warn!(
            image = %chip,
            pages = recovery.rolled_back.len(),
            "the newest copies of some pages were cut off or damaged: older ones take their place"
        );
    }
}

/// A socket for --run, if no other was given; an error if there is no address to connect to.
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

/// SIGTERM, SIGHUP and Ctrl-C stop the server cleanly, a second signal at once.
fn stop_by_signal(stopper: &Stopper) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::failed(format!("signals: {e}"));
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

fn start_log(args: &ServeArgs, quiet: bool) -> Result<(), Failure> {
    let filter = if quiet { "error" } else { args.log.as_str() };
    let targets: Targets = filter.parse().map_err(|e| {
        Failure::usage(format!("--log {filter}: {e}; expected error, warn, info or debug"))
    })?;
    let events = tracing_subscriber::registry().with(targets);
    let to_file = args.log_file.as_deref().map(open_log).transpose()?;
    let has_colour = to_file.is_none() && crate::console::stderr_has_colour();
    let writer = to_file.map_or_else(|| BoxMakeWriter::new(std::io::stderr), BoxMakeWriter::new);
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    if args.log_json {
        events.with(lines.json()).init();
    } else {
        events.with(lines.with_target(false).with_ansi(has_colour)).init();
    }
    Ok(())
}

/// Each line is one write to the end of the file, so whoever rotates it may cut it off.
fn open_log(path: &Path) -> Result<Arc<File>, Failure> {
    let file = File::options().append(true).create(true).open(path);
    file.map(Arc::new).map_err(|e| Failure::failed(format!("--log-file {}: {e}", path.display())))
}
