//! Requests that do not fit the buffers: writes as they come, reads as their answers go out.
//!
//! Problem. A read may request 32 MiB, and its client may not read replies. Idea. The reply is sent in
//! parts: the socket gets as much of a part as it takes before the next is read, and all of it before the
//! connection's buffer limit is reached. Consequence. The client receives a part while the next is read.
//! With structured replies an error in a later part ends the reply like any other error. A simple reply
//! promises all data in its header: it is assembled as a whole if the budget has room, and otherwise read
//! twice, first to check that it can be read.

use std::{sync::atomic::Ordering::Relaxed, time::Instant};

use thermocline_nbd::{Command, Request};

use super::{Connection, End, lock, note_due, serve::Desk, wait::Waiting};
use crate::{
    budget::{LARGE, SMALL},
    counters::Kind,
    device::{Fault, Piece},
    pace::Pace,
};

/// Bytes of a long read that are read at a time, with a lease: they stay in the processor's cache until they
/// are sent.
const PART: usize = 128 << 10;

impl Connection<'_> {
    /// Takes a write that does not fit the buffer to the device as it comes, cut between pages.
    pub(super) fn write_as_it_comes(
        &mut self,
        request: &Request,
        began: Instant,
    ) -> Result<(), End> {
        let page = u64::from(self.device.page_size());
        let (mut at, mut left) = (request.offset, u64::from(request.payload));
        let kind = Kind::from(request.command);
        self.counters.of(kind).begun.add(1);
        self.begun[kind as usize] += 1;
        let refused = self.agreed.check(request).err();
        let stopping = self.shared.stopping.load(Relaxed);
        let (mut done, mut due) = (if stopping { Err(Fault::ShuttingDown) } else { Ok(()) }, 0);
        while left > 0 {
            let here = (self.wire.input.pending().len() as u64).min(left);
            // Whole pages, except at the end; refused data are only drained from the stream.
            let is_written = refused.is_none() && done.is_ok();
            let end =
                if here == left || !is_written { at + here } else { (at + here) / page * page };
            let take = end.saturating_sub(at);
            if take > 0 {
                if is_written {
                    let bytes = &self.wire.input.pending()[..take as usize];
                    let piece = if at == request.offset { Piece::First } else { Piece::More };
                    done = self.device.lock().and_then(|mut held| {
                        held.write_piece(at, bytes, piece)?;
                        due = self.device.pace().map_or(0, Pace::answered).max(due);
                        Ok(())
                    });
                }
                self.wire.input.consume(take as usize);
                (at, left) = (end, left - take);
                continue;
            }
            if !self.wire.output.is_empty() {
                // The client may wait for it.
                self.begun[kind as usize] -= 1;
                self.answer(began)?;
                self.begun[kind as usize] += 1;
            }
            self.receive((page.min(left) as usize).max(here as usize + 1), Waiting::Request)?;
        }
        let mut desk = self.desk();
        match (refused, done) {
            (Some(refusal), _) => desk.agreed.reply_refusal(request, &refusal, desk.output),
            (None, Ok(())) => {
                desk.count_bytes(request.command, request.length);
                desk.done(request);
            }
            (None, Err(fault)) => desk.refuse(request, &fault),
        }
        if self.device.pace().is_some() {
            note_due(due, &mut self.dues, self.wire.output.len(), kind);
        }
        Ok(())
    }

    /// Answers a read whose reply does not fit the output.
    pub(super) fn read_as_it_goes(&mut self, request: &Request, began: Instant) -> Result<(), End> {
        self.counters.of(Kind::Read).begun.add(1);
        self.begun[Kind::Read as usize] += 1;
        if self.agreed.can_fail_late(request) {
            return self.read_in_parts(request, began);
        }
        let Some(whole) = self.shared.budget.lease(request.length as usize) else {
            return match self.can_be_read(request) {
                Ok(()) => self.read_in_parts(request, began),
                Err(fault) => {
                    self.desk().refuse(request, &fault);
                    self.answer(began)
                }
            };
        };
        match lock(self.shared, self.device, true) {
            Ok(mut held) => self.desk().read(request, &mut held),
            Err(fault) => self.desk().refuse(request, &fault),
        }
        self.note_due();
        self.answer(began)?;
        self.wire.output.release(self.part());
        drop(whole);
        Ok(())
    }

    /// Bytes that wait to be sent before more is read.
    fn part(&self) -> usize {
        if self.lease.is_some() { LARGE } else { SMALL }
    }

    fn read_in_parts(&mut self, request: &Request, began: Instant) -> Result<(), End> {
        let (mut at, end) = (request.offset, request.offset + request.length);
        let page = u64::from(self.device.page_size());
        let part = (PART.min(self.part()) as u64).max(page);
        while at < end {
            let next = ((at + part) / page * page).min(end);
            let is_first = at == request.offset;
            let held = if is_first {
                lock(self.shared, self.device, true)
            } else {
                self.device.lock_to_read()
            };
            let read = held.and_then(|mut held| {
                if is_first {
                    held.begin_read(at, request.length)?;
                }
                let reply =
                    self.agreed.reply_read_part(request, at, next - at, &mut self.wire.output);
                Ok(Desk::fill(reply, &mut held))
            });
            match read {
                Ok(Ok(())) => {}
                // The part was taken back, and an error stands in its place where one can be sent.
                Ok(Err((fault, is_told))) => {
                    self.desk().note_failed_read(request, &fault);
                    if !is_told {
                        return Err(End::Broken(fault));
                    }
                    break;
                }
                Err(fault) if is_first || self.agreed.can_fail_late(request) => {
                    self.desk().refuse(request, &fault);
                    break;
                }
                Err(fault) => return Err(End::Broken(fault)),
            }
            at = next;
            if at < end {
                self.wire.send_now().map_err(|e| self.ended(e))?;
                self.counters.sends.add(1);
                if self.wire.output.len() >= self.part() {
                    self.send()?;
                }
            } else {
                self.desk().count_bytes(Command::Read, request.length);
            }
        }
        self.note_due();
        self.answer(began)
    }

    /// Reads all data and discards them.
    fn can_be_read(&self, request: &Request) -> Result<(), Fault> {
        let (mut at, end) = (request.offset, request.offset + request.length);
        let page = u64::from(self.device.page_size());
        let mut scratch = vec![0; SMALL.max(page as usize)];
        let mut held = lock(self.shared, self.device, true)?;
        while at < end {
            let most = (scratch.len() as u64 / page) as u32;
            let (has_data, bytes) = held.run(at, end - at, most);
            if has_data {
                held.read_more(at, &mut scratch[..bytes as usize])?;
            }
            at += bytes;
            held.pause()?;
        }
        Ok(())
    }

    fn note_due(&mut self) {
        if let Some(pace) = self.device.pace() {
            note_due(pace.answered(), &mut self.dues, self.wire.output.len(), Kind::Read);
        }
    }
}
