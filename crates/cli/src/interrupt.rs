//! Ctrl-C: the work is asked to stop; if it does not, or at the second time, the program ends.

use std::{
    process,
    sync::{Arc, LazyLock},
    thread,
    time::Duration,
};

use thermocline_assembly::Progress;

use crate::{console, exit};

/// How long work that cannot look up (a read that blocks) may take to stop.
const GRACE: Duration = Duration::from_secs(2);

/// A signal reaches a program through what is global, and nothing else here is.
static PROGRESS: LazyLock<Arc<Progress>> = LazyLock::new(Arc::default);

/// How far the work is, and whether it should stop.
pub fn progress() -> &'static Arc<Progress> {
    &PROGRESS
}

/// Installs the handler; without it, Ctrl-C ends the program at once.
pub fn install() {
    LazyLock::force(&PROGRESS);
    let _ = ctrlc::set_handler(|| {
        if progress().is_cancelled() {
            give_up();
        }
        progress().cancel();
        thread::spawn(|| {
            thread::sleep(GRACE);
            give_up();
        });
    });
}

fn give_up() -> ! {
    thermocline_files::abandon();
    console::complain("interrupted");
    process::exit(exit::INTERRUPTED.into())
}
