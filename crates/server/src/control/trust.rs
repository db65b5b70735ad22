//! Which control sockets an operator trusts.
//!
//! A server's answers go into backups and verdicts, so another process must not pass for it. The listener of a
//! socket is trusted if
//!
//! * its user is root, the operator or the owner of the image; for a socket given by path, the owner of its
//!   folder, if only that user can write there;
//! * it holds the lock on the image, if an image was given.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::{
        fs::{FileTypeExt, MetadataExt},
        net::UnixStream,
    },
    path::Path,
};

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::seat;

/// Why a socket is not an operator's to talk to.
#[derive(Debug)]
pub(super) enum Refusal {
    /// There is no listener.
    Nobody,
    /// The listener is not trusted.
    Stranger(String),
    /// The system refuses.
    System(io::Error),
}

/// Connects to a socket whose server runs as one of these users. Does not block.
pub(super) fn connect(socket: &Path, believed: &[u32]) -> Result<(UnixStream, i32), Refusal> {
    let is = match fs::metadata(socket) {
        Ok(is) if is.file_type().is_socket() => is,
        Ok(_) => return Err(Refusal::Nobody),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(Refusal::Nobody),
        Err(e) => return Err(Refusal::System(e)),
    };
    check(is.uid(), believed, "it belongs to")?;
    let stream = connect_now(socket).map_err(|e| match e.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Refusal::Nobody,
        _ => Refusal::System(e),
    })?;
    let peer = net::sockopt::socket_peercred(&stream).map_err(|e| Refusal::System(e.into()))?;
    check(peer.uid.as_raw(), believed, "its server is of")?;
    Ok((stream, peer.pid.as_raw_nonzero().get()))
}

fn check(user: u32, believed: &[u32], whose: &str) -> Result<(), Refusal> {
    if believed.contains(&user) {
        return Ok(());
    }
    Err(Refusal::Stranger(format!("{whose} user {user}, who is not believed")))
}

/// A connection, if there is one without waiting: whoever listens may accept none.
pub(crate) fn connect_now(socket: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    net::connect(&stream, &SocketAddrUnix::new(socket)?)?;
    let stream = UnixStream::from(stream);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Whether an operator is the server's own user, or root.
pub(super) fn is_operator(stream: &UnixStream) -> bool {
    let allowed = [0, rustix::process::geteuid().as_raw()];
    net::sockopt::socket_peercred(stream).is_ok_and(|peer| allowed.contains(&peer.uid.as_raw()))
}

/// Who may speak for an image.
pub(super) fn of_image(image: &fs::Metadata) -> Vec<u32> {
    vec![0, rustix::process::geteuid().as_raw(), image.uid()]
}

/// Who may speak behind a socket that somebody named.
pub(super) fn of_socket(socket: &Path) -> Vec<u32> {
    let mut believed = vec![0, rustix::process::geteuid().as_raw()];
    let folder = socket.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = folder.unwrap_or(Path::new(".")).metadata()
        && seat::is_of(&folder, folder.uid())
    {
        believed.push(folder.uid());
    }
    believed
}

/// Whether a process holds the lock on an image.
pub(super) fn holds(process: i32, image: &Path, is: &fs::Metadata) -> bool {
    let holders = thermocline_media::image::lock_holders(is);
    if !holders.is_empty() {
        return holders.contains(&process);
    }
    // Processes outside a container are not visible.
    let locked = File::open(image).map(|file| file.try_lock());
    matches!(locked, Ok(Err(TryLockError::WouldBlock)))
}
