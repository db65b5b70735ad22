//! From a fresh connection to an export, within a time.

use std::{borrow::Cow, io, sync::atomic::Ordering::Relaxed, time::Instant};

use thermocline_nbd::{Exports, Handshake, Negotiated, Step};

use super::{End, Wire, wait::is_timeout};
use crate::server::Shared;

impl Wire {
    /// Shakes hands; who takes too long, at whatever he does, is dropped.
    pub(super) fn shake_hands(&mut self, shared: &Shared, number: u64) -> Result<Negotiated, End> {
        let deadline = Instant::now() + shared.limits.handshake;
        let late = |end: End| match end {
            End::Socket(e) if is_timeout(&e) => End::Late(shared.limits.handshake),
            end => end,
        };
        self.negotiate(shared, number, deadline).map_err(late)
    }

    fn negotiate(
        &mut self,
        shared: &Shared,
        number: u64,
        deadline: Instant,
    ) -> Result<Negotiated, End> {
        let mut handshake = Handshake::start(shared.settings, &mut self.output);
        let mut own = self.exports(shared);
        loop {
            if shared.stopping.load(Relaxed) {
                handshake.stop();
            }
            let (consumed, step) = handshake.advance(self.input.pending(), &mut self.output, &own);
            self.input.consume(consumed);
            self.hurry(deadline)?;
            match step {
                Step::NeedMore(need) => {
                    self.send()?;
                    self.receive(need)?;
                }
                Step::Answered => {
                    self.send()?;
                }
                Step::StartTls => {
                    self.send()?;
                    // Cleartext sent after the request for TLS is not trusted.
                    self.input.clear();
                    self.secure(shared, deadline)?;
                    handshake.secured();
                    // Now that its certificate is known.
                    own = self.exports(shared);
                }
                Step::Transmission(agreed) => {
                    // Before the client gets the reply, or another could still take its place.
                    shared.has_shaken_hands(number);
                    self.send()?;
                    return Ok(agreed);
                }
                Step::Close(close) => {
                    self.send()?;
                    return Err(close.into());
                }
            }
        }
    }

    /// The exports that are for this client.
    fn exports<'a>(&self, shared: &'a Shared) -> Cow<'a, Exports> {
        if shared.exports.iter().all(|export| export.device.access().is_open()) {
            return Cow::Borrowed(&shared.offered);
        }
        let address = self.socket.address();
        let admits = |index: usize| {
            let access = shared.exports[index].device.access();
            access.admits(address, |name| self.stream.has_name(name))
        };
        Cow::Owned(shared.offered.only(admits))
    }

    /// Nothing may wait beyond the deadline.
    fn hurry(&self, deadline: Instant) -> Result<(), End> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        Ok(self.socket.set_timeout(Some(left))?)
    }

    #[cfg(feature = "tls")]
    fn secure(&mut self, shared: &Shared, deadline: Instant) -> Result<(), End> {
        use crate::stream::Stream;
        let config = shared.tls.as_ref().ok_or_else(no_tls)?;
        let mut session = config.session()?;
        while session.is_handshaking() {
            self.hurry(deadline)?;
            session.complete_some(&mut self.socket)?;
        }
        self.stream = Stream::Tls(Box::new(session.over(self.socket.clone())));
        Ok(())
    }

    #[cfg(not(feature = "tls"))]
    fn secure(&mut self, _shared: &Shared, _deadline: Instant) -> Result<(), End> {
        Err(no_tls())
    }
}

/// TLS is never agreed on without a certificate.
fn no_tls() -> End {
    io::Error::new(io::ErrorKind::Unsupported, "this server has no TLS").into()
}
