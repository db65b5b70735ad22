//! Waiting for the client: a short poll, then a sleep with a time limit.
//!
//! A client may be idle between requests as long as the server allows; its large buffers go back to the
//! budget after a second. A client that has begun a request must finish it.

use std::{
    io,
    time::{Duration, Instant},
};

use super::{Connection, End, Wire};
use crate::budget::{LARGE, LEASE, SMALL};

/// How long a connection that waits keeps its large buffers.
const REST: Duration = Duration::from_secs(1);

/// The awaited input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// A request, whole or the rest of it.
    Next,
    /// More of a request that is being served.
    Request,
}

impl Connection<'_> {
    /// Waits for more, awake for a little while where that pays.
    pub(super) fn receive(&mut self, need: usize, what: Waiting) -> Result<(), End> {
        let Wire { stream, input, .. } = &mut self.wire;
        match self.patience.wait(|| input.fill_now(stream, need).transpose()) {
            Some(Ok(0)) => Err(End::Closed),
            Some(Ok(_)) => {
                self.received();
                Ok(())
            }
            Some(Err(e)) => Err(e.into()),
            None => self.wait(need, what),
        }
    }

    /// Sleeps until more comes.
    fn wait(&mut self, need: usize, what: Waiting) -> Result<(), End> {
        let begun = Instant::now();
        let mut rests = false;
        loop {
            let Wire { stream, input, .. } = &mut self.wire;
            match input.fill(stream, need) {
                Ok(0) => return Err(End::Closed),
                Ok(_) => break,
                Err(e) if is_timeout(&e) => {}
                Err(e) => return Err(e.into()),
            }
            let waited = begun.elapsed();
            let is_between = what == Waiting::Next && self.wire.input.pending().is_empty();
            if !is_between {
                if waited >= self.shared.limits.stall {
                    return Err(End::Stalled(self.shared.limits.stall));
                }
                continue;
            }
            let idle = self.shared.limits.idle;
            if let Some(idle) = idle.filter(|idle| waited >= *idle) {
                return Err(End::Idle(idle));
            }
            self.rest();
            rests = true;
            self.wire.socket.set_read_timeout(idle.map(|idle| idle - waited))?;
        }
        if rests {
            self.wire.socket.set_read_timeout(Some(self.tick()))?;
        }
        self.received();
        Ok(())
    }

    /// Lets the socket wait no longer than it should; once, behind the handshake.
    pub(super) fn set_timeouts(&self) -> io::Result<()> {
        self.wire.socket.set_write_timeout(Some(self.shared.limits.stall))?;
        self.wire.socket.set_read_timeout(Some(self.tick()))
    }

    /// The end of the connection after a failed send.
    pub(super) fn ended(&self, error: io::Error) -> End {
        if is_timeout(&error) { End::Stalled(self.shared.limits.stall) } else { error.into() }
    }

    /// How often a connection that waits looks at the time.
    fn tick(&self) -> Duration {
        let limits = &self.shared.limits;
        REST.min(limits.stall).min(limits.idle.unwrap_or(REST))
    }

    /// A receive buffer that one system call filled is too small.
    fn received(&mut self) {
        self.counters.receives.add(1);
        if self.wire.input.capacity() < LARGE && self.wire.input.is_full() {
            if self.lease.is_none() {
                self.lease = self.shared.budget.lease(LEASE);
            }
            if self.lease.is_some() {
                self.wire.input.resize(LARGE);
            }
        }
    }

    /// Gives large buffers back; nothing is pending.
    fn rest(&mut self) {
        if self.lease.is_some() {
            self.wire.input.resize(SMALL);
            self.wire.output.release(SMALL);
            self.lease = None;
        }
    }
}

/// Whether a socket waited as long as it was allowed to.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
