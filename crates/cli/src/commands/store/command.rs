//! The command of `serve --run`: it gets the server's address, and its end stops the server.

use std::{
    io,
    os::unix::{ffi::OsStrExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    thread::{self, JoinHandle},
};

use thermocline_server::Stopper;
use thermocline_sim::SimError;

use crate::exit::Failure;

/// A socket of the program's own, for a command where no other was named.
pub struct OwnSocket {
    /// Its path.
    pub path: PathBuf,
    /// Removed with its content.
    _folder: tempfile::TempDir,
}

impl OwnSocket {
    /// A path in a folder of its own.
    pub fn new() -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("thermocline.")
            .tempdir()
            .map_err(|e| Failure::failed(format!("--run: no folder for its socket: {e}")))?;
        Ok(Self { path: folder.path().join("socket"), _folder: folder })
    }
}

/// A command that runs.
pub struct Running(JoinHandle<io::Result<ExitStatus>>);

impl Running {
    /// Starts a shell command; the server stops when it ends.
    pub fn start(text: &str, socket: &Path, stopper: &Stopper) -> Result<Self, Failure> {
        let socket = std::path::absolute(socket).unwrap_or_else(|_| socket.to_owned());
        let failed = |e: io::Error| Failure::failed(format!("--run: {e}"));
        let mut child = Command::new("sh")
            .args(["-c", text])
            .env("uri", uri(&socket))
            .env("unixsocket", &socket)
            .spawn()
            .map_err(failed)?;
        let stopper = stopper.clone();
        let wait = move || {
            let ended = child.wait();
            stopper.stop();
            ended
        };
        Ok(Self(thread::Builder::new().name("run".into()).spawn(wait).map_err(failed)?))
    }

    /// Waits for its end and returns its exit code; after a signal the code that shells use.
    pub fn ended(self) -> Result<(), Failure> {
        match self.0.join() {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => {
                let of_signal = || status.signal().map(|signal| 128 + signal);
                let code = status.code().or_else(of_signal).unwrap_or(1);
                Err(Failure::Told(code.clamp(0, 255) as u8))
            }
            Ok(Err(e)) => Err(Failure::failed(format!("--run: {e}"))),
            Err(_) => Err(SimError::Broken("--run: its thread ended by a panic".into()).into()),
        }
    }
}

/// The address of the default export behind a Unix socket (the NBD URI specification).
fn uri(socket: &Path) -> String {
    let mut uri = String::from("nbd+unix:///?socket=");
    for &byte in socket.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(byte.into());
        } else {
            uri += &format!("%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_of_any_bytes_stands_in_a_uri() {
        let path = std::path::Path::new("/run/a b&c=d#e%f?g+ü.sock");
        let expected = "nbd+unix:///?socket=/run/a%20b%26c%3Dd%23e%25f%3Fg%2B%C3%BC.sock";
        assert_eq!(super::uri(path), expected);
    }
}
