//! One request: from the parsed form to its reply.

use thermocline_nbd::{Command, Context, Errno, Negotiated, Output, ReadReply, Request, wire};

use crate::{
    counters::{Counters, Kind},
    device::{Fault, Held, Piece},
};

/// Pages after which a long request lets others have the device.
const PIECE: u64 = 64;
/// Piece size of operations that only touch tables.
const TABLE_PIECE: u64 = 16 << 10;
/// Pages covered by one block status; the client asks again for the rest.
const STATUS_PAGES: u64 = 1 << 20;

/// The negotiated options of a connection, with its output and counters.
pub(super) struct Desk<'a> {
    pub agreed: &'a Negotiated,
    pub page_size: u64,
    pub counters: &'a Counters,
    pub output: &'a mut Output,
    /// Requests that are done but for a sync: answered behind the next one.
    pub unsynced: &'a mut Vec<Request>,
}

impl Desk<'_> {
    /// Serves a request whose payload, if it has any, is at hand.
    #[inline]
    pub(super) fn serve(&mut self, request: &Request, payload: &[u8], held: &mut Held<'_>) {
        if let Err(refusal) = self.agreed.check(request) {
            self.count_failure(request);
            self.agreed.reply_refusal(request, &refusal, self.output);
            return;
        }
        let Request { offset, length, .. } = *request;
        let done = match request.command {
            Command::Read => return self.read(request, held),
            Command::Write => held.write(offset, payload),
            Command::Trim => {
                self.in_pieces(request, held, TABLE_PIECE, |held, offset, length, piece| {
                    held.trim_piece(offset, length, piece)
                })
            }
            Command::WriteZeroes if request.fast_zero() && (request.no_hole() || !held.trims()) => {
                self.count_failure(request);
                let text = &"zeros that take up space are no faster than a write";
                return self.agreed.reply_error(request, Errno::Unsupported, text, self.output);
            }
            Command::WriteZeroes => {
                let allocated = request.no_hole();
                let piece = if allocated || !held.trims() { PIECE } else { TABLE_PIECE };
                self.in_pieces(request, held, piece, |held, offset, length, which| {
                    held.zero_piece(offset, length, allocated, which)
                })
            }
            Command::Flush => {
                held.note_flush();
                self.unsynced.push(*request);
                return;
            }
            Command::BlockStatus => return self.status(request, held),
            // There is no cache to fill.
            Command::Cache | Command::Disconnect | Command::Unknown(_) => Ok(()),
        };
        self.count_bytes(request.command, length);
        match done {
            Ok(()) => self.done(request),
            Err(fault) => self.refuse(request, &fault),
        }
    }

    /// A request was done: answers it, or puts the answer off until it lasts.
    #[inline]
    pub(super) fn done(&mut self, request: &Request) {
        if request.fua() && request.command.is_write() {
            self.counters.fua.add(1);
            self.unsynced.push(*request);
        } else {
            self.agreed.reply_done(request, self.output);
        }
    }

    /// A request failed.
    #[cold]
    pub(super) fn refuse(&mut self, request: &Request, fault: &Fault) {
        self.count_failure(request);
        tracing::debug!(command = ?request.command, request.offset, request.length, "{fault}");
        let errno = errno(fault);
        match fault {
            Fault::Chip { offset, .. } => {
                let at = (*offset).max(request.offset);
                self.agreed.reply_error_at(request, errno, at, fault, self.output);
            }
            _ => self.agreed.reply_error(request, errno, fault, self.output),
        }
    }

    #[inline]
    pub(super) fn count_bytes(&self, command: Command, bytes: u64) {
        self.counters.of(command.into()).bytes.add(bytes);
    }

    #[cold]
    fn count_failure(&self, request: &Request) {
        self.counters.of(request.command.into()).failed.add(1);
    }

    /// A read whose reply is put together as a whole.
    #[inline]
    pub(super) fn read(&mut self, request: &Request, held: &mut Held<'_>) {
        let reply = self.agreed.reply_read(request, self.output);
        let done = match held.begin_read(request.offset, request.length) {
            Ok(()) => Self::fill(reply, held).map_err(|(fault, _)| fault),
            Err(fault) => Err(Self::fail(reply, fault).0),
        };
        match done {
            Ok(()) => self.counters.of(Kind::Read).bytes.add(request.length),
            Err(fault) => self.note_failed_read(request, &fault),
        }
    }

    /// Reads straight into the output; pages without data become holes if the client supports them.
    /// On failure takes the reply back, and returns whether the client can still get the error.
    #[inline]
    pub(super) fn fill(mut reply: ReadReply<'_>, held: &mut Held<'_>) -> Result<(), (Fault, bool)> {
        while reply.left() > 0 {
            let at = reply.position();
            let (has_data, bytes) = held.run(at, reply.left(), PIECE as u32);
            if has_data {
                if let Err(fault) = held.read_more(at, reply.data(bytes as usize)) {
                    return Err(Self::fail(reply, fault));
                }
            } else {
                reply.hole(bytes);
            }
            if reply.left() > 0
                && let Err(fault) = held.pause()
            {
                return Err(Self::fail(reply, fault));
            }
        }
        reply.finish();
        Ok(())
    }

    #[cold]
    fn fail(reply: ReadReply<'_>, fault: Fault) -> (Fault, bool) {
        let at = match fault {
            Fault::Chip { offset, .. } => Some(offset.max(reply.offset())),
            _ => None,
        };
        let is_told = reply.fail(errno(&fault), at, &fault);
        (fault, is_told)
    }

    #[cold]
    pub(super) fn note_failed_read(&self, request: &Request, fault: &Fault) {
        self.count_failure(request);
        tracing::debug!(request.offset, request.length, "read: {fault}");
    }

    /// Allocated and unallocated extents.
    fn status(&mut self, request: &Request, held: &mut Held<'_>) {
        let Request { offset, length, .. } = *request;
        let mut reply = self.agreed.reply_status(request, self.output);
        while let Some(context) = reply.next_context() {
            if context != Context::Allocation {
                continue;
            }
            let (mut at, mut pages) = (offset, 0);
            loop {
                let left = offset + length - at;
                let (has_data, bytes) = held.run(at, left, TABLE_PIECE as u32);
                let status = if has_data { 0 } else { wire::STATE_HOLE | wire::STATE_ZERO };
                at += bytes;
                pages += bytes.div_ceil(self.page_size);
                if !reply.extent(bytes, status) || pages >= STATUS_PAGES {
                    break;
                }
                if let Err(fault) = held.pause() {
                    return reply.fail(errno(&fault), &fault);
                }
            }
        }
        reply.finish();
    }

    /// Does a long request piece by piece, cut between pages.
    fn in_pieces(
        &self,
        request: &Request,
        held: &mut Held<'_>,
        pages: u64,
        one: impl Fn(&mut Held<'_>, u64, u64, Piece) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let end = request.offset + request.length;
        let (mut at, mut piece) = (request.offset, Piece::First);
        loop {
            let next = (at / self.page_size + pages).saturating_mul(self.page_size).min(end);
            one(held, at, next - at, piece)?;
            (at, piece) = (next, Piece::More);
            if at == end {
                return Ok(());
            }
            held.pause()?;
        }
    }
}

/// The error number of a fault for the client.
fn errno(fault: &Fault) -> Errno {
    match fault {
        Fault::ReadOnly | Fault::WornOut => Errno::Permission,
        Fault::NoSpace | Fault::FileSystemFull => Errno::NoSpace,
        Fault::Beyond { .. } => Errno::Invalid,
        Fault::Chip { .. } | Fault::Sync(_) | Fault::Broken => Errno::Io,
        Fault::ShuttingDown => Errno::Shutdown,
    }
}
