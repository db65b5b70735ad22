//! `--live`: runs on the terminal while they last.

use std::{
    cell::RefCell,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use thermocline_flash::BlockId;
use thermocline_ftl::BlockState;
use thermocline_live::screen::{Course, Panel, Screen};
use thermocline_sim::{Job, Look, Watch};
use thermocline_study::jobs::{self, Watchers};

use crate::{
    console::{self, Console},
    interrupt,
    print::number,
};

/// Requests between two looks at the clock.
const STRIDE: usize = 4096;
/// Time between two looks at a chip.
const PERIOD: Duration = Duration::from_millis(100);

/// One run, as it is seen.
#[derive(Debug)]
struct Seen {
    known: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    panel: Panel,
    last: Option<(Instant, u64, u64)>,
    pages: u64,
}

impl Seen {
    /// A job that has not begun.
    fn of(job: &Job<'_>) -> Self {
        let courses = ["write amplification", "write p99, ms"].map(Course::new).into();
        let panel = Panel { name: job.policy.name.clone(), courses, ..Panel::default() };
        let state = State { panel, last: None, pages: 0 };
        Self { known: jobs::known_pages(job), state: Mutex::new(state) }
    }

    /// Its panel once it has begun, those that run before those that are over.
    fn panel(&self) -> Option<(bool, Panel)> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last.is_some().then(|| (state.pages >= self.known, state.panel.clone()))
    }
}

impl Seen {
    fn look(&self, now: &Look<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { panel, last, pages } = &mut *state;
        let (host, programs) =
            (now.counters.host_writes, now.counters.first_programs() + now.counters.copies);
        *pages = host;
        let (before, before_programs) = match last {
            Some((when, ..)) if when.elapsed() < PERIOD && host < self.known => return,
            Some((_, host, programs)) => (*host, *programs),
            None => (0, 0),
        };
        *last = Some((Instant::now(), host, programs));
        panel.blocks.resize(now.geometry.blocks() as usize, BlockState::default());
        panel.pages = now.geometry.data_pages_per_block();
        now.inspect.block_states(BlockId(0), &mut panel.blocks);
        if host > before {
            let wa = (programs - before_programs) as f64 / (host - before) as f64;
            let p99 = now.write_response_ns(0.99) as f64 / 1e6;
            panel.courses[0].add(wa, number::fixed(wa, 2));
            panel.courses[1].add(p99, number::fixed(p99, 2));
        }
        let whole = if host > 0 { programs as f64 / host as f64 } else { 1.0 };
        panel.figures = vec![
            ("write amplification so far", number::fixed(whole, 3)),
            ("host pages written", number::grouped(host)),
            ("blocks erased", number::grouped(now.counters.erases)),
        ];
    }
}

/// One run as the simulator shows it.
#[derive(Debug)]
struct Watched(Arc<Seen>);

impl Watch for Watched {
    fn stride(&self, _pages: u64) -> usize {
        STRIDE
    }

    fn look(&self, now: &Look<'_>) {
        self.0.look(now);
    }
}

/// Draws runs until it is dropped, from the first visible one on.
#[derive(Default)]
pub struct Live {
    runs: Arc<Mutex<Vec<Arc<Seen>>>>,
    drawn: RefCell<Option<Drawn>>,
}

impl Live {
    /// Where it was asked for, and there is a terminal.
    pub fn of(asked: bool, console: Console) -> Option<Self> {
        if asked && !console.progress {
            console.note(
                "--live needs a terminal on standard error, without --quiet and --no-progress",
            );
        }
        (asked && console.progress).then(Self::default)
    }
}

impl Watchers for Live {
    fn watch(&self, job: &Job<'_>) -> Box<dyn Watch> {
        let seen = Arc::new(Seen::of(job));
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.push(Arc::clone(&seen));
        drop(runs);
        let mut drawn = self.drawn.borrow_mut();
        drawn.get_or_insert_with(|| Drawn::start(Arc::clone(&self.runs)));
        Box::new(Watched(seen))
    }
}

/// Draws runs until it is dropped.
struct Drawn {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drawn {
    /// Takes over the terminal. Whoever asks for the end there interrupts the runs.
    fn start(runs: Arc<Mutex<Vec<Arc<Seen>>>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        console::take();
        let thread = thread::spawn(move || {
            let Ok(mut screen) = Screen::open() else { return };
            while !told.load(Relaxed) {
                let seen = runs.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let mut panels: Vec<_> = seen.iter().filter_map(|seen| seen.panel()).collect();
                panels.sort_by_key(|(is_over, _)| *is_over);
                let over = panels.iter().filter(|(is_over, _)| *is_over).count();
                let panels: Vec<_> = panels.into_iter().map(|(_, panel)| panel).collect();
                let title = format!("{over} of {} runs over   q stops them", seen.len());
                let drawn = screen.draw(&title, &panels);
                if !matches!(drawn.and_then(|()| screen.is_to_end(PERIOD)), Ok(false)) {
                    interrupt::progress().cancel();
                    return;
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // It restores the terminal in any case.
            let _ = thread.join();
        }
        console::give_back();
    }
}
