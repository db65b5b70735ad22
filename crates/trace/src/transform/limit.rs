//! Ends a trace early.

use crate::{Contents, Request, Source, TraceError};

/// Delivers only the first requests.
pub struct Limit<S> {
    source: S,
    left: u64,
    /// Whether the last batch came from the source.
    asked: bool,
}

impl<S: Source> Limit<S> {
    /// Delivers at most `requests` of `source`.
    pub fn new(source: S, requests: u64) -> Self {
        Limit { source, left: requests, asked: false }
    }
}

impl<S: Source> Source for Limit<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        let limit = limit.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        batch.clear();
        self.asked = limit > 0;
        if self.asked {
            self.source.next_batch(batch, limit)?;
            self.left -= batch.len() as u64;
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        self.source.volumes()
    }

    fn contents(&self) -> &Contents {
        if self.asked { self.source.contents() } else { Contents::NONE }
    }

    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        self.source.volume_bytes(volume)
    }
}
