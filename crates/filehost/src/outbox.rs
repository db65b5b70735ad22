//! Requests waiting to be sent, some with contents.

use std::collections::VecDeque;
use thermocline_trace::{Contents, Request};

/// A queue of requests. Contents are consecutive in one buffer.
#[derive(Default)]
pub(crate) struct Outbox {
    requests: VecDeque<(Request, bool)>,
    bytes: Vec<u8>,
    /// Number of bytes of `bytes` already moved out.
    taken: usize,
}

impl Outbox {
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Appends a request without contents.
    pub fn push(&mut self, request: Request) {
        self.requests.push_back((request, false));
    }

    /// Appends a request with its contents, sector by sector.
    pub fn push_with<'a>(&mut self, request: Request, sectors: impl Iterator<Item = &'a [u8]>) {
        sectors.for_each(|sector| self.bytes.extend_from_slice(sector));
        self.requests.push_back((request, true));
    }

    /// Moves up to `limit` requests out.
    pub fn take(&mut self, batch: &mut Vec<Request>, contents: &mut Contents, limit: usize) {
        while batch.len() < limit
            && let Some((request, known)) = self.requests.pop_front()
        {
            if known {
                let end = self.taken + request.len as usize;
                contents.push(batch.len(), &self.bytes[self.taken..end]);
                self.taken = end;
            }
            batch.push(request);
        }
        self.bytes.drain(..self.taken);
        self.taken = 0;
    }
}
