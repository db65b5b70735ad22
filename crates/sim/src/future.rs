//! Computes the future of each page write in advance, for placements that know the future.

use std::sync::{Arc, Mutex, PoisonError};

use thermocline_policy::Future;
use thermocline_trace::Op;
use thermocline_units::show_size;

use crate::{
    Input, Job, Progress, SimError, classes::with_fewer_classes, input::Batch, setup::Setup,
};

/// Maximum memory of a future. It is the same on every machine, so that the same runs succeed.
const MOST_BYTES: u64 = 4 << 30;

/// The page range and size of a run. Two runs with equal ones on the same input see the same
/// extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first page that a workload writes.
    pub first: u32,
    /// Logical pages of the device.
    pub logical: u32,
    /// Logical pages in use.
    pub used: u32,
    /// Bytes of a page.
    pub page_size: u32,
    /// Number of pages that each page stands for.
    pub scale: u32,
}

impl Span {
    pub(crate) fn of(setup: &Setup) -> Self {
        Self {
            first: setup.read_only_pages,
            logical: setup.plan.logical_pages,
            used: setup.used_pages,
            page_size: setup.plan.device.profile.geometry.page_size,
            scale: setup.scale,
        }
    }
}

/// Whether two inputs are the same object, not only equal.
pub(crate) fn same_input(a: &Input<'_>, b: &Input<'_>) -> bool {
    match (a, b) {
        (Input::Trace(a, times), Input::Trace(b, others)) => {
            std::ptr::eq(*a, *b) && times == others
        }
        (Input::Workload(a), Input::Workload(b)) => std::ptr::eq(*a, *b),
        _ => false,
    }
}

/// A future shared by several runs. The first to ask computes it, the last releases it.
pub(crate) struct Shared(Mutex<State>);

struct State {
    future: Option<Arc<Future>>,
    users: usize,
}

impl Shared {
    /// For this many runs.
    pub(crate) fn new(users: usize) -> Self {
        Self(Mutex::new(State { future: None, users }))
    }

    /// The future of a run of `job`. Each run calls this once.
    pub(crate) fn get(
        &self,
        job: &Job<'_>,
        span: Span,
        progress: &Progress,
    ) -> Result<Arc<Future>, SimError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let future = match &state.future {
            Some(future) => Arc::clone(future),
            None => Arc::new(foresee(&job.input, span, job.seed, progress)?),
        };
        state.users = state.users.saturating_sub(1);
        state.future = (state.users > 0).then(|| Arc::clone(&future));
        Ok(future)
    }
}

/// Computes the future of each page that a run of `job` will write.
///
/// # Errors
/// [`SimError`], as the run itself would return; [`SimError::Failed`] if it needs too much memory.
pub fn future_of(job: &Job<'_>, progress: &Progress) -> Result<Future, SimError> {
    let fewer = with_fewer_classes(job);
    let setup = Setup::of(fewer.as_ref().unwrap_or(job))?;
    foresee(&job.input, Span::of(&setup), job.seed, progress)
}

/// Scans the extents of a run and records when each page is next written or trimmed.
///
/// Distances are in host page writes, including the one that ends them. Pages are filled one write
/// before the first.
pub(crate) fn foresee(
    input: &Input<'_>,
    span: Span,
    seed: u64,
    progress: &Progress,
) -> Result<Future, SimError> {
    let Span { first, logical, used, page_size, scale } = span;
    let mut extents = input.open(first, used - first, page_size, scale, seed)?;
    let expected = input.expected_pages(&extents);
    let bytes =
        expected.saturating_add(2 * u64::from(logical)).saturating_mul(size_of::<u32>() as u64);
    let mut written = Vec::new();
    if bytes > MOST_BYTES || written.try_reserve_exact(expected as usize).is_err() {
        return Err(SimError::Failed(format!(
            "knowing the future of {expected} page writes takes {} of memory{}; take a shorter \
             input or a policy that does not know the future",
            show_size(bytes),
            if bytes > MOST_BYTES {
                format!(", more than {}", show_size(MOST_BYTES))
            } else {
                ", which is not there".into()
            }
        )));
    }
    let mut book = Book {
        filled: vec![Future::NEVER; logical as usize],
        written,
        last: vec![FILLED; logical as usize],
    };
    let mut batch = Batch::default();
    loop {
        extents.next_batch(&mut batch)?;
        if batch.extents.is_empty() {
            break;
        }
        if progress.is_cancelled() {
            return Err(SimError::Interrupted);
        }
        for extent in &batch.extents {
            let pages = extent.first..extent.first.saturating_add(extent.pages);
            match extent.op {
                Op::Write => pages.for_each(|page| book.write(page)),
                Op::Trim => pages.for_each(|page| book.ends(page, GONE)),
                Op::Read | Op::Flush => {}
            }
        }
    }
    Ok(Future { filled: book.filled, written: book.written })
}

/// The state of a page that holds the fill, or nothing.
const FILLED: u32 = u32::MAX;
const GONE: u32 = u32::MAX - 1;

struct Book {
    filled: Vec<u32>,
    written: Vec<u32>,
    /// For each page, the page write that set its content, or [`FILLED`] or [`GONE`].
    last: Vec<u32>,
}

impl Book {
    fn write(&mut self, page: u32) {
        self.ends(page, self.written.len() as u32);
        self.written.push(Future::NEVER);
    }

    /// The content of the page ends before the next page write is done; `next` replaces it.
    fn ends(&mut self, page: u32, next: u32) {
        let now = self.written.len() as u32;
        // The run itself refuses pages beyond the device.
        let Some(last) = self.last.get_mut(page as usize) else { return };
        match std::mem::replace(last, next) {
            FILLED => self.filled[page as usize] = now + 1,
            GONE => {}
            write => self.written[write as usize] = now - write,
        }
    }
}
