//! Records every request in the native trace format while it is served.
//!
//! A connection appends to the device's rows in memory, under the device's lock, so that the rows have
//! the order of service. A long request is served in pieces, and its row grows with each, unless another
//! request came in between. Where several exports are recorded, a write's placement hint is its export. A separate thread writes the rows to the file. If it cannot (the disk is
//! full, or too slow for the host), recording ends with a line in the log, and serving continues: a
//! recording with a gap would be wrong.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{JoinHandle, Thread},
    time::{Duration, Instant},
};

use thermocline_trace::{Op, Request, native::NativeWriter, write::TraceWriter};

use crate::ServerError;

/// Requests after which the writer is woken.
const WAKE: usize = 16 << 10;
/// Most requests that wait for the writer: 40 MiB.
const MOST: usize = 1 << 20;
/// How long a request waits at most, and how long until a reader of the file can have it.
const WRITE_AFTER: Duration = Duration::from_millis(500);
const FLUSH_AFTER: Duration = Duration::from_secs(5);

/// A trace file that takes the requests of one or more devices.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    out: NativeOut,
    taps: Vec<Arc<Tap>>,
    names: Vec<String>,
}

type Native = NativeWriter<BufWriter<File>>;

struct NativeOut(Native);

impl std::fmt::Debug for NativeOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NativeOut")
    }
}

/// Where a device puts its requests.
#[derive(Debug)]
pub(crate) struct Tap {
    volume: u32,
    rows: Mutex<Rows>,
}

/// Requests of a device that are not written yet.
#[derive(Debug)]
pub(crate) struct Rows {
    requests: Vec<Request>,
    writer: Option<Thread>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Recording has ended.
    ended: AtomicBool,
    /// More waited for the writer than memory is set aside for.
    overrun: AtomicBool,
}

/// The thread that writes.
#[derive(Debug)]
pub(crate) struct Writing {
    thread: JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

impl Recorder {
    /// Creates the file. Never replaces an existing one, since a recording cannot be repeated.
    ///
    /// # Errors
    /// [`ServerError::Recording`], naming it.
    pub fn create(path: &Path) -> Result<Self, ServerError> {
        Self::check(path)?;
        let failed = |e: &dyn std::fmt::Display| failed(path, e);
        // A pipe or a device may stand there; a file that has come since the check stays.
        let is_new = !path.exists();
        let mut options = File::options();
        let file = options.write(true).create_new(is_new).open(path).map_err(|e| failed(&e))?;
        let out = NativeWriter::new(BufWriter::new(file), path).map_err(|e| failed(&e))?;
        Ok(Self { path: path.into(), out: NativeOut(out), taps: Vec::new(), names: Vec::new() })
    }

    /// Whether it can be created, as far as can be seen.
    pub(crate) fn check(path: &Path) -> Result<(), ServerError> {
        if path.is_file() {
            return Err(failed(path, &"exists already; name another file, or remove it"));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder.map(std::fs::metadata) {
            Some(Err(e)) => Err(failed(path, &format!("its folder: {e}"))),
            _ => Ok(()),
        }
    }

    /// A volume of the trace, for the device called `name`.
    pub(crate) fn tap(&mut self, name: &str) -> Arc<Tap> {
        let state = self.taps.first().map_or_else(Arc::default, |tap| tap.lock().state.clone());
        let tap = Arc::new(Tap {
            volume: self.taps.len() as u32,
            rows: Mutex::new(Rows { requests: Vec::with_capacity(2 * WAKE), writer: None, state }),
        });
        self.names.push(name.to_owned());
        self.taps.push(tap.clone());
        tap
    }

    /// Begins to write.
    pub(crate) fn start(self) -> std::io::Result<Writing> {
        let stop = Arc::new(AtomicBool::new(false));
        let (taps, told) = (self.taps.clone(), stop.clone());
        let thread =
            std::thread::Builder::new().name("record".into()).spawn(move || self.write(&told))?;
        for tap in taps {
            tap.lock().writer = Some(thread.thread().clone());
        }
        Ok(Writing { thread, stop })
    }

    fn write(mut self, stop: &AtomicBool) {
        let mut batch = Vec::with_capacity(2 * WAKE);
        let mut flushed = Instant::now();
        loop {
            let last = stop.load(Relaxed);
            let written = self.write_rows(&mut batch, last).and_then(|()| {
                if !last && flushed.elapsed() >= FLUSH_AFTER {
                    flushed = Instant::now();
                    return self.out.0.flush().map_err(|e| e.to_string());
                }
                Ok(())
            });
            let ended = match written {
                Ok(()) if last => self.out.0.finish().map_err(|e| e.to_string()),
                written => written,
            };
            if let Err(reason) = ended {
                self.give_up();
                tracing::error!(
                    file = %self.path.display(),
                    "recording stopped, serving goes on: {reason}"
                );
                return;
            }
            if last {
                return;
            }
            std::thread::park_timeout(WRITE_AFTER);
        }
    }

    fn write_rows(&mut self, batch: &mut Vec<Request>, last: bool) -> Result<(), String> {
        for tap in &self.taps {
            batch.clear();
            let mut rows = tap.lock();
            std::mem::swap(batch, &mut rows.requests);
            if !last {
                // The newest one may grow yet.
                rows.requests.extend(batch.pop());
            }
            let overrun = rows.state.overrun.load(Relaxed);
            drop(rows);
            if overrun {
                return Err(format!("more than {MOST} requests waited for the file"));
            }
            if self.taps.len() > 1 {
                // Of one export it would say nothing.
                let writes = batch.iter_mut().filter(|request| request.op == Op::Write);
                writes.for_each(|request| request.hint = hint_of(tap.volume));
            }
            self.out.0.write_batch(batch, &self.names).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    fn give_up(&self) {
        for tap in &self.taps {
            let mut rows = tap.lock();
            rows.state.ended.store(true, Relaxed);
            rows.requests = Vec::new();
        }
    }
}

impl Writing {
    /// Writes the rest and ends the file.
    pub(crate) fn finish(self) {
        self.stop.store(true, Relaxed);
        self.thread.thread().unpark();
        if self.thread.join().is_err() {
            tracing::error!("the thread that records died");
        }
    }
}

impl Tap {
    /// Held while requests are served.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Rows> {
        // Rows are only ever appended.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn volume(&self) -> u32 {
        self.volume
    }
}

impl Rows {
    #[inline]
    pub(crate) fn push(&mut self, request: Request) {
        if self.requests.len() >= MOST {
            self.overrun();
        }
        if !self.state.ended.load(Relaxed) {
            self.requests.push(request);
        }
    }

    /// Goes on with the request of the newest row.
    #[inline]
    pub(crate) fn grow(&mut self, length: u64) {
        if let Some(request) = self.newest() {
            request.len += length;
        }
    }

    /// The request of the newest row ends so many bytes earlier.
    pub(crate) fn shrink(&mut self, length: u64) {
        if let Some(request) = self.newest() {
            request.len -= length;
        }
    }

    /// The newest row; none where recording has ended.
    #[inline]
    fn newest(&mut self) -> Option<&mut Request> {
        if self.state.ended.load(Relaxed) { None } else { self.requests.last_mut() }
    }

    #[cold]
    fn overrun(&self) {
        self.state.overrun.store(true, Relaxed);
        self.state.ended.store(true, Relaxed);
    }

    /// The connection has nothing more to note: the writer is woken where much stands in line.
    #[inline]
    pub(crate) fn rest(&self) {
        if self.requests.len() >= WAKE
            && let Some(writer) = &self.writer
        {
            writer.unpark();
        }
    }
}

/// The placement hint of writes to an export: its number, counted from 1. Those beyond the largest hint have none.
fn hint_of(volume: u32) -> u16 {
    u16::try_from(volume + 1).unwrap_or(0)
}

fn failed(path: &Path, reason: &dyn std::fmt::Display) -> ServerError {
    ServerError::Recording { path: path.into(), reason: reason.to_string() }
}

/// A row.
#[inline]
pub(crate) const fn row(time_ns: u64, op: Op, offset: u64, len: u64, volume: u32) -> Request {
    Request { time_ns, offset, len, volume, op, hint: 0 }
}
