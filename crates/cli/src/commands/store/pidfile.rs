//! The file with the process' number, there as long as the server serves.

use std::{
    fs::{self, Permissions},
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};

use crate::exit::Failure;

/// The file; it goes when this does, unless another process has put its own number there.
pub struct PidFile(PathBuf);

/// The state of a pidfile.
enum Found {
    Nothing,
    /// Stale: empty, or of a dead process.
    Stale,
    /// Of a process that lives.
    Of(Pid),
    NoPidFile,
}

impl PidFile {
    /// Refuses a file that is another's. For an early word: [`create`](Self::create) asks again.
    pub fn check(path: &Path) -> Result<(), Failure> {
        let why = match look(path).map_err(|e| failed(path, &e))? {
            Found::Nothing | Found::Stale => return Ok(()),
            Found::NoPidFile => "is no pidfile; name another file".into(),
            Found::Of(pid) => format!(
                "is that of process {}{}, which is alive; stop it, or name another file (if it is no \
                 server, remove this one)",
                pid.as_raw_nonzero(),
                name(pid)
            ),
        };
        Err(failed(path, &why))
    }

    /// Puts the process' number there.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        loop {
            Self::check(path)?;
            match write(path) {
                Ok(()) => return Ok(Self(path.to_owned())),
                // The file of a dead process. The next round sees a new one.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => match fs::remove_file(path) {
                    Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(path, &e)),
                    _ => {}
                },
                Err(e) => return Err(failed(path, &e)),
            }
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if fs::read_to_string(&self.0).is_ok_and(|text| text == own()) {
            let _ = fs::remove_file(&self.0);
        }
    }
}

fn own() -> String {
    format!("{}\n", std::process::id())
}

/// Creates the file atomically, if there is none.
fn write(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::Builder::new()
        .prefix(".pid.")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(|e| e.kind())?;
    file.write_all(own().as_bytes())?;
    file.persist_noclobber(path).map(drop).map_err(|e| e.error)
}

fn look(path: &Path) -> io::Result<Found> {
    match fs::symlink_metadata(path) {
        Ok(is) if !is.is_file() || is.len() > 32 => return Ok(Found::NoPidFile),
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(e) => return Err(e),
    }
    let text = fs::read_to_string(path)?;
    if text.trim().is_empty() {
        return Ok(Found::Stale);
    }
    let Some(pid) = text.trim().parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw) else {
        return Ok(Found::NoPidFile);
    };
    if pid == rustix::process::getpid() {
        // In a container a process often gets the number of the one before it.
        return Ok(Found::Stale);
    }
    // A process of somebody else's lives, too.
    match test_kill_process(pid) {
        Err(Errno::SRCH) => Ok(Found::Stale),
        _ => Ok(Found::Of(pid)),
    }
}

/// The name of a process in brackets, if the system has it.
fn name(pid: Pid) -> String {
    let name = fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()));
    let plain = |name: String| name.chars().filter(|c| !c.is_control()).collect::<String>();
    name.map_or_else(|_| String::new(), |name| format!(" ({})", plain(name)))
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::failed(format!("--pidfile {}: {why}", path.display()))
}
