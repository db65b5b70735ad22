//! Where connections come from.

use std::{
    io,
    net::{SocketAddr, TcpListener, ToSocketAddrs},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::{
            fs::FileTypeExt,
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};

use crate::{ServerError, control::trust::connect_now, stream::Socket};

/// Bytes that the path of a Unix socket can have, by the system's `sockaddr_un` less its NUL.
const LONGEST_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// Who may connect to a Unix socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The mode of its file; that of the umask if `None`.
    pub mode: Option<u32>,
    /// The user its file belongs to; the server's own if `None`.
    pub user: Option<u32>,
    /// The group.
    pub group: Option<u32>,
}

impl Rights {
    /// Only the server's own user.
    pub const OWNER: Self = Self { mode: Some(0o600), user: None, group: None };

    /// Sets the rights before it listens, since no one can connect to a socket without a listener. The file is
    /// created with at most the mode; missing bits and the owner are set on the open file, not by its name, which
    /// may refer to another file by then.
    fn bind(&self, path: &Path) -> io::Result<UnixListener> {
        use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
        let socket =
            net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        if let Some(mode) = self.mode {
            rustix::fs::fchmod(&socket, Mode::from_raw_mode(mode))?;
        }
        net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        if *self != Self::default() {
            self.put_on(path)?;
        }
        net::listen(&socket, WAITING)?;
        Ok(socket.into())
    }

    fn put_on(&self, path: &Path) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty())?;
        let is = rustix::fs::fstat(&file)?;
        let is_ours = FileType::from_raw_mode(is.st_mode).is_socket()
            && is.st_uid == rustix::process::geteuid().as_raw()
            && is.st_nlink == 1;
        if !is_ours {
            return Err(io::Error::other("somebody else has put another file in its place"));
        }
        let (user, group) = (self.user.map(Uid::from_raw), self.group.map(Gid::from_raw));
        if user.is_some() || group.is_some() {
            rustix::fs::chownat(&file, "", user, group, AtFlags::EMPTY_PATH)?;
        }
        if let Some(mode) = self.mode {
            // The kernel's name of the open file.
            let open = format!("/proc/self/fd/{}", file.as_raw_fd());
            rustix::fs::chmod(open, Mode::from_raw_mode(mode))?;
        }
        Ok(())
    }
}

/// Connections that may wait to be accepted, at most; the system has a limit of its own.
const WAITING: i32 = 4096;

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
        Self::unix_of(path, &Rights::default())
    }

    /// As [`unix`](Self::unix), with access rights: no one can connect before they are set.
    ///
    /// # Errors
    /// Those of [`unix`](Self::unix).
    pub fn unix_of(path: &Path, rights: &Rights) -> Result<Self, ServerError> {
        let failed = |reason: String| failed(&path.display().to_string(), reason);
        let length = path.as_os_str().len();
        if length > LONGEST_PATH {
            return Err(failed(format!(
                "its path has {length} bytes, and that of a Unix socket at most {LONGEST_PATH}; name a \
                 shorter one, or one that begins in the current folder"
            )));
        }
        let listener = match rights.bind(path) {
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => {
                if !is_socket(path) {
                    return Err(failed("it exists and is no socket; name another path".into()));
                }
                match connect_now(path) {
                    Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
                    _ => return Err(failed("another server listens there; stop it".into())),
                }
                std::fs::remove_file(path)
                    .and_then(|()| rights.bind(path))
                    .map_err(|e| failed(e.to_string()))?
            }
            bound => bound.map_err(|e| failed(e.to_string()))?,
        };
        Self::new(Kind::Unix { listener, path: Some(path.into()) }, &path.display().to_string())
    }

    /// Listens on a TCP address: `host:port`; port 0 for any free port. A name may have several
    /// addresses of this machine; each gets a listener.
    ///
    /// # Errors
    /// [`ServerError::Listening`], naming the address.
    pub fn tcp(address: &str) -> Result<Vec<Self>, ServerError> {
        let mut all: Vec<Self> = Vec::new();
        let mut elsewhere = None;
        for mut one in resolve(address)? {
            if let (0, Some(Kind::Tcp(first))) = (one.port(), all.first().map(|it| &it.0)) {
                one.set_port(first.local_addr().map_or(0, |first| first.port()));
            }
            match TcpListener::bind(one) {
                Ok(listener) => all.push(Self::new(Kind::Tcp(listener), address)?),
                // A machine without IPv6 has a name for its address all the same.
                Err(e) if is_not_here(&e) => elsewhere = Some(e),
                Err(e) => return Err(refused(address, &e)),
            }
        }
        match elsewhere {
            Some(e) if all.is_empty() => Err(refused(address, &e)),
            _ => Ok(all),
        }
    }

    /// The sockets passed by the service manager (socket activation), if any.
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

    /// Whether clients may come over a network, and not only from this machine.
    #[must_use]
    pub fn is_beyond_loopback(&self) -> bool {
        match &self.0 {
            Kind::Unix { .. } => false,
            Kind::Tcp(listener) => listener.local_addr().is_ok_and(|at| !at.ip().is_loopback()),
        }
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

    /// The next connection to a Unix socket, if one waits.
    pub(crate) fn accept_unix(&self) -> io::Result<Option<UnixStream>> {
        match &self.0 {
            Kind::Unix { listener, .. } => Ok(Some(listener.accept()?.0)),
            Kind::Tcp(_) => Ok(None),
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
            // Whoever removed or replaced it before us meant it.
            if is_socket(path) {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket())
}

fn failed(address: &str, reason: String) -> ServerError {
    ServerError::Listening { address: address.into(), reason }
}

/// The addresses that a text stands for, each once.
pub(crate) fn resolve(address: &str) -> Result<Vec<SocketAddr>, ServerError> {
    let found = address.to_socket_addrs().map_err(|e| {
        failed(address, format!("{e}; give it as host:port, such as 127.0.0.1:10809"))
    })?;
    let mut all = Vec::new();
    for one in found {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    Ok(all)
}

fn is_not_here(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

/// Why an address cannot be listened on, and what to do.
pub(crate) fn refused(address: &str, error: &io::Error) -> ServerError {
    let remedy = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; another program listens there: stop it, or take another port (0 is any that is free)"
        }
        io::ErrorKind::PermissionDenied => "; take a port from 1024 on",
        _ if is_not_here(error) => {
            "; name an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them"
        }
        _ => "",
    };
    failed(address, format!("{error}{remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_given_to_a_socket_of_ours_and_to_nothing_that_took_its_name() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
        let folder = tempfile::tempdir().expect("a folder");
        let (secret, name) = (folder.path().join("secret"), folder.path().join("socket"));
        std::fs::write(&secret, "").expect("written");
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).expect("set");
        let rights = Rights { mode: Some(0o666), ..Rights::default() };
        symlink(&secret, &name).expect("a link");
        assert!(rights.put_on(&name).is_err());
        std::fs::remove_file(&name).expect("removed");
        std::fs::hard_link(&secret, &name).expect("a link");
        assert!(rights.put_on(&name).is_err());
        assert_eq!(mode(&secret), 0o600);
        std::fs::remove_file(&name).expect("removed");
        let listener = Listener::unix_of(&name, &rights).expect("it is free");
        assert_eq!(mode(&name), 0o666);
        drop(listener);
        for wanted in [0o600, 0o620] {
            let rights = Rights { mode: Some(wanted), ..Rights::default() };
            let listener = Listener::unix_of(&name, &rights).expect("it is free");
            assert_eq!(mode(&name), wanted);
            drop(listener);
        }
    }
}
