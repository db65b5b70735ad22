//! Reads several files as one trace, merged by time.

use super::{
    context::Context,
    decode::{Decode, FULL},
};
use crate::{Contents, Request, TraceError};

/// Number of requests read ahead from each file.
const AHEAD: usize = 4096;

/// Merges traces that share a clock, such as the files of each processor or volume. Requests with
/// equal times keep the order of the files.
pub(crate) struct Merge {
    parts: Vec<Part>,
    contents: Contents,
}

struct Part {
    source: Box<dyn Decode>,
    ahead: Vec<Request>,
    next: usize,
    /// Returned after the requests in `ahead`.
    error: Option<TraceError>,
    ended: bool,
    /// Whether some of the requests in `ahead` may have contents.
    known: bool,
}

impl Merge {
    pub(crate) fn new(sources: Vec<Box<dyn Decode>>) -> Merge {
        let part = |source| Part {
            source,
            ahead: Vec::new(),
            next: 0,
            error: None,
            ended: false,
            known: false,
        };
        Merge { parts: sources.into_iter().map(part).collect(), contents: Contents::default() }
    }
}

impl Part {
    /// The next request; `None` at the end.
    #[inline]
    fn peek(&mut self, cx: &mut Context) -> Result<Option<Request>, TraceError> {
        if self.next == self.ahead.len() {
            self.refill(cx)?;
        }
        Ok(self.ahead.get(self.next).copied())
    }

    fn refill(&mut self, cx: &mut Context) -> Result<(), TraceError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.ahead.clear();
        self.next = 0;
        if self.ended {
            return Ok(());
        }
        if let Err(error) = self.source.decode(cx, &mut self.ahead, AHEAD) {
            self.ended = true;
            if self.ahead.is_empty() {
                return Err(error);
            }
            self.error = Some(error);
        } else {
            self.ended = self.ahead.len() < AHEAD && !self.source.is_full();
        }
        self.known = !self.source.contents().is_empty();
        Ok(())
    }
}

impl Decode for Merge {
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        self.contents.clear();
        while out.len() < limit && !self.is_full() {
            let mut first: Option<(usize, Request)> = None;
            for (index, part) in self.parts.iter_mut().enumerate() {
                if let Some(request) = part.peek(cx)?
                    && first.is_none_or(|(_, other)| request.time_ns < other.time_ns)
                {
                    first = Some((index, request));
                }
            }
            let Some((index, request)) = first else { break };
            let part = &mut self.parts[index];
            if part.known
                && let Some(bytes) = part.source.contents().of(part.next)
            {
                self.contents.push(out.len(), bytes);
            }
            out.push(request);
            part.next += 1;
        }
        Ok(())
    }

    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn is_full(&self) -> bool {
        self.contents.len_bytes() >= FULL
    }
}
