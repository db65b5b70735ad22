//! Puts devices, listeners and connections together, and takes them apart again in good order.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Shutdown},
    os::{fd::AsFd, unix::net::UnixStream},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, poll};
use sd_notify::NotifyState;
use thermocline_live::http::Answering;
use thermocline_nbd::{self as nbd, BlockSizes, Exports, Settings};

use crate::{
    Device, Opening, ServerError,
    background::Background,
    budget::Budget,
    connection,
    control::{self, Operators},
    counters::Registry,
    dashboard,
    http::{self, Http},
    listener::Listener,
    memory,
    record::{Recorder, Writing},
    stop::{Bell, Stopper},
    stream::Socket,
};

/// Time that operators' threads have to end.
const OPERATORS: Duration = Duration::from_secs(2);

/// Limits on clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections. A further one replaces the oldest that has not chosen an export, and
    /// is refused if there is none.
    pub connections: usize,
    /// The most TCP connections from one address.
    pub connections_per_address: usize,
    /// Memory for buffers of all connections together, in bytes; some 160 KiB a connection come on top.
    pub memory: usize,
    /// Time in which a client must have chosen an export.
    pub handshake: Duration,
    /// Time that a client may take to go on with a request it began, or to take more of its answers.
    pub stall: Duration,
    /// Time that a client may ask for nothing; any if `None`.
    pub idle: Option<Duration>,
    /// Time that requests which were begun have to end when the server is to stop.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_address: 768,
            memory: 192 << 20,
            handshake: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            idle: None,
            grace: Duration::from_secs(5),
        }
    }
}

/// Options of a server.
#[derive(Debug, Default)]
pub struct Options {
    /// Limits on clients.
    pub limits: Limits,
    /// Takes every request in the native trace format.
    pub record: Option<PathBuf>,
    /// Address (`host:port`) of the metrics.
    pub metrics: Option<String>,
    /// Address (`host:port`) of the dashboard.
    pub dashboard: Option<String>,
    /// TLS, where there is a certificate, and whether clients must use it; they must where they are verified.
    #[cfg(feature = "tls")]
    pub tls: Option<(crate::Tls, bool)>,
}

impl Options {
    /// Whether the files and addresses that are named can be had, for whoever wants to know before the
    /// devices are opened. Changes nothing.
    ///
    /// # Errors
    /// Those of [`Server::new`].
    pub fn check(&self) -> Result<(), ServerError> {
        self.record.as_deref().map_or(Ok(()), Recorder::check)?;
        let free = |address: &String| Http::bind(address).map(drop);
        self.metrics.iter().chain(&self.dashboard).try_for_each(free)
    }
}

/// An export and who is connected to it.
#[derive(Debug)]
pub(crate) struct Export {
    pub device: Arc<Device>,
    pub registry: Registry,
}

/// State shared by all threads of a server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub exports: Vec<Export>,
    pub offered: Exports,
    pub settings: Settings,
    pub limits: Limits,
    pub stopping: AtomicBool,
    /// New connections are refused, and the end of the last one ends the server.
    pub draining: AtomicBool,
    pub stopper: Stopper,
    pub operators: Operators,
    /// A connection waits awake for its next request: one at a time.
    pub looking: AtomicBool,
    #[cfg(feature = "tls")]
    pub tls: Option<crate::Tls>,
    /// Memory for buffers.
    pub budget: Budget,
    /// Connections turned away because there were too many.
    pub refused: AtomicU64,
    /// Handshakes that were cut off to let others in.
    pub displaced: AtomicU64,
    /// Connections that were cut off because the client made no progress.
    pub stalled: AtomicU64,
    /// By number, so the oldest come first.
    guests: Mutex<BTreeMap<u64, Guest>>,
}

/// A connection as the server knows it.
#[derive(Debug)]
struct Guest {
    socket: Socket,
    address: Option<IpAddr>,
    has_shaken_hands: bool,
}

impl Shared {
    fn guests(&self) -> MutexGuard<'_, BTreeMap<u64, Guest>> {
        // A map is not left half changed.
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection has chosen an export: it gives way to no other any more.
    pub fn has_shaken_hands(&self, number: u64) {
        if let Some(guest) = self.guests().get_mut(&number) {
            guest.has_shaken_hands = true;
        }
    }

    /// Takes a connection in, if there is room for it or one still shakes hands that can be cut off.
    fn admit(&self, number: u64, socket: &Socket) -> Result<(), Full> {
        let address = socket.address();
        let mut guests = self.guests();
        let limits = &self.limits;
        let is_neighbour = |guest: &Guest| address.is_some() && guest.address == address;
        let full = if guests.len() >= limits.connections {
            Some(Full::Server)
        } else if guests.values().filter(|guest| is_neighbour(guest)).count()
            >= limits.connections_per_address
        {
            Some(Full::Address)
        } else {
            None
        };
        if let Some(full) = full {
            let gives_way = |guest: &Guest| {
                !guest.has_shaken_hands && (full == Full::Server || is_neighbour(guest))
            };
            let oldest =
                guests.iter().find(|(_, guest)| gives_way(guest)).map(|(number, _)| *number);
            let oldest = oldest.and_then(|number| guests.remove(&number)).ok_or(full)?;
            oldest.socket.shut(Shutdown::Both);
            self.displaced.fetch_add(1, Relaxed);
        }
        guests.insert(number, Guest { socket: socket.clone(), address, has_shaken_hands: false });
        Ok(())
    }

    /// Clients that are connected.
    pub fn connections(&self) -> usize {
        self.guests().len()
    }

    /// Requests that were begun and not answered.
    fn in_flight(&self) -> u64 {
        let of = |export: &Export| {
            let (sum, ..) = export.registry.sum();
            let of = |kind: &crate::counters::Operations| {
                kind.begun.get().saturating_sub(kind.answered.get())
            };
            sum.kinds.iter().map(of).sum::<u64>()
        };
        self.exports.iter().map(of).sum()
    }
}

/// Why a connection is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Full {
    /// There are too many.
    Server,
    /// There are too many from its address.
    Address,
}

/// A server that can be run.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
    recorder: Option<Recorder>,
    http: Option<Http>,
    /// The dashboard, and its configured address.
    dashboard: Option<(Http, String)>,
    stopper: Stopper,
    bell: Bell,
    /// Where operators come from, and which export they mean.
    control: Vec<(Listener, usize)>,
    /// Operators who wait for the end: dropped last, when the chips have been let go of.
    waiting: Vec<Arc<UnixStream>>,
}

impl Server {
    /// A server of these devices, which listens nowhere yet.
    ///
    /// # Errors
    /// [`ServerError`]: an export that cannot be offered, a file or an address that cannot be used.
    pub fn new(openings: Vec<Opening>, options: Options) -> Result<Self, ServerError> {
        let mut recorder = options.record.as_deref().map(Recorder::create).transpose()?;
        let devices: Vec<_> =
            openings.into_iter().map(|opening| Device::new(opening, recorder.as_mut())).collect();
        let offered = Exports::new(devices.iter().map(offer).collect())
            .map_err(|e| ServerError::Exports(e.to_string()))?;
        #[cfg(feature = "tls")]
        let (tls, mode) = match options.tls {
            None => (None, nbd::Tls::Off),
            Some((tls, true)) => (Some(tls), nbd::Tls::Required),
            Some((tls, false)) if tls.verifies_clients() => (Some(tls), nbd::Tls::Required),
            Some((tls, false)) => (Some(tls), nbd::Tls::Available),
        };
        #[cfg(not(feature = "tls"))]
        let mode = nbd::Tls::Off;
        let http = options.metrics.as_deref().map(Http::bind).transpose()?;
        let dashboard = options.dashboard.map(|name| Http::bind(&name).map(|http| (http, name)));
        let dashboard = dashboard.transpose()?;
        let (stopper, bell) = Stopper::new().map_err(system("a pair of sockets"))?;
        let export = |device| Export { device: Arc::new(device), registry: Registry::default() };
        let shared = Arc::new(Shared {
            exports: devices.into_iter().map(export).collect(),
            offered,
            settings: Settings { tls: mode, ..Settings::default() },
            limits: options.limits,
            stopping: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            stopper: stopper.clone(),
            operators: Operators::default(),
            looking: AtomicBool::new(false),
            #[cfg(feature = "tls")]
            tls,
            budget: Budget::new(options.limits.memory),
            refused: AtomicU64::new(0),
            displaced: AtomicU64::new(0),
            stalled: AtomicU64::new(0),
            guests: Mutex::default(),
        });
        let (listeners, control, waiting) = Default::default();
        Ok(Self { shared, listeners, recorder, http, dashboard, stopper, bell, control, waiting })
    }

    /// Takes connections from there, too.
    pub fn listen(&mut self, listener: Listener) {
        self.listeners.push(listener);
    }

    /// Answers operators there, who mean the export of that number unless they name another.
    pub fn control(&mut self, listener: Listener, export: usize) {
        self.control.push((listener, export));
    }

    /// Stops it, from any thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// The address of the metrics, where there is one.
    #[must_use]
    pub fn metrics_address(&self) -> Option<std::net::SocketAddr> {
        self.http.as_ref().and_then(Http::address)
    }

    /// The address of the dashboard, where there is one.
    #[must_use]
    pub fn dashboard_address(&self) -> Option<std::net::SocketAddr> {
        self.dashboard.as_ref().and_then(|(http, _)| http.address())
    }

    /// Serves until it is stopped. Then it accepts no connections, finishes begun requests, refuses
    /// new ones, and leaves every device with a clean, synced checkpoint. A second stop makes it
    /// return at once, and the next mount recovers.
    ///
    /// # Errors
    /// [`ServerError::System`] if it cannot begin, [`ServerError::Closing`] if a device could not be
    /// closed cleanly.
    pub fn run(mut self) -> Result<(), ServerError> {
        raise_file_limit();
        let writing = self.recorder.take().map(Recorder::start).transpose();
        let writing = writing.map_err(system("a thread for the recording"))?;
        let mut background = Vec::new();
        for export in &self.shared.exports {
            let started = Background::start(&export.device);
            background.push(started.map_err(system("a thread for the background"))?);
        }
        let answering =
            self.http.take().map(|http| http::start(http, self.shared.clone())).transpose();
        let answering = answering.map_err(system("a thread for the metrics"))?;
        let shown = self.dashboard.take();
        let shown =
            shown.map(|(http, name)| dashboard::start(http, name, &self.shared)).transpose();
        let shown = shown.map_err(system("threads for the dashboard"))?;
        for listener in &self.listeners {
            tracing::info!(address = listener.address(), "listening");
        }
        for (listener, export) in &self.control {
            let export = self.shared.exports[*export].device.name();
            tracing::info!(export, socket = listener.address(), "listening for operators");
        }
        // Who did not ask for news gets none.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        self.accept_until_stopped()?;
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        tracing::info!("stopping");
        self.listeners.clear();
        self.shared.stopping.store(true, Relaxed);
        let closed = self.close(background, writing);
        self.dismiss_operators();
        answering.into_iter().chain(shown).for_each(Answering::stop);
        closed
    }

    fn accept_until_stopped(&mut self) -> Result<(), ServerError> {
        let mut number = 0;
        while self.stopper.asked() == 0 {
            if self.shared.draining.load(Relaxed) {
                self.listeners.clear();
                if self.shared.connections() == 0 {
                    tracing::info!("drained");
                    return Ok(());
                }
            }
            let mut fds: Vec<_> = std::iter::once(self.bell.as_fd())
                .chain(self.listeners.iter().map(AsFd::as_fd))
                .chain(self.control.iter().map(|(listener, _)| listener.as_fd()))
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
                .collect();
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(system("a wait for connections")(e.into())),
            }
            let ready: Vec<_> = fds[1..].iter().map(|fd| !fd.revents().is_empty()).collect();
            self.bell.hush();
            let (clients, operators) = ready.split_at(self.listeners.len());
            for (listener, _) in self.listeners.iter().zip(clients).filter(|(_, ready)| **ready) {
                self.accept(listener, &mut number);
            }
            for ((listener, export), _) in
                self.control.iter().zip(operators).filter(|(_, ready)| **ready)
            {
                if let Ok(Some(stream)) = listener.accept_unix() {
                    control::accept(&self.shared, stream, *export);
                }
            }
        }
        Ok(())
    }

    fn accept(&self, listener: &Listener, number: &mut u64) {
        let socket = match listener.accept() {
            Ok(socket) => socket,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
            Err(e) => {
                // Out of file descriptors, most likely: it passes when others leave.
                tracing::warn!(address = listener.address(), "a connection was not accepted: {e}");
                std::thread::sleep(Duration::from_millis(20));
                return;
            }
        };
        *number += 1;
        let number = *number;
        if let Err(full) = self.shared.admit(number, &socket) {
            if self.shared.refused.fetch_add(1, Relaxed).is_power_of_two() {
                let limits = &self.shared.limits;
                let (most, from) = match full {
                    Full::Server => (limits.connections, String::new()),
                    Full::Address => {
                        (limits.connections_per_address, format!(" from {}", socket.peer()))
                    }
                };
                tracing::warn!("connections are turned away: there are {most} already{from}");
            }
            return;
        }
        let leaving = Leaving { shared: self.shared.clone(), number };
        let spawned = std::thread::Builder::new()
            .name(format!("client {number}"))
            .stack_size(512 << 10)
            .spawn(move || connection::run(&leaving.shared, &socket, number));
        if let Err(e) = spawned {
            tracing::warn!("a connection was not served: {e}");
        }
    }

    /// Closes the devices on a thread of its own, so that a second stop is heard.
    fn close(
        &self,
        background: Vec<Background>,
        writing: Option<Writing>,
    ) -> Result<(), ServerError> {
        let (shared, stopper) = (self.shared.clone(), self.stopper.clone());
        let closing = std::thread::Builder::new()
            .name("close".into())
            .spawn(move || {
                let closed = close_devices(&shared, background, writing);
                stopper.wake();
                closed
            })
            .map_err(system("a thread to close the devices"))?;
        while !closing.is_finished() {
            if self.stopper.asked() > 1 {
                tracing::warn!("stopped at once: the next mount has something to recover");
                return Ok(());
            }
            let mut bell = [PollFd::new(&self.bell, PollFlags::IN)];
            // The thread rings just before it ends.
            let soon = rustix::time::Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            let _ = poll(&mut bell, Some(&soon));
            self.bell.hush();
        }
        let closed = closing.join().unwrap_or_else(|_| {
            Err(ServerError::Closing { name: String::new(), reason: "a bug of its own".into() })
        });
        self.hang_up();
        closed
    }

    /// Ends what operators have begun, and keeps those who wait for the end.
    fn dismiss_operators(&mut self) {
        self.waiting = self.shared.operators.hang_up();
        let begun = Instant::now();
        while !self.shared.operators.have_left(&self.waiting) && begun.elapsed() < OPERATORS {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends the connections: first those that wait for requests, then the rest.
    fn hang_up(&self) {
        let end = |how| self.shared.guests().values().for_each(|guest| guest.socket.shut(how));
        let wait = |most: Duration| {
            let begun = Instant::now();
            while !self.shared.guests().is_empty() && begun.elapsed() < most {
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        end(Shutdown::Read);
        wait(Duration::from_millis(500));
        end(Shutdown::Both);
        wait(Duration::from_millis(500));
    }
}

/// A connection that is on its way out, however its thread ends.
struct Leaving {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let (guest, left) = {
            let mut guests = self.shared.guests();
            (guests.remove(&self.number), guests.len())
        };
        if let Some(guest) = guest {
            guest.socket.shut(Shutdown::Both);
        }
        if left == 0 && self.shared.draining.load(Relaxed) {
            self.shared.stopper.wake();
        }
        // Often enough to follow a crowd that leaves, and never for a few that come and go.
        if left >= 16 && left.is_power_of_two() {
            memory::trim();
        }
    }
}

/// Waits for requests that were begun, closes the devices, and ends the recording.
fn close_devices(
    shared: &Shared,
    background: Vec<Background>,
    writing: Option<Writing>,
) -> Result<(), ServerError> {
    background.into_iter().for_each(Background::stop);
    let begun = Instant::now();
    while shared.in_flight() > 0 && begun.elapsed() < shared.limits.grace {
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut all = Ok(());
    for export in &shared.exports {
        let closed = export.device.close();
        match &closed {
            Ok(()) => tracing::info!(export = export.device.name(), "closed in order"),
            Err(e) => tracing::error!("{e}"),
        }
        all = all.and(closed);
    }
    if let Some(writing) = writing {
        writing.finish();
    }
    all
}

/// The export of a device for clients.
fn offer(device: &Device) -> nbd::Export {
    let mut export = nbd::Export::new(device.name(), device.size());
    export.description = device.description().into();
    export.read_only = device.is_read_only();
    let page = device.page_size();
    if page.is_power_of_two() && (512..=BlockSizes::DEFAULT.maximum).contains(&page) {
        export.blocks.preferred = page;
    }
    export
}

/// A connection takes a file descriptor, and the usual soft limit of 1024 is for programs that use
/// `select`.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(e) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!("the limit of open files stays what it is: {e}");
    }
}

fn system(what: &'static str) -> impl Fn(io::Error) -> ServerError {
    move |source| ServerError::System { what, source }
}
