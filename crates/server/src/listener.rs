//! Where connections come from.

use std::{
    io,
    net::{TcpListener, ToSocketAddrs},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{
            fs::FileTypeExt,
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
};

use crate::{ServerError, stream::Socket};

/// A socket that connections come from.
#[derive(Debug)]
pub struct Listener(Kind);

#[derive(Debug)]
enum Kind {
    Unix {
        listener: UnixListener,
        /// The file to remove in the end, where it is ours.
        path: Option<PathBuf>,
    },
    Tcp(TcpListener),
}

impl Listener {
    /// Listens on a Unix socket. A file that a server which is gone has left there is replaced.
    ///
    /// # Errors
    /// [`ServerError::Listening`], naming the path.
    pub fn unix(path: &Path) -> Result<Self, ServerError> {
        let failed = |reason: String| failed(&path.display().to_string(), reason);
        let listener = match UnixListener::bind(path) {
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => {
                let is_socket =
                    std::fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
                if !is_socket {
                    return Err(failed("it exists and is no socket; name another path".into()));
                }
                if UnixStream::connect(path).is_ok() {
                    return Err(failed("another server listens there; stop it".into()));
                }
                std::fs::remove_file(path)
                    .and_then(|()| UnixListener::bind(path))
                    .map_err(|e| failed(e.to_string()))?
            }
            bound => bound.map_err(|e| failed(e.to_string()))?,
        };
        Self::new(Kind::Unix { listener, path: Some(path.into()) }, &path.display().to_string())
    }

    /// Listens on a TCP address: `host:port`; port 0 for any that is free.
    ///
    /// # Errors
    /// [`ServerError::Listening`], naming the address.
    pub fn tcp(address: &str) -> Result<Self, ServerError> {
        let listener = TcpListener::bind(address).map_err(|e| {
            let remedy = match address.to_socket_addrs() {
                Err(_) => "; give it as host:port",
                Ok(_) => "",
            };
            failed(address, format!("{e}{remedy}"))
        })?;
        Self::new(Kind::Tcp(listener), address)
    }

    /// The sockets that whoever started the program opened for it (socket activation); none if
    /// nobody did.
    ///
    /// # Errors
    /// [`ServerError::Listening`] for one that is neither Unix nor TCP.
    pub fn inherited() -> Result<Vec<Self>, ServerError> {
        let mut passed = listenfd::ListenFd::from_env();
        let mut all = Vec::new();
        for number in 0..passed.len() {
            let name = format!("inherited socket {number}");
            let kind = if let Ok(Some(listener)) = passed.take_unix_listener(number) {
                Kind::Unix { listener, path: None }
            } else if let Ok(Some(listener)) = passed.take_tcp_listener(number) {
                Kind::Tcp(listener)
            } else {
                return Err(failed(&name, "it is no listening Unix or TCP socket".into()));
            };
            all.push(Self::new(kind, &name)?);
        }
        Ok(all)
    }

    fn new(kind: Kind, name: &str) -> Result<Self, ServerError> {
        // Who gives up between the wake-up and the accept must not hold up the others.
        let done = match &kind {
            Kind::Unix { listener, .. } => listener.set_nonblocking(true),
            Kind::Tcp(listener) => listener.set_nonblocking(true),
        };
        done.map_err(|e| failed(name, e.to_string()))?;
        Ok(Self(kind))
    }

    /// As people write it.
    #[must_use]
    pub fn address(&self) -> String {
        match &self.0 {
            Kind::Unix { path: Some(path), .. } => path.display().to_string(),
            Kind::Unix { listener, .. } => listener
                .local_addr()
                .ok()
                .and_then(|address| address.as_pathname().map(|path| path.display().to_string()))
                .unwrap_or_else(|| "unix".into()),
            Kind::Tcp(listener) => {
                listener.local_addr().map_or_else(|_| "tcp".into(), |a| a.to_string())
            }
        }
    }

    /// The next connection, if one waits.
    pub(crate) fn accept(&self) -> io::Result<Socket> {
        match &self.0 {
            Kind::Unix { listener, .. } => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                Ok(Socket::unix(stream))
            }
            Kind::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                Socket::tcp(stream)
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Kind::Unix { listener, .. } => listener.as_fd(),
            Kind::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Kind::Unix { path: Some(path), .. } = &self.0 {
            // Whoever removed it before us meant it.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn failed(address: &str, reason: String) -> ServerError {
    ServerError::Listening { address: address.into(), reason }
}
