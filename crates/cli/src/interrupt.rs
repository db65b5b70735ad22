//! Ctrl-C: the work is asked to stop; if it does not, or at the second time, the program ends.

use std::{
    path::{Path, PathBuf},
    process,
    sync::{LazyLock, Mutex, PoisonError},
    thread,
    time::Duration,
};

use thermocline_assembly::Progress;

use crate::{console, exit};

/// How long work that cannot look up (a read that blocks) may take to stop.
const GRACE: Duration = Duration::from_secs(2);

/// A signal reaches a program through what is global, and nothing else here is.
static PROGRESS: LazyLock<Progress> = LazyLock::new(Progress::default);
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// How far the work is, and whether it should stop.
pub fn progress() -> &'static Progress {
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

/// A file to remove if the program ends before it is finished.
pub fn unfinished(path: &Path) {
    files().push(path.to_owned());
}

/// The file is complete, or gone.
pub fn finished(path: &Path) {
    files().retain(|other| other != path);
}

fn files() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn give_up() -> ! {
    for path in files().iter() {
        let _ = std::fs::remove_file(path);
    }
    console::complain("interrupted");
    process::exit(exit::INTERRUPTED.into())
}
