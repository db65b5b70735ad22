//! What a device does while nobody asks for anything: cleaning ahead, as its idle policy says, and
//! moving data that have become hard to read, and verifying all data in rounds.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use thermocline_ftl::FtlError;

use crate::device::{Device, Step, is_full};

/// How often it looks for data that are hard to read, whether it is to stop, and whether it missed
/// something.
const LOOK: Duration = Duration::from_millis(250);
/// How long it leaves a device alone that somebody has in hand.
const BUSY: Duration = Duration::from_millis(1);

/// A thread that works on a device when nobody else does.
#[derive(Debug)]
pub(crate) struct Background {
    thread: JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

impl Background {
    /// Begins.
    pub(crate) fn start(device: &Arc<Device>) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (mine, told) = (device.clone(), stop.clone());
        let thread = std::thread::Builder::new()
            .name("background".into())
            .spawn(move || work(&mine, &told))?;
        device.set_background(thread.thread().clone());
        Ok(Self { thread, stop })
    }

    /// Ends after the step at hand.
    pub(crate) fn stop(self) {
        self.stop.store(true, Relaxed);
        self.thread.thread().unpark();
        if self.thread.join().is_err() {
            tracing::error!("the thread that works in the background died");
        }
    }
}

fn work(device: &Device, stop: &AtomicBool) {
    let (mut scrubs, mut idles) = (true, device.has_idle());
    let mut looked = Instant::now();
    while !stop.load(Relaxed) {
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            scrubs = scrubs && scrub_while_idle(device, stop);
            verify(device, stop);
            device.tell_news();
        }
        if idles {
            idles = clean_ahead(device, stop);
        } else {
            std::thread::park_timeout(LOOK);
        }
    }
}

/// Verifies what is due.
fn verify(device: &Device, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        match device.verify_step() {
            Step::Done => {}
            Step::Busy => std::thread::park_timeout(BUSY),
            Step::Nothing | Step::Failed(_) => break,
        }
    }
}

/// Goes on until there is nothing to move.
pub(crate) fn scrub(device: &Device, stop: &AtomicBool) -> Result<(), FtlError> {
    while !stop.load(Relaxed) {
        match device.scrub_step() {
            Step::Done => {}
            Step::Nothing => break,
            Step::Busy => std::thread::park_timeout(BUSY),
            Step::Failed(error) => return Err(error),
        }
    }
    Ok(())
}

/// The same in the background; false if it failed, and then it is of no use any more.
fn scrub_while_idle(device: &Device, stop: &AtomicBool) -> bool {
    match scrub(device, stop) {
        Ok(()) => true,
        // It passes, and hosts that write are told.
        Err(error) if is_full(&error) => true,
        Err(error) => {
            tracing::error!(export = device.name(), "scrubbing ended: {error}");
            false
        }
    }
}

/// Does what the idle policy allows now, and waits for the next chance; false if it failed.
fn clean_ahead(device: &Device, stop: &AtomicBool) -> bool {
    let Some((leisure, since)) = device.leisure() else {
        std::thread::park_timeout(BUSY);
        return true;
    };
    let begin = since.saturating_add(leisure.after);
    let now = device.now();
    if now < begin && leisure.steps > 0 {
        std::thread::park_timeout(Duration::from_nanos(begin - now).min(LOOK));
        return true;
    }
    // One at a time where a request that waits ends it, else all in one go.
    let (mut left, each) =
        if leisure.yields { (leisure.steps, 1) } else { (leisure.steps.min(1), leisure.steps) };
    while left > 0 && device.last_served() == since && !stop.load(Relaxed) {
        left -= 1;
        match device.idle_steps(each) {
            Step::Done => {}
            Step::Nothing | Step::Busy => break,
            Step::Failed(error) if is_full(&error) => break,
            Step::Failed(error) => {
                tracing::error!(export = device.name(), "cleaning in idle time ended: {error}");
                return false;
            }
        }
    }
    sleep_until_served(device, since);
    true
}

fn sleep_until_served(device: &Device, since: u64) {
    device.background_sleeps(true);
    if device.last_served() == since {
        std::thread::park_timeout(LOOK);
    }
    device.background_sleeps(false);
}
