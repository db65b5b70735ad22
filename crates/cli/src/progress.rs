//! Bars for work that takes longer than a moment.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use thermocline_study::{Meter, Unit};

use crate::console;

/// Work that is over before shows no bar.
const PATIENCE: Duration = Duration::from_millis(700);
const TICK: Duration = Duration::from_millis(100);

/// A bar that draws itself until it is dropped.
pub struct Bar {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Shows a meter.
    pub fn start(meter: Arc<dyn Meter>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let style = match meter.read().unit {
            Unit::Requests => "{spinner} {msg}: {human_pos} requests",
            Unit::Pages => "{msg} {wide_bar} {percent:>3} %  {eta_precise} to go",
        };
        let style = ProgressStyle::with_template(style).expect("templates of this file");
        let thread = thread::spawn(move || {
            thread::park_timeout(PATIENCE);
            if stopped.load(Relaxed) {
                return;
            }
            let mut drawn = None;
            while !stopped.load(Relaxed) {
                // A picture that has the screen shows how far the work is.
                console::unless_taken(|| {
                    let bar = drawn.get_or_insert_with(|| {
                        let target = ProgressDrawTarget::stderr();
                        ProgressBar::with_draw_target(Some(0), target).with_style(style.clone())
                    });
                    let now = meter.read();
                    bar.set_message(now.message);
                    now.total.into_iter().for_each(|total| bar.set_length(total));
                    bar.set_position(now.done);
                    bar.tick();
                });
                thread::park_timeout(TICK);
            }
            console::unless_taken(|| drawn.iter().for_each(ProgressBar::finish_and_clear));
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
