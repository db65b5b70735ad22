//! A question's part in the work: what it is told, and whom it tells how far it is.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use thermocline_sim::{Job, Look, Progress, Watch};
use thermocline_study::{
    Context, Door, Listener, Remark,
    jobs::{Extras, Watchers},
};

/// Requests between two reports of progress.
const STRIDE: usize = 1 << 13;

/// How far a run is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// Pages written.
    pub done: u64,
    /// All pages to write.
    pub all: u64,
    /// Pages that the host wrote since the statistics began.
    pub written: u64,
    /// Pages copied since then.
    pub copied: u64,
}

/// Whoever is told how far a run is.
pub type Page = fn(Told);

/// The work of one question.
pub struct Work {
    progress: Arc<Progress>,
    page: Page,
    remarks: Remarks,
}

#[derive(Default)]
struct Remarks(Mutex<Vec<String>>);

impl Listener for Remarks {
    fn door(&self) -> Door {
        Door::CommandLine
    }

    fn say(&self, kind: Remark, text: &str) {
        if kind != Remark::Info {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
        }
    }
}

impl Work {
    pub fn new(page: Page) -> Self {
        Self { progress: Arc::default(), page, remarks: Remarks::default() }
    }

    pub fn context(&self) -> Context<'_> {
        Context::new(&self.remarks, &self.progress).without_meters()
    }

    /// With an eye on the progress.
    pub fn extras<'a>(&'a self, extras: Extras<'a>) -> Extras<'a> {
        Extras { watch: Some(self), ..extras }
    }

    /// Who tells the page how far a run is.
    pub fn eye(&self) -> Eye {
        Eye { progress: Arc::clone(&self.progress), page: self.page }
    }

    /// What was said meanwhile, and then.
    pub fn notes(self, more: Vec<String>) -> Vec<String> {
        let mut notes = self.remarks.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        notes.extend(more);
        notes
    }
}

impl Watchers for Work {
    fn watch(&self, _: &Job<'_>) -> Box<dyn Watch> {
        Box::new(self.eye())
    }
}

/// Tells a page how far a run is.
pub struct Eye {
    progress: Arc<Progress>,
    page: Page,
}

impl fmt::Debug for Eye {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Eye")
    }
}

impl Watch for Eye {
    fn stride(&self, _: u64) -> usize {
        STRIDE
    }

    fn look(&self, now: &Look<'_>) {
        let (done, all) = self.progress.so_far();
        let (written, copied) = (now.counters.host_writes, now.counters.copies);
        (self.page)(Told { done, all, written, copied });
    }
}
