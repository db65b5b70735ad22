//! Jobs on all cores: an input that several share is prepared once, and kept while they need it.
//!
//! Workers take jobs whose input is there before they prepare another one, so no more inputs are in
//! memory than there are workers. They take them in order otherwise; results are distinguished by the
//! numbers of their jobs, and do not depend on the number of workers.

use std::{
    fmt::Display,
    panic,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use thermocline_sim::{Progress, SimError};

/// A simulation, or several that belong together, that is understood and can be run.
pub trait Job: Sync {
    /// Its input.
    type Input: Send + Sync;
    /// Its result.
    type Output: Send;
    /// Why nothing does.
    type Error: From<SimError> + Display + Send;

    /// The number of its input: jobs with equal numbers share one. Numbers are small.
    fn input(&self) -> usize;

    /// Reads the input, or generates it.
    ///
    /// # Errors
    /// Its own: this job, and all that share the input, fail.
    fn prepare(&self) -> Result<Self::Input, Self::Error>;

    /// Pages that it will write, as far as known, before or after its input is there.
    fn pages(&self, input: Option<&Self::Input>) -> Option<u64>;

    /// Runs it.
    ///
    /// # Errors
    /// Its own: this job fails.
    fn run(&self, input: &Self::Input) -> Result<Self::Output, Self::Error>;
}

/// The amount of work, in host pages, readable from other threads. Jobs of unknown size count as the
/// mean of the others.
#[derive(Debug, Default)]
pub struct Work {
    jobs: AtomicUsize,
    known_jobs: AtomicUsize,
    known_pages: AtomicU64,
    /// Pages of failed jobs, which will not be written.
    lost_pages: AtomicU64,
    finished: AtomicUsize,
}

impl Work {
    /// All pages that will be written; 0 while nothing is known.
    #[must_use]
    pub fn pages(&self) -> u64 {
        let known = self.known_jobs.load(Relaxed) as u128;
        let pages = u128::from(self.known_pages.load(Relaxed));
        let all = (pages * self.jobs.load(Relaxed) as u128).checked_div(known).unwrap_or(0);
        (all as u64).saturating_sub(self.lost_pages.load(Relaxed))
    }

    /// Jobs that have ended, and all.
    #[must_use]
    pub fn jobs(&self) -> (usize, usize) {
        (self.finished.load(Relaxed), self.jobs.load(Relaxed))
    }

    fn learn(&self, pages: u64) {
        self.known_pages.fetch_add(pages, Relaxed);
        self.known_jobs.fetch_add(1, Relaxed);
    }
}

/// Runs jobs on `threads` threads (0: one a core) and passes the result of each to `told`, with its number. Any
/// thread may call `told`, at any time, once a job.
///
/// # Errors
/// [`SimError::Interrupted`] if the work was cancelled; errors of `told`, which stop the work.
pub fn run_all<J: Job>(
    jobs: &[J],
    threads: usize,
    progress: &Progress,
    work: &Work,
    told: impl Fn(usize, Result<J::Output, J::Error>) -> Result<(), J::Error> + Sync,
) -> Result<(), J::Error> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores } else { threads }.min(jobs.len());
    work.jobs.fetch_add(jobs.len(), Relaxed);
    jobs.iter().filter_map(|job| job.pages(None)).for_each(|pages| work.learn(pages));
    let board = Board::of(jobs);
    let team = Team { jobs, board: Mutex::new(board), changed: Condvar::new(), progress, work };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| team.work(&told))).collect();
        for worker in workers {
            // A bug; the thread reported it, and it ends the program like any other.
            worker.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        }
    });
    let stopped = team.board.into_inner().unwrap_or_else(PoisonError::into_inner).stopped;
    match stopped {
        Some(error) => Err(error),
        None if progress.is_cancelled() => Err(SimError::Interrupted.into()),
        None => Ok(()),
    }
}

/// Pending jobs.
struct Board<J: Job> {
    inputs: Vec<Shared<J::Input>>,
    /// Why all workers stop.
    stopped: Option<J::Error>,
    /// A worker fell over, and the others stop.
    abandoned: bool,
}

/// An input, and jobs that wait for it, the first one last.
struct Shared<I> {
    waiting: Vec<usize>,
    state: State<I>,
}

enum State<I> {
    Cold,
    Preparing,
    Ready(Arc<I>),
    Broken(String),
}

/// The next step of a worker.
enum Next<I> {
    Run(usize, Arc<I>),
    Prepare(usize),
    Fail(usize, String),
    Wait,
    End,
}

impl<J: Job> Board<J> {
    fn of(jobs: &[J]) -> Self {
        let count = jobs.iter().map(|job| job.input() + 1).max().unwrap_or(0);
        let shared = || Shared { waiting: Vec::new(), state: State::Cold };
        let mut inputs: Vec<_> = (0..count).map(|_| shared()).collect();
        for (at, job) in jobs.iter().enumerate().rev() {
            inputs[job.input()].waiting.push(at);
        }
        Self { inputs, stopped: None, abandoned: false }
    }

    fn next(&mut self) -> Next<J::Input> {
        if self.stopped.is_some() || self.abandoned {
            return Next::End;
        }
        let waiting = |shared: &&mut Shared<J::Input>| !shared.waiting.is_empty();
        let settled = |shared: &&mut Shared<J::Input>| {
            matches!(shared.state, State::Ready(_) | State::Broken(_))
        };
        if let Some(shared) = self.inputs.iter_mut().filter(waiting).find(settled) {
            let last = shared.waiting.len() == 1;
            let next = match (&shared.state, shared.waiting.pop()) {
                (State::Ready(input), Some(at)) => Next::Run(at, Arc::clone(input)),
                (State::Broken(why), Some(at)) => Next::Fail(at, why.clone()),
                _ => unreachable!("it is settled, and a job waits"),
            };
            if last {
                // Running jobs hold their own reference.
                shared.state = State::Cold;
            }
            return next;
        }
        let cold = |shared: &&mut Shared<J::Input>| matches!(shared.state, State::Cold);
        let mut first: Vec<_> = self.inputs.iter_mut().filter(waiting).collect();
        if first.is_empty() {
            return Next::End;
        }
        first.sort_by_key(|shared| shared.waiting.last().copied());
        match first.into_iter().find(cold) {
            None => Next::Wait,
            Some(shared) => {
                shared.state = State::Preparing;
                Next::Prepare(shared.waiting.last().copied().unwrap_or_default())
            }
        }
    }
}

struct Team<'a, J: Job> {
    jobs: &'a [J],
    board: Mutex<Board<J>>,
    changed: Condvar,
    progress: &'a Progress,
    work: &'a Work,
}

/// Stops the other threads if its thread panics: they would wait forever.
struct Alarm<'a, 'b, J: Job>(&'a Team<'b, J>);

impl<J: Job> Drop for Alarm<'_, '_, J> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.board().abandoned = true;
            self.0.changed.notify_all();
        }
    }
}

impl<J: Job> Team<'_, J> {
    fn board(&self) -> MutexGuard<'_, Board<J>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, told: &impl Fn(usize, Result<J::Output, J::Error>) -> Result<(), J::Error>) {
        let _alarm = Alarm(self);
        let mut board = self.board();
        while !self.progress.is_cancelled() {
            match board.next() {
                Next::End => break,
                Next::Wait => {
                    board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
                Next::Prepare(at) => {
                    drop(board);
                    self.prepare(at, told);
                }
                Next::Run(at, input) => {
                    drop(board);
                    let result = self.jobs[at].run(&input);
                    let pages = || self.jobs[at].pages(Some(&input)).unwrap_or(0);
                    self.end(at, result, pages, told);
                }
                Next::Fail(at, why) => {
                    drop(board);
                    self.end(at, Err(SimError::Input(why).into()), || 0, told);
                }
            }
            board = self.board();
        }
        drop(board);
        self.changed.notify_all();
    }

    fn prepare(
        &self,
        at: usize,
        told: &impl Fn(usize, Result<J::Output, J::Error>) -> Result<(), J::Error>,
    ) {
        let job = &self.jobs[at];
        let prepared = job.prepare();
        let mut board = self.board();
        let shared = &mut board.inputs[job.input()];
        let mut failed = None;
        shared.state = match prepared {
            Ok(input) => {
                let unknown = shared.waiting.iter().map(|at| &self.jobs[*at]);
                let unknown = unknown.filter(|job| job.pages(None).is_none());
                unknown.filter_map(|job| job.pages(Some(&input))).for_each(|n| self.work.learn(n));
                State::Ready(Arc::new(input))
            }
            Err(error) => {
                shared.waiting.pop();
                let why = error.to_string();
                failed = Some(error);
                State::Broken(why)
            }
        };
        drop(board);
        self.changed.notify_all();
        if let Some(error) = failed {
            self.end(at, Err(error), || 0, told);
        }
    }

    fn end(
        &self,
        at: usize,
        result: Result<J::Output, J::Error>,
        pages: impl Fn() -> u64,
        told: &impl Fn(usize, Result<J::Output, J::Error>) -> Result<(), J::Error>,
    ) {
        if result.is_err() {
            self.work.lost_pages.fetch_add(pages(), Relaxed);
        }
        self.work.finished.fetch_add(1, Relaxed);
        if self.progress.is_cancelled() && result.is_err() {
            // It failed because everything stops.
            return;
        }
        if let Err(error) = told(at, result) {
            self.board().stopped.get_or_insert(error);
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    static LIVE: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    static PREPARED: AtomicUsize = AtomicUsize::new(0);

    struct Held;

    impl Drop for Held {
        fn drop(&mut self) {
            LIVE.fetch_sub(1, Relaxed);
        }
    }

    struct Square(usize);

    impl Job for Square {
        type Input = Held;
        type Output = usize;
        type Error = SimError;

        fn input(&self) -> usize {
            self.0 / 4
        }

        fn prepare(&self) -> Result<Held, SimError> {
            if self.input() == 3 {
                return Err(SimError::Input("broken".into()));
            }
            PREPARED.fetch_add(1, Relaxed);
            MOST.fetch_max(LIVE.fetch_add(1, Relaxed) + 1, Relaxed);
            Ok(Held)
        }

        fn pages(&self, input: Option<&Held>) -> Option<u64> {
            input.map(|_| 10)
        }

        fn run(&self, _: &Held) -> Result<usize, SimError> {
            match self.0 {
                7 => Err(SimError::Failed("seven".into())),
                n => Ok(n * n),
            }
        }
    }

    #[test]
    fn inputs_are_prepared_once_and_failures_stop_nobody() {
        let jobs: Vec<_> = (0..40).map(Square).collect();
        let results: Mutex<Vec<_>> = Mutex::new((0..40).map(|_| None).collect());
        let work = Work::default();
        let tell = |at: usize, result: Result<usize, SimError>| {
            let result = result.map_err(|error| error.to_string());
            assert!(results.lock().expect("whole")[at].replace(result).is_none());
            Ok(())
        };
        run_all(&jobs, 3, &Progress::default(), &work, tell).expect("done");
        let results = results.into_inner().expect("whole");
        for (at, result) in results.into_iter().enumerate() {
            let result = result.expect("every job has ended");
            match at {
                7 | 12..16 => assert!(result.is_err()),
                n => assert_eq!(result, Ok(n * n)),
            }
        }
        assert_eq!((PREPARED.load(Relaxed), LIVE.load(Relaxed)), (9, 0));
        assert!(MOST.load(Relaxed) <= 4, "an input a worker, and one that is let go");
        assert_eq!(work.jobs(), (40, 40));
    }
}
