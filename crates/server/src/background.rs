//! Background work of a device. While hosts are idle: garbage collection by its idle policy, scrubbing,
//! and verification of all data in rounds. While hosts write: syncs that erased blocks wait for.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use thermocline_ftl::FtlError;

use crate::device::{Device, Fault, Step, is_full};

/// How often it looks for data that are hard to read, whether it is to stop, and whether it missed
/// something.
const LOOK: Duration = Duration::from_millis(250);
/// How long it leaves a device alone that somebody has in hand.
const BUSY: Duration = Duration::from_millis(1);

/// A thread that works on a device while it is idle.
#[derive(Debug)]
pub(crate) struct Background {
    threads: [JoinHandle<()>; 2],
    stop: Arc<AtomicBool>,
}

impl Background {
    /// Begins.
    pub(crate) fn start(device: &Arc<Device>) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let spawn = |name: &str, work: fn(&Device, &AtomicBool)| {
            let (device, stop) = (device.clone(), stop.clone());
            std::thread::Builder::new().name(name.into()).spawn(move || work(&device, &stop))
        };
        let (background, syncer) = (spawn("background", work)?, spawn("syncer", sync_ahead)?);
        device.set_background(background.thread().clone());
        device.set_syncer(syncer.thread().clone());
        Ok(Self { threads: [background, syncer], stop })
    }

    /// Ends after the step at hand.
    pub(crate) fn stop(self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("a thread that works in the background died");
            }
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

/// Syncs whenever the layer wants it, until that fails.
fn sync_ahead(device: &Device, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        match device.sync_ahead() {
            // It is temporary, and writing hosts get the error.
            Ok(()) | Err(Fault::FileSystemFull | Fault::NoSpace) => std::thread::park(),
            Err(_) => break,
        }
    }
}

/// Verifies the pages that are due.
fn verify(device: &Device, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        match device.verify_step() {
            Step::Done | Step::Part => {}
            Step::Busy => std::thread::park_timeout(BUSY),
            Step::Nothing | Step::Failed(_) => break,
        }
    }
}

/// Goes on until there is nothing to move.
pub(crate) fn scrub(device: &Device, stop: &AtomicBool) -> Result<(), FtlError> {
    while !stop.load(Relaxed) {
        match device.scrub_step() {
            Step::Done | Step::Part => {}
            Step::Nothing => break,
            Step::Busy => std::thread::park_timeout(BUSY),
            Step::Failed(error) => return Err(error),
        }
    }
    Ok(())
}

/// Scrubs in the background; false if it failed, which ends the background work.
fn scrub_while_idle(device: &Device, stop: &AtomicBool) -> bool {
    match scrub(device, stop) {
        Ok(()) => true,
        // It is temporary, and writing hosts get the error.
        Err(error) if is_full(&error) => true,
        Err(error) => {
            tracing::error!(export = device.name(), "scrubbing ended: {error}");
            false
        }
    }
}

/// Does the idle work allowed now, and waits for the next chance; false if it failed.
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
    // In the smallest steps where a request that waits ends it, else all in one go.
    let mut left = if leisure.yields { leisure.steps } else { leisure.steps.min(1) };
    while left > 0 && device.last_served() == since && !stop.load(Relaxed) {
        let step =
            if leisure.yields { device.step_ahead() } else { device.clean_ahead(leisure.steps) };
        match step {
            Step::Done => left -= 1,
            Step::Part => {}
            Step::Nothing | Step::Busy => break,
            Step::Failed(error) if is_full(&error) => break,
            Step::Failed(error) => {
                tracing::error!(export = device.name(), "cleaning in idle time ended: {error}");
                return false;
            }
        }
        // What is asked of an emulated chip ahead of its time a request would wait for.
        let busy = device.busy_for();
        if leisure.yields && !busy.is_zero() {
            std::thread::park_timeout(busy);
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
