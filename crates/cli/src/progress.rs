//! Bars for work that takes longer than a moment.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use thermocline_sweep::Work;
use thermocline_trace::{Contents, Request, Source, TraceError};

use crate::{console::Console, interrupt};

/// Work that is over before shows no bar.
const PATIENCE: Duration = Duration::from_millis(700);
const TICK: Duration = Duration::from_millis(100);

/// A bar that draws itself until it is dropped.
pub struct Bar {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Shows `done` of `total` pages; more if the work turns out to be more.
    pub fn of_pages(console: Console, message: String, known_total: u64) -> Self {
        let style = "{msg} {wide_bar} {percent:>3} %  {eta_precise} to go";
        Self::start(console, message, style, move |bar| {
            let (done, total) = interrupt::progress().so_far();
            bar.set_length(total.max(known_total));
            bar.set_position(done);
        })
    }

    /// Shows how far many runs are, in the pages that hosts write.
    pub fn of_work(console: Console, work: Arc<Work>) -> Self {
        let style = "{msg} {wide_bar} {percent:>3} %  {eta_precise} to go";
        let (before, _) = interrupt::progress().so_far();
        Self::start(console, String::new(), style, move |bar| {
            let (done, _) = interrupt::progress().so_far();
            let (ended, all) = work.jobs();
            bar.set_message(format!("{ended} of {all} done"));
            bar.set_length(work.pages());
            bar.set_position((done - before).min(work.pages()));
        })
    }

    /// Shows how many requests have come so far.
    fn of_requests(console: Console, message: String, read: Arc<AtomicU64>) -> Self {
        let style = "{spinner} {msg}: {human_pos} requests";
        Self::start(console, message, style, move |bar| bar.set_position(read.load(Relaxed)))
    }

    fn start(
        console: Console,
        message: String,
        style: &str,
        update: impl Fn(&ProgressBar) + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        if !console.progress {
            return Self { stop, thread: None };
        }
        let style = ProgressStyle::with_template(style).expect("templates of this file");
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            thread::park_timeout(PATIENCE);
            if stopped.load(Relaxed) {
                return;
            }
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr())
                .with_style(style)
                .with_message(message);
            while !stopped.load(Relaxed) {
                update(&bar);
                bar.tick();
                thread::park_timeout(TICK);
            }
            bar.finish_and_clear();
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A bar that fell over is no reason to stop.
            let _ = thread.join();
        }
    }
}

/// A source that shows how far it was read.
pub struct Counted<'a> {
    source: &'a mut dyn Source,
    read: Arc<AtomicU64>,
    _bar: Bar,
}

impl<'a> Counted<'a> {
    /// Counts the requests of `source`.
    pub fn new(console: Console, message: String, source: &'a mut dyn Source) -> Self {
        let read = Arc::new(AtomicU64::new(0));
        let bar = Bar::of_requests(console, message, Arc::clone(&read));
        Self { source, read, _bar: bar }
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
