//! Stops a server from any thread.

use std::{
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
};

/// Stops a server. Clones stop the same one.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    asked: AtomicU32,
    bell: UnixStream,
}

/// Wakes who waits for connections.
#[derive(Debug)]
pub(crate) struct Bell(UnixStream);

impl Stopper {
    pub(crate) fn new() -> io::Result<(Self, Bell)> {
        let (bell, ear) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ear.set_nonblocking(true)?;
        Ok((Self(Arc::new(Inner { asked: AtomicU32::new(0), bell })), Bell(ear)))
    }

    /// Stops the server: in good order the first time, at once the second time.
    pub fn stop(&self) {
        self.0.asked.fetch_add(1, SeqCst);
        self.wake();
    }

    /// The number of stops.
    pub(crate) fn asked(&self) -> u32 {
        self.0.asked.load(SeqCst)
    }

    /// Makes the server look around.
    pub(crate) fn wake(&self) {
        // If the bell is full it rings already.
        let _ = (&self.0.bell).write(&[0]);
    }
}

impl Bell {
    /// Forgets that it rang.
    pub(crate) fn hush(&self) {
        while matches!((&self.0).read(&mut [0; 64]), Ok(1..)) {}
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
