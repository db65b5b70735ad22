//! The caller's part in the work: a listener, cancellation, traces in memory.

use std::{
    any::Any,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use thermocline_assembly::policy::OwnPolicies;
use thermocline_sim::{Progress, SimError};
use thermocline_sweep::Work;
use thermocline_trace::{
    Contents, Request, Source, TraceError,
    read::{ReadOptions, Reader},
};
use thermocline_units::naming::Door;

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Good to know, for people who wait.
    Info,
    /// Something the user may want to do differently.
    Note,
    /// Something that may make the results wrong.
    Warning,
    /// One of many simulations has no result; the others go on.
    Failure,
}

/// Receives the progress of the work. Any thread may call it.
pub trait Listener: Sync {
    /// How whoever listens writes settings.
    fn door(&self) -> Door {
        Door::Plain
    }

    /// Takes a message, on one line.
    fn say(&self, kind: Remark, text: &str) {
        let _ = (kind, text);
    }

    /// Work begins, and ends when the returned value is dropped. The meter may be read meanwhile.
    fn begin(&self, meter: Arc<dyn Meter>) -> Box<dyn Any> {
        let _ = meter;
        Box::new(())
    }
}

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Listener for Silent {}

/// How far work is, read from another thread.
pub trait Meter: Send + Sync {
    /// How far it is now.
    fn read(&self) -> Reading;
}

/// How far work is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The present work.
    pub message: String,
    /// The amount done.
    pub done: u64,
    /// The total amount, if known.
    pub total: Option<u64>,
    /// The unit of the amounts.
    pub unit: Unit,
}

/// The unit of a [`Reading`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Requests of a trace.
    Requests,
    /// Pages that hosts write.
    Pages,
}

/// Traces that are no files, by the names that settings give them.
pub trait Traces: Sync {
    /// Whether there is one of that name.
    fn has(&self, name: &str) -> bool;

    /// Opens a trace from its beginning; none if there is none of that name.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn open(&self, name: &str, options: &ReadOptions) -> Option<Result<Reader, TraceError>>;

    /// The digest of its requests under these options, for stores of results; `None` if there is no such trace.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn digest(&self, name: &str, options: &ReadOptions) -> Option<Result<String, SimError>>;

    /// Whether a trace of `bytes` bytes is left out as too small; `is_enlarged` if its device would have more
    /// blocks than the over-provisioning asks for.
    fn is_too_small(&self, name: &str, bytes: u64, is_enlarged: bool) -> bool {
        let _ = (name, bytes, is_enlarged);
        false
    }
}

/// The caller's part in the work.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    listener: &'a dyn Listener,
    progress: &'a Arc<Progress>,
    traces: Option<&'a dyn Traces>,
    own: Option<&'a OwnPolicies>,
    meters: bool,
    infos: bool,
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("progress", self.progress).finish_non_exhaustive()
    }
}

impl<'a> Context<'a> {
    /// With a listener, and a progress that can cancel the work.
    #[must_use]
    pub fn new(listener: &'a dyn Listener, progress: &'a Arc<Progress>) -> Self {
        Self { listener, progress, traces: None, own: None, meters: true, infos: true }
    }

    /// As above, with traces in memory.
    #[must_use]
    pub fn with_traces(self, traces: &'a dyn Traces) -> Self {
        Self { traces: Some(traces), ..self }
    }

    /// As above, with policies of the user's own, which cells of sweeps may name.
    #[must_use]
    pub fn with_own(self, own: &'a OwnPolicies) -> Self {
        Self { own: Some(own), ..self }
    }

    pub(crate) fn own(self) -> OwnPolicies {
        self.own.cloned().unwrap_or_default()
    }

    /// As above, without remarks that the results repeat.
    #[must_use]
    pub fn without_infos(self) -> Self {
        Self { infos: false, ..self }
    }

    /// As above, without meters, where another one counts the same work.
    #[must_use]
    pub fn without_meters(self) -> Self {
        Self { meters: false, ..self }
    }

    /// Pages done, and the wish to stop.
    #[must_use]
    pub fn progress(self) -> &'a Progress {
        self.progress
    }

    /// The work was asked to stop.
    ///
    /// # Errors
    /// [`SimError::Interrupted`] then.
    pub fn check(self) -> Result<(), SimError> {
        if self.progress.is_cancelled() { Err(SimError::Interrupted) } else { Ok(()) }
    }

    pub(crate) fn traces(self) -> Option<&'a dyn Traces> {
        self.traces
    }

    /// A message as users of the door write settings.
    pub(crate) fn words(self, text: impl ToString) -> String {
        self.listener.door().words(&text.to_string()).into_owned()
    }

    fn say(self, kind: Remark, text: &str) {
        self.listener.say(kind, &self.listener.door().words(text));
    }

    pub(crate) fn info(self, text: &str) {
        if self.infos {
            self.say(Remark::Info, text);
        }
    }

    pub(crate) fn note(self, text: &str) {
        self.say(Remark::Note, text);
    }

    pub(crate) fn warn(self, text: &str) {
        self.say(Remark::Warning, text);
    }

    pub(crate) fn failure(self, text: &str) {
        self.say(Remark::Failure, text);
    }

    fn begin(self, meter: impl Meter + 'static) -> Box<dyn Any> {
        if self.meters { self.listener.begin(Arc::new(meter)) } else { Box::new(()) }
    }

    /// Runs begin that write this many pages, as far as known.
    pub fn runs(self, message: String, known: u64) -> Box<dyn Any> {
        let before = self.progress.so_far();
        self.begin(Runs { message, known, before, progress: Arc::clone(self.progress) })
    }

    /// Many jobs begin.
    pub fn jobs(self, work: Arc<Work>) -> Box<dyn Any> {
        let (before, _) = self.progress.so_far();
        self.begin(Jobs { before, work, progress: Arc::clone(self.progress) })
    }
}

/// Runs of one comparison.
struct Runs {
    message: String,
    known: u64,
    before: (u64, u64),
    progress: Arc<Progress>,
}

impl Meter for Runs {
    fn read(&self) -> Reading {
        let (done, total) = self.progress.so_far();
        Reading {
            message: self.message.clone(),
            done: done - self.before.0,
            total: Some((total - self.before.1).max(self.known)),
            unit: Unit::Pages,
        }
    }
}

/// Many jobs, of which more is known as they begin.
struct Jobs {
    before: u64,
    work: Arc<Work>,
    progress: Arc<Progress>,
}

impl Meter for Jobs {
    fn read(&self) -> Reading {
        let (done, _) = self.progress.so_far();
        let (ended, all) = self.work.jobs();
        let pages = self.work.pages();
        Reading {
            message: format!("{ended} of {all} done"),
            done: (done - self.before).min(pages),
            total: Some(pages),
            unit: Unit::Pages,
        }
    }
}

/// Requests of a source.
struct Requests {
    message: String,
    read: Arc<AtomicU64>,
}

impl Meter for Requests {
    fn read(&self) -> Reading {
        Reading {
            message: self.message.clone(),
            done: self.read.load(Relaxed),
            total: None,
            unit: Unit::Requests,
        }
    }
}

/// A source that reports how far it was read.
pub struct Counted<'a> {
    source: &'a mut dyn Source,
    read: Arc<AtomicU64>,
    _told: Box<dyn Any>,
}

impl<'a> Counted<'a> {
    /// Counts the requests of `source`.
    pub fn new(context: Context<'_>, message: String, source: &'a mut dyn Source) -> Self {
        let read = Arc::new(AtomicU64::new(0));
        let told = context.begin(Requests { message, read: Arc::clone(&read) });
        Self { source, read, _told: told }
    }
}

impl Source for Counted<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        self.source.next_batch(batch, limit)?;
        self.read.fetch_add(batch.len() as u64, Relaxed);
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        self.source.volumes()
    }

    fn contents(&self) -> &Contents {
        self.source.contents()
    }

    fn prelude(&self) -> u64 {
        self.source.prelude()
    }

    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        self.source.volume_bytes(volume)
    }
}
