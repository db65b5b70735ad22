//! Makes a trace begin at time 0.

use crate::{Contents, Request, Source, TraceError};

/// Subtracts the first request's time from all. Earlier requests get time 0.
pub struct Rebase<S> {
    source: S,
    origin_ns: Option<u64>,
}

impl<S: Source> Rebase<S> {
    /// Rebases `source`.
    pub fn new(source: S) -> Self {
        Rebase { source, origin_ns: None }
    }
}

impl<S: Source> Source for Rebase<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        self.source.next_batch(batch, limit)?;
        if let Some(first) = batch.first() {
            let origin = *self.origin_ns.get_or_insert(first.time_ns);
            for request in batch {
                request.time_ns = request.time_ns.saturating_sub(origin);
            }
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        self.source.volumes()
    }

    fn contents(&self) -> &Contents {
        self.source.contents()
    }

    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        self.source.volume_bytes(volume)
    }
}
