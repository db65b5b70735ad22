//! Ctrl-C and SIGTERM: the work is asked to stop; if it does not, or at the second time, the program ends.

use std::{
    process,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicI32, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use thermocline_assembly::Progress;

use crate::{console, exit};

/// How long work that cannot look up (a read that blocks) may take to stop.
const GRACE: Duration = Duration::from_secs(2);

/// Signal handlers need global state; there is no other.
static PROGRESS: LazyLock<Arc<Progress>> = LazyLock::new(Arc::default);
/// The signal that came first.
static SIGNAL: AtomicI32 = AtomicI32::new(SIGINT);

/// How far the work is, and whether it should stop.
pub fn progress() -> &'static Arc<Progress> {
    &PROGRESS
}

/// The exit code of a program that was interrupted, as shells report a process that the signal ended.
pub fn exit_code() -> u8 {
    128 + SIGNAL.load(Relaxed) as u8
}

/// Installs the handler; without it, a signal ends the program at once.
pub fn install() {
    LazyLock::force(&PROGRESS);
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let wait = move || {
        for signal in signals.forever() {
            if progress().is_cancelled() {
                give_up();
            }
            SIGNAL.store(signal, Relaxed);
            progress().cancel();
            thread::spawn(|| {
                thread::sleep(GRACE);
                give_up();
            });
        }
    };
    // Without the thread the first signal goes unheard: better it ends the program.
    if thread::Builder::new().name("signals".into()).spawn(wait).is_err() {
        console::complain("no thread waits for signals");
        process::exit(exit::FAILED.into());
    }
}

fn give_up() -> ! {
    thermocline_files::abandon();
    console::complain("interrupted");
    process::exit(exit_code().into())
}
