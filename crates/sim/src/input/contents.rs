//! The contents known from a trace, kept while it is read.

use std::{
    collections::HashSet,
    io::{BufWriter, Write},
};

use thermocline_trace::{Op, Request};

use super::spool::{Spool, spool_error};
use crate::SimError;

/// The contents known from a trace, while it is read.
pub(super) struct Contents {
    page: u64,
    /// Number of the request, bytes before the data in the first page, length, bytes.
    pub out: BufWriter<Spool>,
    /// Number of requests with known written contents.
    pub requests: u64,
    /// Pages read before they were written, with the contents found.
    pub found: Vec<(u32, Box<[u8]>)>,
    /// Pages whose initial content is settled, because they were read or written.
    settled: HashSet<u64>,
}

impl Contents {
    pub(super) fn new(page: u64) -> Result<Self, SimError> {
        let out = BufWriter::with_capacity(1 << 20, Spool::create()?);
        Ok(Self { page, out, requests: 0, found: Vec::new(), settled: HashSet::new() })
    }

    /// Records a batch that follows this many requests.
    pub(super) fn note(
        &mut self,
        batch: &[Request],
        contents: &thermocline_trace::Contents,
        before: u64,
    ) -> Result<(), SimError> {
        if contents.is_empty() && self.requests == 0 && self.found.is_empty() {
            return Ok(());
        }
        for (i, request) in batch.iter().enumerate() {
            match (request.op, contents.of(i)) {
                (Op::Write, bytes) => {
                    let end = request.offset.saturating_add(request.len);
                    self.settled.extend(request.offset / self.page..end.div_ceil(self.page));
                    if let Some(bytes) = bytes {
                        self.write(before + i as u64, request.offset % self.page, bytes)?;
                    }
                }
                (Op::Read, Some(bytes)) => self.find(request.offset, bytes),
                _ => {}
            }
        }
        Ok(())
    }

    fn write(&mut self, request: u64, skip: u64, bytes: &[u8]) -> Result<(), SimError> {
        for word in [request, skip, bytes.len() as u64] {
            self.out.write_all(&word.to_le_bytes()).map_err(spool_error)?;
        }
        self.requests += 1;
        self.out.write_all(bytes).map_err(spool_error)
    }

    /// Records whole pages that were read. Zeros are skipped, because blank pages read as zeros.
    fn find(&mut self, offset: u64, bytes: &[u8]) {
        let first = offset.div_ceil(self.page);
        let Some(bytes) = bytes.get((first * self.page - offset) as usize..) else { return };
        for (number, page) in (first..).zip(bytes.chunks_exact(self.page as usize)) {
            if page.iter().any(|byte| *byte != 0)
                && self.settled.insert(number)
                && let Ok(number) = u32::try_from(number)
            {
                self.found.push((number, page.into()));
            }
        }
    }
}
