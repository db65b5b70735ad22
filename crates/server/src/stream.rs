//! A connection of any kind as a stream of bytes.

use std::{
    io::{self, Read, Write},
    net::{IpAddr, Shutdown, TcpStream},
    os::unix::net::UnixStream,
    sync::Arc,
    time::Duration,
};

/// A connected socket; clones are the same socket.
#[derive(Clone, Debug)]
pub(crate) struct Socket(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    pub(crate) fn unix(stream: UnixStream) -> Self {
        Self(Arc::new(Kind::Unix(stream)))
    }

    /// Small answers are sent at once, and a peer that is gone is found out in time.
    pub(crate) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
        Ok(Self(Arc::new(Kind::Tcp(stream))))
    }

    /// The longest wait for input or output; unlimited if `None`.
    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(timeout)?;
        self.set_write_timeout(timeout)
    }

    /// The longest wait for input; unlimited if `None`.
    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &*self.0 {
            Kind::Unix(stream) => stream.set_read_timeout(at_least(timeout)),
            Kind::Tcp(stream) => stream.set_read_timeout(at_least(timeout)),
        }
    }

    /// The longest wait for output; unlimited if `None`.
    pub(crate) fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &*self.0 {
            Kind::Unix(stream) => stream.set_write_timeout(at_least(timeout)),
            Kind::Tcp(stream) => stream.set_write_timeout(at_least(timeout)),
        }
    }

    /// Ends what waits on it.
    pub(crate) fn shut(&self, how: Shutdown) {
        // A peer that is gone already is fine.
        let _ = match &*self.0 {
            Kind::Unix(stream) => stream.shutdown(how),
            Kind::Tcp(stream) => stream.shutdown(how),
        };
    }

    /// The address at the other end, where connections have one.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match &*self.0 {
            Kind::Unix(_) => None,
            Kind::Tcp(stream) => stream.peer_addr().ok().map(|address| address.ip()),
        }
    }

    /// Who is at the other end.
    pub(crate) fn peer(&self) -> String {
        match &*self.0 {
            Kind::Unix(_) => "unix".into(),
            Kind::Tcp(stream) => {
                stream.peer_addr().map_or_else(|_| "tcp".into(), |address| address.to_string())
            }
        }
    }
}

impl Socket {
    /// Reads the available input, if any.
    #[inline]
    pub(crate) fn read_now(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let flags = rustix::net::RecvFlags::DONTWAIT;
        let done = match &*self.0 {
            Kind::Unix(stream) => rustix::net::recv(stream, into, flags),
            Kind::Tcp(stream) => rustix::net::recv(stream, into, flags),
        };
        match done {
            Ok((count, _)) => Ok(Some(count)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Writes what there is room for now.
    fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        // The client may be gone, which is an error and no signal.
        let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
        let done = match &*self.0 {
            Kind::Unix(stream) => rustix::net::send(stream, bytes, flags),
            Kind::Tcp(stream) => rustix::net::send(stream, bytes, flags),
        };
        match done {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(0),
            done => Ok(done?),
        }
    }
}

impl Read for Socket {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &*self.0 {
            Kind::Unix(stream) => (&mut &*stream).read(into),
            Kind::Tcp(stream) => (&mut &*stream).read(into),
        }
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &*self.0 {
            Kind::Unix(stream) => (&mut &*stream).write(bytes),
            Kind::Tcp(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Zero is not a timeout that sockets know.
fn at_least(timeout: Option<Duration>) -> Option<Duration> {
    timeout.map(|time| time.max(Duration::from_millis(1)))
}

/// A connection, encrypted or not.
pub(crate) enum Stream {
    Plain(Socket),
    #[cfg(feature = "tls")]
    Tls(Box<rustls::StreamOwned<rustls::ServerConnection, Socket>>),
}

impl Stream {
    /// Whether the certificate that the client showed is one of that name (a DNS name of its
    /// alternative names).
    pub(crate) fn has_name(&self, name: &str) -> bool {
        match self {
            Self::Plain(_) => {
                let _ = name;
                false
            }
            #[cfg(feature = "tls")]
            Self::Tls(stream) => crate::tls::has_name(&stream.conn, name),
        }
    }

    /// Reads the available input, if any; `None` for an encrypted stream, where that is unknown.
    #[inline]
    pub(crate) fn read_now(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Plain(socket) => socket.read_now(into),
            #[cfg(feature = "tls")]
            Self::Tls(_) => Ok(None),
        }
    }

    /// Writes as much as there is room for now; nothing to an encrypted stream, where that is
    /// unknown.
    pub(crate) fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write_now(bytes),
            #[cfg(feature = "tls")]
            Self::Tls(_) => Ok(0),
        }
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(into),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.flush(),
        }
    }
}
