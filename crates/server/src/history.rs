//! How exports were since the server started, for the dashboard: a bounded list of samples of each.
//!
//! A sample is taken once a minute at first. When the list is full, every second sample goes and the time
//! between them doubles, so that it always covers the whole time. The chip is in hand for a few counters.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::JoinHandle,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use crate::{
    server::{Export, Shared},
    wear::Wear,
};

/// The first time between two samples.
const STEP: Duration = Duration::from_secs(60);
/// Samples kept of an export: a day of minutes, then a day of two minutes, and so on.
const MOST: usize = 1440;

/// How an export was at a time.
#[derive(Clone, Copy, Debug)]
struct Sample {
    time_ms: u64,
    host_pages: u64,
    copied_pages: u64,
    erases: u64,
    pages_lost: u64,
    spare_blocks: Option<u32>,
}

/// The samples of an export.
#[derive(Debug)]
struct Past {
    /// Erases of all blocks before the first sample.
    erased_before: u64,
    blocks: u64,
    samples: Vec<Sample>,
    /// Minutes from a sample to the next, and those that passed since the last.
    every: u64,
    passed: u64,
}

/// The samples of all exports, and the thread that takes them.
pub(crate) struct History {
    pasts: Arc<Mutex<Vec<Past>>>,
    thread: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl History {
    /// Takes the first samples, and goes on in a thread.
    pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let pasts = Arc::new(Mutex::new(shared.exports.iter().map(Past::of).collect::<Vec<_>>()));
        let (stop, stopped) = mpsc::channel();
        let (shared, kept) = (shared.clone(), pasts.clone());
        let take = move || {
            while stopped.recv_timeout(STEP) == Err(RecvTimeoutError::Timeout) {
                for (at, export) in shared.exports.iter().enumerate() {
                    let sample = Sample::of(export);
                    kept.lock().unwrap_or_else(PoisonError::into_inner)[at].add(sample);
                }
            }
        };
        let thread = std::thread::Builder::new().name("history".into()).spawn(take)?;
        Ok(Self { pasts, thread: Mutex::new(Some((stop, thread))) })
    }

    /// The samples of an export, columns by name.
    pub(crate) fn of(&self, export: usize) -> Value {
        let pasts = self.pasts.lock().unwrap_or_else(PoisonError::into_inner);
        pasts.get(export).map_or(Value::Null, Past::columns)
    }

    /// No more samples are taken.
    pub(crate) fn stop(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((stop, thread)) = thread {
            drop(stop);
            if thread.join().is_err() {
                tracing::error!("the thread that keeps the history died");
            }
        }
    }
}

impl Sample {
    fn of(export: &Export) -> Self {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        export.device.glance(|layer| {
            let counters = layer.inspect().counters();
            Self {
                time_ms: time.as_millis() as u64,
                host_pages: counters.host_writes,
                copied_pages: counters.copies,
                erases: counters.erases,
                pages_lost: counters.pages_lost,
                spare_blocks: layer.inspect().spare_blocks(),
            }
        })
    }
}

impl Past {
    fn of(export: &Export) -> Self {
        let (wear, sample) = (Wear::of(&export.device), Sample::of(export));
        let erased_before = wear.sum.saturating_sub(sample.erases);
        Self { erased_before, blocks: wear.blocks, samples: vec![sample], every: 1, passed: 0 }
    }

    /// A minute has passed.
    fn add(&mut self, sample: Sample) {
        self.passed += 1;
        if self.passed < self.every {
            return;
        }
        self.passed = 0;
        if self.samples.len() >= MOST {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
        self.samples.push(sample);
    }

    fn columns(&self) -> Value {
        let of = |of: &dyn Fn(&Sample) -> Value| self.samples.iter().map(of).collect::<Value>();
        let mean = |s: &Sample| (self.erased_before + s.erases) as f64 / self.blocks.max(1) as f64;
        json!({
            "time_ms": of(&|s| s.time_ms.into()),
            "host_pages_written": of(&|s| s.host_pages.into()),
            "flash_pages_copied": of(&|s| s.copied_pages.into()),
            "flash_blocks_erased": of(&|s| s.erases.into()),
            "pages_lost": of(&|s| s.pages_lost.into()),
            "spare_blocks": of(&|s| s.spare_blocks.into()),
            "wear_mean": of(&|s| mean(s).into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_stays_within_bounds_and_covers_the_whole_time() {
        let sample = |minute: u64| Sample {
            time_ms: minute * 60_000,
            host_pages: 0,
            copied_pages: 0,
            erases: minute,
            pages_lost: 0,
            spare_blocks: None,
        };
        let mut past =
            Past { erased_before: 50, blocks: 10, samples: vec![sample(0)], every: 1, passed: 0 };
        for minute in 1..=365 * 24 * 60 {
            past.add(sample(minute));
            assert!(past.samples.len() <= MOST);
        }
        assert!(past.samples.len() >= MOST / 2, "{}", past.samples.len());
        let times: Vec<_> = past.samples.iter().map(|s| s.time_ms / 60_000).collect();
        assert_eq!(times[0], 0);
        assert!(times.last().is_some_and(|last| last + past.every >= 365 * 24 * 60));
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= 2 * past.every), "no gaps");
        assert_eq!(past.columns()["wear_mean"][0], 5.0);
    }
}
