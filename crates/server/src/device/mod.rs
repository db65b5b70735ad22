//! One exported chip: a translation layer behind a lock, addressed in bytes.
//!
//! A connection takes the lock once for a batch of requests ([`Device::lock`]). No one waits with
//! the lock held: neither for a sync of the chip ([`Device::settle`]) nor for the pace of an
//! emulated one.

mod clock;
mod commit;
mod fault;
mod held;
mod news;
mod remount;
mod rounds;
mod snapshot;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    thread::Thread,
    time::Duration,
};

use parking_lot::Mutex;
use thermocline_flash::{Lpn, Timing};
use thermocline_ftl::{FtlError, IdleStep, Layer};
use thermocline_media::Medium;
use thermocline_policy::idle::{Idle, Leisure};

pub(crate) use clock::nanoseconds;
pub(crate) use commit::SERVED;
pub use fault::Fault;
pub(crate) use fault::is_full;
pub use held::Held;
pub(crate) use held::Piece;

use crate::{
    ServerError,
    access::Access,
    pace::Pace,
    record::{Recorder, Tap},
};
use clock::Clock;
use commit::Commit;
use held::{Careful, State};
use news::News;
pub use remount::{Change, Remount, Remounted, Settings};
use rounds::Rounds;
pub(crate) use snapshot::{Copying, Taken};

/// How often a glance finds the device in other hands before it queues for it, and the time between.
const GLANCES: u32 = 20;
const BETWEEN_GLANCES: Duration = Duration::from_micros(50);

/// A layer of any kind over a chip of any kind.
pub type AnyLayer = Box<dyn Layer<Chip = Box<dyn Medium>> + Send>;

/// The parts of a device.
pub struct Opening {
    /// The name of the export; may be empty.
    pub name: String,
    /// For people; may be empty.
    pub description: String,
    /// The translation layer, fresh or mounted.
    pub layer: AnyLayer,
    /// Whether nothing may be written.
    pub read_only: bool,
    /// The time of a mounted layer, in nanoseconds: its clock goes on from there.
    pub time_ns: u64,
    /// How long it took to come back, where there was something to come back to.
    pub recovery: Option<Duration>,
    /// The idle work, if the policy has any.
    pub idle: Option<Box<dyn Idle>>,
    /// Durations of operations by the chip's profile, for the idle policy.
    pub timing: Timing,
    /// Makes hosts wait as long as the chip's profile says.
    pub pace: Option<Pace>,
    /// Whether trims are passed over, as the policy wants it.
    pub ignores_trims: bool,
    /// Its description for operators.
    pub about: About,
    /// Its policies.
    pub settings: Settings,
    /// Mounts it by others.
    pub remount: Option<Box<dyn Remount>>,
    /// Who may use it.
    pub access: Access,
    /// Reads and verifies all data once in that time, in the background.
    pub scrub: Option<Duration>,
}

/// Facts about a chip from the code that opened it.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The chip, as it was named.
    pub image: String,
    /// The name of its device.
    pub device: String,
    /// The identifier it was formatted with.
    pub id: String,
    /// The version of the format.
    pub format_version: u16,
    /// The kind of layer.
    pub layer: &'static str,
    /// Erases that a block is rated for.
    pub endurance: u32,
    /// The device profile as text, from which a chip like it can be made.
    pub profile: String,
    /// The folder for what hosts overwrite while a copy is made.
    pub folder: Option<std::path::PathBuf>,
}

impl Opening {
    /// A writable device without a name, with nothing else set.
    #[must_use]
    pub fn new(layer: AnyLayer) -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            layer,
            read_only: false,
            time_ns: 0,
            recovery: None,
            idle: None,
            timing: Timing::default(),
            pace: None,
            ignores_trims: false,
            about: About::default(),
            settings: Settings::default(),
            remount: None,
            access: Access::default(),
            scrub: None,
        }
    }
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One exported chip.
pub struct Device {
    name: String,
    description: String,
    read_only: bool,
    size: u64,
    page_size: u32,
    blocks: u32,
    recovery: Option<Duration>,
    about: About,
    timing: Timing,
    access: Access,
    remount: Mutex<Option<Box<dyn Remount>>>,
    state: Mutex<State>,
    clock: Clock,
    pace: Option<Pace>,
    tap: Option<Arc<Tap>>,
    commit: Commit,
    news: News,
    /// Who waits for the lock to serve a host, and who of them to read.
    waiting: AtomicU32,
    readers: AtomicU32,
    /// When it was last let go by one, in nanoseconds of the device's clock.
    last_served: AtomicU64,
    has_idle: bool,
    rounds: Option<Rounds>,
    background: OnceLock<Thread>,
    /// The thread that syncs ahead of need.
    syncer: OnceLock<Thread>,
    /// Whether that thread sleeps until something happens.
    background_sleeps: AtomicBool,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.name)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl Device {
    /// Assembles a device; `recorder` takes its requests.
    #[must_use]
    pub fn new(opening: Opening, recorder: Option<&mut Recorder>) -> Self {
        let mut layer = opening.layer;
        let geometry = *layer.chip().geometry();
        if let Some(pace) = &opening.pace {
            pace.restart();
        }
        for remark in layer.chip().remarks() {
            tracing::warn!(export = opening.name, "{remark}");
        }
        for ailment in layer.chip().ailments() {
            tracing::warn!(
                export = opening.name,
                "{ailment}; stop it, and run `thermocline repair`"
            );
        }
        Self {
            size: u64::from(layer.logical_pages()) * u64::from(geometry.page_size),
            page_size: geometry.page_size,
            blocks: geometry.blocks(),
            read_only: opening.read_only,
            recovery: opening.recovery,
            about: opening.about,
            timing: opening.timing,
            access: opening.access,
            remount: Mutex::new(opening.remount),
            clock: Clock::new(opening.time_ns),
            pace: opening.pace,
            tap: recorder.map(|recorder| recorder.tap(&opening.name)),
            commit: Commit::default(),
            news: News::of(&layer),
            waiting: AtomicU32::new(0),
            readers: AtomicU32::new(0),
            last_served: AtomicU64::new(opening.time_ns),
            has_idle: opening.idle.is_some(),
            rounds: opening.scrub.map(Rounds::new),
            background: OnceLock::new(),
            syncer: OnceLock::new(),
            background_sleeps: AtomicBool::new(false),
            state: Mutex::new(State {
                idle_step: layer.upkeep().idle_step_ns(&opening.timing),
                page: vec![0; geometry.page_size as usize],
                zeros: vec![0; geometry.page_size as usize],
                now: opening.time_ns,
                idle: opening.idle,
                ignores_trims: opening.ignores_trims,
                snapshot: None,
                settings: opening.settings,
                // A crashed server may have written data that the mount shows: the first flush syncs.
                changes: u64::from(!opening.read_only),
                last: None,
                closed: false,
                broken: false,
                layer,
            }),
            name: opening.name,
            description: opening.description,
        }
    }

    /// The name of the export.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its size in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of a page, the unit written without a read-modify-write.
    #[must_use]
    pub const fn page_size(&self) -> u32 {
        self.page_size
    }

    /// Whether nothing may be written.
    #[must_use]
    pub const fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(crate) const fn about(&self) -> &About {
        &self.about
    }

    pub(crate) const fn access(&self) -> &Access {
        &self.access
    }

    /// Its policies, and whether a copy is running.
    pub(crate) fn settings(&self) -> (Settings, bool) {
        let state = self.state.lock();
        (state.settings.clone(), state.snapshot.is_some())
    }

    /// Makes all that was written so far last.
    pub(crate) fn flush(&self) -> Result<(), Fault> {
        let changes = self.lock()?.changes();
        self.settle(changes, 0)
    }

    pub(crate) const fn blocks(&self) -> u32 {
        self.blocks
    }

    pub(crate) const fn recovery(&self) -> Option<Duration> {
        self.recovery
    }

    pub(crate) const fn pace(&self) -> Option<&Pace> {
        self.pace.as_ref()
    }

    pub(crate) const fn commits(&self) -> &commit::Tally {
        &self.commit.tally
    }

    /// Whether somebody waits to serve a host.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }

    /// Whether somebody waits to read.
    #[inline]
    fn is_wanted_by_readers(&self) -> bool {
        self.readers.load(Relaxed) > 0
    }

    pub(crate) const fn has_idle(&self) -> bool {
        self.has_idle
    }

    /// The device in hand, to serve requests that came just now.
    ///
    /// # Errors
    /// [`Fault::Broken`] if a thread died with the device in hand, [`Fault::ShuttingDown`] if it was closed.
    pub fn lock(&self) -> Result<Held<'_>, Fault> {
        self.waiting.fetch_add(1, Relaxed);
        let state = self.state.lock();
        self.waiting.fetch_sub(1, Relaxed);
        state.check()?;
        let rows = self.tap.as_ref().map(|tap| tap.lock());
        Ok(Held { device: self, rows, arrival: self.clock.read(), state })
    }

    /// The same for requests the first of which is a read: writes of many pages give way to it.
    pub(crate) fn lock_to_read(&self) -> Result<Held<'_>, Fault> {
        self.readers.fetch_add(1, Relaxed);
        let held = self.lock();
        self.readers.fetch_sub(1, Relaxed);
        held
    }

    /// Makes the first `changes` changes of the device last, together with whoever else waits for
    /// that; `flushes` of the host share the call. May wait for a sync of the system.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn settle(&self, changes: u64, flushes: u64) -> Result<(), Fault> {
        self.commit.wait(changes, flushes, || self.sync())
    }

    /// Makes all changes so far durable, and returns their number.
    fn sync(&self) -> Result<u64, Fault> {
        self.sync_now().inspect_err(|fault| self.news.tell_of(&self.name, fault))
    }

    fn sync_now(&self) -> Result<u64, Fault> {
        let (changes, covered, syncing) = {
            let mut held = self.lock()?;
            held.settle()?;
            let layer = &mut held.state.layer;
            let covered = layer.upkeep().last_program();
            let syncing = layer.chip_mut().begin_sync().map_err(Fault::of_chip_sync)?;
            (held.state.changes, covered, syncing)
        };
        // The lock is free meanwhile.
        syncing.wait().map_err(|e| Fault::of_sync(&e))?;
        // The device may have been closed since: it is in order all the same.
        let mut state = Careful(self.state.lock());
        state.check_sound()?;
        state.layer.chip_mut().finish_sync(&syncing).map_err(Fault::of_chip_sync)?;
        state.layer.upkeep().synced(covered);
        Ok(changes)
    }

    /// Refuses all further requests, leaves a clean checkpoint and syncs the chip.
    ///
    /// # Errors
    /// [`ServerError::Closing`]: recovery will have to cope.
    pub fn close(&self) -> Result<(), ServerError> {
        let failed = |e: &dyn std::fmt::Display| ServerError::Closing {
            name: self.name.clone(),
            reason: e.to_string(),
        };
        let mut state = Careful(self.state.lock());
        if std::mem::replace(&mut state.closed, true) {
            return Ok(());
        }
        // A sync that runs wants the device once more when it ends.
        drop(state);
        self.commit.wait_until_quiet();
        let mut state = Careful(self.state.lock());
        state.check_sound().map_err(|e| failed(&e))?;
        state.now = state.now.max(self.clock.read());
        let now = state.now;
        let unmounted = if self.read_only { Ok(()) } else { state.layer.upkeep().unmount(now) };
        let synced = state.layer.chip_mut().sync().map_err(FtlError::from);
        unmounted.and(synced).map_err(|e| failed(&e))
    }

    /// Cleans up to so many blocks ahead, with the device in hand; gives way to who has it or waits for it.
    pub(crate) fn clean_ahead(&self, blocks: u64) -> Step {
        self.step(blocks, |state, now| {
            state.layer.upkeep().clean_in_idle_time(now).map(IdleStep::whole)
        })
    }

    /// As little of that as can be done at a time.
    pub(crate) fn step_ahead(&self) -> Step {
        self.step(1, |state, now| state.layer.upkeep().step_in_idle_time(now))
    }

    /// How long a chip that keeps a pace works on what it was asked for so far.
    pub(crate) fn busy_for(&self) -> Duration {
        self.pace.as_ref().map_or(Duration::ZERO, |pace| {
            Duration::from_nanos(pace.quiet().saturating_sub(pace.now()))
        })
    }

    fn step(
        &self,
        steps: u64,
        one: impl Fn(&mut State, u64) -> Result<IdleStep, FtlError>,
    ) -> Step {
        if self.is_wanted() {
            return Step::Busy;
        }
        let Some(state) = self.state.try_lock() else { return Step::Busy };
        let mut state = Careful(state);
        if state.check().is_err() {
            return Step::Nothing;
        }
        let now = state.now.max(self.clock.read());
        if let Some(pace) = &self.pace {
            pace.begin();
        }
        let mut last = Step::Done;
        for _ in 0..steps {
            let done = one(&mut state, now);
            if !matches!(done, Ok(IdleStep::Nothing)) {
                state.now = now;
                // The rest of a request under way is recorded as one of its own, for it comes later.
                state.last = None;
            }
            last = match done {
                Ok(IdleStep::Done) => Step::Done,
                Ok(IdleStep::Part) => Step::Part,
                Ok(IdleStep::Nothing) => return Step::Nothing,
                Err(error) => return Step::Failed(error),
            };
        }
        last
    }

    /// The idle work allowed now, and the start of the idle time (in nanoseconds of the device's
    /// clock).
    pub(crate) fn leisure(&self) -> Option<(Leisure, u64)> {
        let state = self.state.try_lock()?;
        let idle = state.idle.as_ref()?;
        Some((idle.leisure(state.idle_step), self.last_served.load(Relaxed)))
    }

    /// The device's clock.
    pub(crate) fn now(&self) -> u64 {
        self.clock.read()
    }

    /// When somebody was last served.
    pub(crate) fn last_served(&self) -> u64 {
        self.last_served.load(Relaxed)
    }

    /// Says which thread works in the background.
    pub(crate) fn set_background(&self, thread: Thread) {
        let _ = self.background.set(thread);
    }

    /// Says which thread syncs ahead of need.
    pub(crate) fn set_syncer(&self, thread: Thread) {
        let _ = self.syncer.set(thread);
    }

    /// The layer wants a sync while the host goes on.
    #[inline]
    fn sync_soon(&self) {
        if let Some(thread) = self.syncer.get() {
            thread.unpark();
        }
    }

    /// Syncs if the layer wants it, so that a host need not wait for it later. Waits for a running sync
    /// first, which may suffice.
    ///
    /// # Errors
    /// [`Fault`]. Hosts get it at their next flush.
    pub(crate) fn sync_ahead(&self) -> Result<(), Fault> {
        self.commit.wait_until_quiet();
        if !self.lock()?.wants_sync() {
            return Ok(());
        }
        self.commit.alone(|| self.sync())
    }

    /// The background thread is about to sleep until something happens, or no longer.
    pub(crate) fn background_sleeps(&self, sleeps: bool) {
        self.background_sleeps.store(sleeps, Relaxed);
    }

    /// Somebody was served.
    #[inline]
    fn served(&self, time: u64) {
        if !self.has_idle {
            return;
        }
        self.last_served.store(time, Relaxed);
        if self.background_sleeps.load(Relaxed)
            && let Some(thread) = self.background.get()
        {
            thread.unpark();
        }
    }

    /// Its fault, if any; a read-only chip is one.
    pub(crate) fn ailment(&self) -> Option<String> {
        if let Some(fault) = self.commit.failed() {
            return Some(fault.to_string());
        }
        let state = self.state.lock();
        if let Err(fault) = state.check_sound() {
            return Some(fault.to_string());
        }
        let over = state.layer.inspect().end_of_life()?;
        Some(format!("read-only: {over}; copy what it holds to another chip"))
    }

    /// Damage of the medium beside the chip's pages.
    pub(crate) fn ailments(&self) -> Vec<String> {
        self.state.lock().layer.chip().ailments()
    }

    /// Logs the chip's news since the last call, unless the device is locked.
    pub(crate) fn tell_news(&self) {
        if let Some(state) = self.state.try_lock() {
            self.news.tell(&self.name, &state.layer);
        }
    }

    /// Moves data that have become hard to read, a block at a time; gives way to who has the device
    /// or waits for it.
    pub(crate) fn scrub_step(&self) -> Step {
        if self.read_only {
            return Step::Nothing;
        }
        self.step(1, |state, now| state.layer.upkeep().scrub(now).map(IdleStep::whole))
    }

    /// Reads pages from one on, as many as hosts are made to wait for.
    pub(crate) fn verify(&self, first: u32) -> Result<Verified, Fault> {
        const READ: u64 = 64;
        const LOOKED_AT: u32 = 16 << 10;
        let mut held = self.lock()?;
        let state = &mut *held.state;
        let stop = state.layer.logical_pages().min(first.saturating_add(LOOKED_AT));
        let mut seen = Verified { sound: 0, lost: Vec::new(), next: first };
        while seen.next < stop && seen.sound < READ {
            let lpn = Lpn(seen.next);
            seen.next += 1;
            match state.layer.read(lpn, &mut state.page) {
                Ok(holds_data) => seen.sound += u64::from(holds_data),
                Err(error) => match Fault::of_layer(error, lpn.0, self.page_size) {
                    fault if fault.is_unreadable() => seen.lost.push(lpn.0),
                    fault => return Err(fault),
                },
            }
        }
        Ok(seen)
    }

    /// Reads the layer for a report.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&AnyLayer) -> T) -> T {
        at(&self.state.lock().layer)
    }

    /// As [`look`](Self::look), at low priority. A queued thread is handed the lock and holds it until it is
    /// scheduled: hosts would wait for that.
    pub(crate) fn glance<T>(&self, at: impl FnOnce(&AnyLayer) -> T) -> T {
        for _ in 0..GLANCES {
            if !self.is_wanted()
                && let Some(state) = self.state.try_lock()
            {
                return at(&state.layer);
            }
            std::thread::sleep(BETWEEN_GLANCES);
        }
        self.look(at)
    }
}

/// The result of verifying some pages.
#[derive(Debug)]
pub(crate) struct Verified {
    /// Pages with data that were read.
    pub sound: u64,
    /// Pages that cannot be read.
    pub lost: Vec<u32>,
    /// The page behind the last one.
    pub next: u32,
}

/// The result of a step of background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Done,
    /// The next step goes on with it.
    Part,
    /// Nothing is worth doing.
    Nothing,
    /// Somebody has the device in hand, or waits for it.
    Busy,
    Failed(FtlError),
}
