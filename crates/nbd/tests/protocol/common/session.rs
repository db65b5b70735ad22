//! A connection to a server in memory, driven like one with sockets.

use thermocline_nbd::{
    Close, Command, Context, Errno, Exports, Handshake, Negotiated, Output, Parsed, Refusal,
    Request, Settings, Step,
};

use super::disk::Disk;

/// One connection and the disk behind all exports.
pub struct Session {
    phase: Phase,
    exports: Exports,
    pub disk: Disk,
    /// Received bytes that were not consumed yet.
    received: Vec<u8>,
    output: Output,
    /// All bytes that the server has sent.
    pub sent: Vec<u8>,
    /// Maximum lengths of `received` and of the output, in bytes.
    pub most_received: usize,
    pub most_output: usize,
    /// Requests executed, requests refused, and steps of the handshake.
    pub requests: u64,
    pub refused: u64,
    /// How it ended.
    pub ended: Option<End>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Closed(Close),
    Disconnected,
    StartTls,
}

enum Phase {
    Handshake(Box<Handshake>),
    Requests(Negotiated),
    /// The rest of a payload goes straight to its destination, or is discarded.
    Payload {
        negotiated: Negotiated,
        request: Request,
        refusal: Option<Refusal>,
        done: u32,
    },
}

impl Session {
    pub fn new(settings: Settings, exports: Exports, size: u64) -> Session {
        let mut output = Output::new();
        let handshake = Handshake::start(settings, &mut output);
        let mut session = Session {
            phase: Phase::Handshake(Box::new(handshake)),
            exports,
            disk: Disk::new(size),
            received: Vec::new(),
            output,
            sent: Vec::new(),
            most_received: 0,
            most_output: 0,
            requests: 0,
            refused: 0,
            ended: None,
        };
        session.send();
        session
    }

    /// The negotiated parameters, after the handshake.
    pub fn negotiated(&self) -> Option<Negotiated> {
        match &self.phase {
            Phase::Handshake(_) => None,
            Phase::Requests(negotiated) | Phase::Payload { negotiated, .. } => Some(*negotiated),
        }
    }

    /// True if the server is waiting for a new request.
    pub fn waits(&self) -> bool {
        matches!(self.phase, Phase::Requests(_)) && self.received.is_empty() && self.ended.is_none()
    }

    fn send(&mut self) {
        self.most_output = self.most_output.max(self.output.capacity());
        self.sent.extend_from_slice(self.output.pending());
        self.output.sent(usize::MAX);
    }

    /// Feeds bytes from the client and executes the requests in them.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.ended.is_some() {
            return;
        }
        self.received.extend_from_slice(bytes);
        let received = std::mem::take(&mut self.received);
        let mut rest = received.as_slice();
        while self.ended.is_none() {
            let (consumed, more) = self.step(rest);
            rest = &rest[consumed..];
            self.send();
            if let Some(needed) = more {
                assert!(rest.len() < needed, "asked for {needed} bytes and has {}", rest.len());
                break;
            }
        }
        if self.ended.is_some() {
            return;
        }
        self.received = rest.to_vec();
        self.most_received = self.most_received.max(self.received.len());
    }

    /// Performs one step. Returns how much input it consumed, and how much it needs if there is too
    /// little.
    fn step(&mut self, input: &[u8]) -> (usize, Option<usize>) {
        match &mut self.phase {
            Phase::Handshake(handshake) => {
                let (consumed, step) = handshake.advance(input, &mut self.output, &self.exports);
                match step {
                    Step::NeedMore(needed) => return (consumed, Some(needed)),
                    Step::Answered => {}
                    Step::StartTls => self.ended = Some(End::StartTls),
                    Step::Transmission(negotiated) => self.phase = Phase::Requests(negotiated),
                    Step::Close(close) => self.ended = Some(End::Closed(close)),
                }
                (consumed, None)
            }
            Phase::Requests(negotiated) => {
                let negotiated = *negotiated;
                match negotiated.parse(input) {
                    Parsed::NeedMore(needed) => (0, Some(needed)),
                    Parsed::Close(close) => {
                        self.ended = Some(End::Closed(close));
                        (0, None)
                    }
                    Parsed::Request(request, consumed) => {
                        let refusal = negotiated.check(&request).err();
                        self.phase = Phase::Payload { negotiated, request, refusal, done: 0 };
                        (consumed, None)
                    }
                }
            }
            Phase::Payload { negotiated, request, refusal, done } => {
                let (negotiated, request, refusal) = (*negotiated, *request, *refusal);
                let take = input.len().min((request.payload - *done) as usize);
                if refusal.is_none() && take != 0 {
                    let at = request.offset + u64::from(*done);
                    self.disk.write(at, take as u64, 1).copy_from_slice(&input[..take]);
                }
                *done += take as u32;
                if *done < request.payload {
                    return (take, Some(1));
                }
                self.phase = Phase::Requests(negotiated);
                self.requests += 1;
                match refusal {
                    None => self.answer(&negotiated, &request),
                    Some(refusal) => {
                        self.refused += 1;
                        negotiated.reply_refusal(&request, &refusal, &mut self.output);
                    }
                }
                (take, None)
            }
        }
    }

    /// Executes a request whose payload, if any, is in place.
    fn answer(&mut self, negotiated: &Negotiated, request: &Request) {
        let &Request { offset, length, .. } = request;
        match request.command {
            Command::Disconnect => {
                self.ended = Some(End::Disconnected);
                return;
            }
            Command::Read => return self.read(negotiated, request),
            Command::BlockStatus => return self.status(negotiated, request),
            Command::Trim => self.disk.trim(offset, length),
            Command::WriteZeroes if !request.no_hole() => self.disk.trim(offset, length),
            Command::WriteZeroes if request.fast_zero() => {
                let text = "zeroes that take up space have to be written";
                let errno = Errno::Unsupported;
                return negotiated.reply_error(request, errno, &text, &mut self.output);
            }
            Command::WriteZeroes => self.disk.write(offset, length, 1).fill(0),
            Command::Write | Command::Cache | Command::Flush => {}
            Command::Unknown(number) => panic!("command {number} was let through"),
        }
        if request.command == Command::Flush || request.fua() && request.command.is_write() {
            self.disk.sync();
        }
        negotiated.reply_done(request, &mut self.output);
    }

    fn read(&mut self, negotiated: &Negotiated, request: &Request) {
        let mut reply = negotiated.reply_read(request, &mut self.output);
        while reply.left() != 0 {
            let at = request.offset + request.length - reply.left();
            let (length, stored) = self.disk.block(at);
            if self.disk.broken.is_some_and(|broken| (at..at + length).contains(&broken)) {
                reply.fail(Errno::Io, Some(at), &format_args!("byte {at} is broken"));
                return;
            }
            if stored.is_none() {
                reply.hole(length);
            } else {
                let into = reply.data(length as usize);
                into.copy_from_slice(&self.disk.bytes[at as usize..][..into.len()]);
            }
        }
        reply.finish();
    }

    fn status(&mut self, negotiated: &Negotiated, request: &Request) {
        let mut reply = negotiated.reply_status(request, &mut self.output);
        while let Some(context) = reply.next_context() {
            let mut at = request.offset;
            loop {
                let (length, stored) = self.disk.block(at);
                let [allocation, temperature] = Disk::statuses(stored);
                let status = match context {
                    Context::Allocation => allocation,
                    Context::Temperature => temperature,
                };
                if !reply.extent(length, status) {
                    break;
                }
                at += length;
            }
        }
        reply.finish();
    }
}
