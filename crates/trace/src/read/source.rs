//! Reads the requests of a source like those of a file.

use super::{context::Context, decode::Decode};
use crate::{Request, Source, TraceError};

/// A source, with the indices of its volumes in this trace.
pub(super) struct Requests<S> {
    source: S,
    volumes: Vec<u32>,
    ended: bool,
}

impl<S: Source> Requests<S> {
    pub(super) fn new(source: S) -> Self {
        Self { source, volumes: Vec::new(), ended: false }
    }
}

impl<S: Source + Send> Decode for Requests<S> {
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        let mut batch = Vec::new();
        while out.len() < limit && !self.ended {
            self.source.next_batch(&mut batch, limit - out.len())?;
            self.ended = batch.is_empty();
            for volume in self.volumes.len()..self.source.volumes().len() {
                self.volumes.push(cx.volumes.named(self.source.volumes()[volume].as_bytes()));
            }
            for request in &batch {
                let volume = self.volumes.get(request.volume as usize).copied();
                let volume = volume.unwrap_or_else(|| cx.volumes.named(b"0"));
                out.push(Request { volume, ..*request });
            }
        }
        Ok(())
    }
}
