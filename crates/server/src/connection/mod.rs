//! One connection: a thread, a socket, two buffers.
//!
//! All whole requests received with one system call are served under one lock of the device, and
//! answered with one system call: when no whole request is left, after some microseconds, or when the
//! output is large. Writes go to the device from the receive buffer, reads from the device to the send
//! buffer. A write that does not fit the buffer is received in pieces, and a long read is answered in
//! pieces (see `long`).
//!
//! Invariant: a connection uses small buffers of its own, and larger ones only while it has a
//! lease; it waits for the rest of a request, or for a client to read its replies, no longer than
//! [`Limits::stall`](crate::Limits).
//!
//! Durable requests (a flush, a write with FUA) are done with the others, and their replies wait
//! for one sync at the end of the batch.

mod handshake;
mod input;
mod long;
mod patience;
mod serve;
mod wait;

use std::{
    io::{self, Write},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use thermocline_nbd::{Close, Command, Negotiated, Output, Parsed, Request};

use crate::{
    budget::{LARGE, LEASE, Lease, SMALL},
    counters::{Counters, KINDS, Kind},
    device::{Device, Fault, Held},
    pace::Pace,
    server::Shared,
    stream::{Socket, Stream},
};
use input::Input;
use patience::Patience;
use serve::Desk;
use wait::Waiting;

/// The most replies that wait for a sync; this many start one.
const UNSYNCED: usize = 1024;
/// How long replies wait for other requests of the batch. Then they are sent, so that the client continues
/// while the rest is served.
const EARLY: Duration = Duration::from_micros(100);

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum End {
    /// Goodbye was said.
    #[error("disconnected")]
    Disconnected,
    /// The client closed without a word.
    #[error("the client closed the connection")]
    Closed,
    /// The client broke the protocol, or gave up in the handshake.
    #[error("{0}")]
    Protocol(#[from] Close),
    /// The handshake took too long, or had to give way to others.
    #[error("the handshake took more than {0:?}")]
    Late(Duration),
    /// The client took no answers, or did not go on with a request it had begun.
    #[error("the client made no progress for {0:?}")]
    Stalled(Duration),
    /// The client asked for nothing.
    #[error("the client asked for nothing in {0:?}")]
    Idle(Duration),
    /// An error came after the header that promised the data.
    #[error("a read failed after its reply had begun: {0}")]
    Broken(Fault),
    /// The socket failed.
    #[error("{0}")]
    Socket(#[from] io::Error),
}

/// Serves a connection from its handshake to its end.
pub(crate) fn run(shared: &Arc<Shared>, socket: &Socket, number: u64) {
    let mut wire = Wire {
        stream: Stream::Plain(socket.clone()),
        socket: socket.clone(),
        input: Input::new(SMALL),
        output: Output::new(),
    };
    let peer = socket.peer();
    let agreed = match wire.shake_hands(shared, number) {
        Ok(agreed) => agreed,
        Err(end) => {
            tracing::info!(connection = number, peer, "handshake ended: {end}");
            return;
        }
    };
    let export = &shared.exports[agreed.export];
    let counted = export.registry.open();
    let counters = counted.counters();
    tracing::info!(
        connection = number,
        peer,
        export = export.device.name(),
        headers = ?agreed.headers,
        "opened"
    );
    let mut connection = Connection {
        shared,
        device: &export.device,
        counters,
        agreed,
        wire,
        lease: None,
        patience: Patience::new(&shared.looking),
        unsynced: Vec::new(),
        dues: Vec::new(),
        begun: [0; KINDS],
    };
    let Err(end) =
        connection.set_timeouts().map_err(End::from).and_then(|()| connection.transmit());
    if matches!(end, End::Stalled(_)) {
        shared.stalled.fetch_add(1, Relaxed);
    }
    let count = |kind| counters.of(kind).answered.get();
    let bytes = |kind| counters.of(kind).bytes.get();
    let failed: u64 = counters.kinds.iter().map(|kind| kind.failed.get()).sum();
    tracing::info!(
        connection = number,
        peer,
        reads = count(Kind::Read),
        read_bytes = bytes(Kind::Read),
        writes = count(Kind::Write),
        written_bytes = bytes(Kind::Write),
        trims = count(Kind::Trim) + count(Kind::Zero),
        flushes = count(Kind::Flush),
        failed,
        "closed: {end}"
    );
}

/// A socket and its buffers.
struct Wire {
    stream: Stream,
    /// The socket below, where it is encrypted.
    socket: Socket,
    input: Input,
    output: Output,
}

impl Wire {
    fn send(&mut self) -> io::Result<u64> {
        let mut calls = 0;
        while !self.output.is_empty() {
            calls += 1;
            match self.stream.write(self.output.pending()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.output.sent(count),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if calls > 0 {
            self.stream.flush()?;
        }
        Ok(calls)
    }

    /// Sends what there is room for now.
    fn send_now(&mut self) -> io::Result<()> {
        let count = self.stream.write_now(self.output.pending())?;
        self.output.sent(count);
        Ok(())
    }

    fn receive(&mut self, need: usize) -> Result<(), End> {
        match self.input.fill(&mut self.stream, need)? {
            0 => Err(End::Closed),
            _ => Ok(()),
        }
    }
}

/// A connection that shook hands.
struct Connection<'a> {
    shared: &'a Shared,
    device: &'a Device,
    counters: &'a Counters,
    agreed: Negotiated,
    wire: Wire,
    /// For buffers that are larger than every connection's own.
    lease: Option<Lease<'a>>,
    patience: Patience<'a>,
    unsynced: Vec<Request>,
    /// If the device has a pace: the due time of a length of the output, and the kind of the last
    /// reply in it.
    dues: Vec<(u64, usize, Kind)>,
    /// Requests of each kind that were served since output was sent last.
    begun: [u64; KINDS],
}

/// The outcome of a batch.
enum Batch {
    /// That many bytes are needed for the next request.
    Need(usize),
    /// There may be more whole requests.
    More,
    /// A write that does not fit the buffer comes next.
    LongWrite(Request, usize),
    /// A read whose reply does not fit the output comes next.
    LongRead(Request, usize),
    /// The connection ends after the replies so far.
    End(End),
}

impl Connection<'_> {
    /// Serves requests until the connection ends.
    fn transmit(&mut self) -> Result<std::convert::Infallible, End> {
        let mut began = Instant::now();
        loop {
            let batch = self.batch();
            self.commit(began)?;
            match batch {
                Batch::More => self.answer(began)?,
                Batch::Need(bytes) => {
                    self.answer(began)?;
                    self.receive(bytes, Waiting::Next)?;
                    began = Instant::now();
                }
                Batch::LongWrite(request, head) => {
                    self.wire.input.consume(head);
                    self.write_as_it_comes(&request, began)?;
                    self.commit(began)?;
                }
                Batch::LongRead(request, head) => {
                    self.wire.input.consume(head);
                    self.answer(began)?;
                    self.read_as_it_goes(&request, began)?;
                }
                Batch::End(end) => {
                    self.answer(began)?;
                    return Err(end);
                }
            }
        }
    }

    /// Serves the whole requests at hand, with the device in hand.
    fn batch(&mut self) -> Batch {
        let mut held: Option<Result<Held<'_>, Fault>> = None;
        let begun = Instant::now();
        let budget = &self.shared.budget;
        let lease = &mut self.lease;
        let Wire { input, output, .. } = &mut self.wire;
        let mut desk = Desk {
            agreed: &self.agreed,
            page_size: self.device.page_size().into(),
            counters: self.counters,
            output,
            unsynced: &mut self.unsynced,
        };
        loop {
            let (request, head) = match self.agreed.parse(input.pending()) {
                Parsed::Request(request, head) => (request, head),
                Parsed::NeedMore(bytes) => return Batch::Need(bytes),
                Parsed::Close(close) => return Batch::End(close.into()),
            };
            if request.command == Command::Disconnect {
                return Batch::End(End::Disconnected);
            }
            let whole = head + request.payload as usize;
            let reply = reply_bytes(&self.agreed, &request);
            let is_large = whole > SMALL || desk.output.len() as u64 + reply > SMALL as u64;
            if is_large && lease.is_none() {
                *lease = budget.lease(LEASE);
            }
            let full = if lease.is_some() { LARGE } else { SMALL };
            let Some(payload) = input.pending().get(head..whole) else {
                if whole <= full {
                    if input.capacity() < whole {
                        input.resize(full);
                    }
                    return Batch::Need(whole);
                }
                return Batch::LongWrite(request, head);
            };
            if reply > full as u64 {
                return Batch::LongRead(request, head);
            }
            if desk.output.len() as u64 + reply > 2 * full as u64 {
                return Batch::More;
            }
            let kind = Kind::from(request.command);
            self.counters.of(kind).begun.add(1);
            self.begun[kind as usize] += 1;
            let reads = request.command == Command::Read;
            match held.get_or_insert_with(|| lock(self.shared, self.device, reads)) {
                Ok(held) => desk.serve(&request, payload, held),
                Err(fault) => desk.refuse(&request, fault),
            }
            input.consume(whole);
            if let Some(pace) = self.device.pace() {
                note_due(pace.answered(), &mut self.dues, desk.output.len(), kind);
            }
            // A sync serves all who wait for one: that is worth more.
            let is_late = desk.unsynced.is_empty()
                && self.device.pace().is_none()
                && begun.elapsed() >= EARLY;
            if is_late || desk.output.len() >= full || desk.unsynced.len() >= UNSYNCED {
                return Batch::More;
            }
        }
    }

    /// Makes what waits for a sync last, and answers it.
    fn commit(&mut self, began: Instant) -> Result<(), End> {
        if self.unsynced.is_empty() {
            return Ok(());
        }
        if !self.wire.output.is_empty() {
            // The others need not wait for it.
            self.count_unsynced(|count| *count -= 1);
            self.answer(began)?;
            self.count_unsynced(|count| *count += 1);
        }
        let changes = self.device.lock().map(|held| held.changes());
        let done =
            changes.and_then(|changes| self.device.settle(changes, self.unsynced.len() as u64));
        let mut unsynced = std::mem::take(&mut self.unsynced);
        let mut desk = self.desk();
        for request in &unsynced {
            match &done {
                Ok(()) => desk.agreed.reply_done(request, desk.output),
                Err(fault) => desk.refuse(request, fault),
            }
        }
        if let Some(pace) = self.device.pace() {
            self.dues.push((pace.quiet(), self.wire.output.len(), Kind::Flush));
        }
        unsynced.clear();
        self.unsynced = unsynced;
        Ok(())
    }

    /// Where requests outside of a batch are answered.
    fn desk(&mut self) -> Desk<'_> {
        Desk {
            agreed: &self.agreed,
            page_size: self.device.page_size().into(),
            counters: self.counters,
            output: &mut self.wire.output,
            unsynced: &mut self.unsynced,
        }
    }

    /// Sends the replies.
    fn send(&mut self) -> Result<(), End> {
        let calls = self.wire.send().map_err(|e| self.ended(e))?;
        self.counters.sends.add(calls);
        Ok(())
    }

    fn count_unsynced(&mut self, change: impl Fn(&mut u64)) {
        for request in &self.unsynced {
            change(&mut self.begun[Kind::from(request.command) as usize]);
        }
    }

    /// Sends the answers to what came at `began`.
    fn answer(&mut self, began: Instant) -> Result<(), End> {
        if let Some(pace) = self.device.pace() {
            self.keep_pace(pace, began)?;
        }
        self.send()?;
        let took = began.elapsed();
        // They came together and were answered together: each has a share of the time.
        let all = self.begun.iter().sum::<u64>().max(1);
        for (kind, count) in Kind::ALL.into_iter().zip(&mut self.begun) {
            if *count > 0 {
                let delay = took.mul_f64(*count as f64 / all as f64);
                self.counters.answered(kind, std::mem::take(count), took, delay);
            }
        }
        Ok(())
    }

    /// Sends each answer when the emulated chip would have given it.
    fn keep_pace(&mut self, pace: &Pace, began: Instant) -> Result<(), End> {
        let (mut sent, mut before) = (0, Duration::ZERO);
        let mut dues = std::mem::take(&mut self.dues);
        for (due, end, kind) in dues.drain(..) {
            let now = pace.now();
            if due > now {
                std::thread::sleep(Duration::from_nanos(due - now));
            }
            while sent < end {
                let part = &self.wire.output.pending()[..end - sent];
                let count = self.wire.stream.write(part).map_err(|e| self.ended(e))?;
                self.wire.output.sent(count);
                self.counters.sends.add(1);
                sent += count;
            }
            self.wire.stream.flush()?;
            let count = &mut self.begun[kind as usize];
            if *count > 0 {
                *count -= 1;
                let took = began.elapsed();
                self.counters.answered(kind, 1, took, took.saturating_sub(before));
                before = took;
            }
        }
        self.dues = dues;
        Ok(())
    }
}

/// Bytes of data that the reply to a request holds; none if the request is refused.
fn reply_bytes(agreed: &Negotiated, request: &Request) -> u64 {
    let reads = request.command == Command::Read && agreed.check(request).is_ok();
    if reads { request.length } else { 0 }
}

/// The device, for a batch that begins with a read or another request, unless the server stops.
fn lock<'a>(shared: &Shared, device: &'a Device, reads: bool) -> Result<Held<'a>, Fault> {
    if shared.stopping.load(Relaxed) {
        return Err(Fault::ShuttingDown);
    }
    if reads { device.lock_to_read() } else { device.lock() }
}

/// The latest reply is due when the emulated chip has finished its operations, and not before
/// earlier replies.
fn note_due(due: u64, dues: &mut Vec<(u64, usize, Kind)>, output: usize, kind: Kind) {
    let (last, sent) = dues.last().map_or((0, 0), |due| (due.0, due.1));
    if output > sent {
        dues.push((due.max(last), output, kind));
    }
}
