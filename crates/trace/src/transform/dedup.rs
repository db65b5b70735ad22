//! Removes requests that were recorded several times.

use super::retain::retain_batch;
use crate::{Contents, Op, Request, Source, TraceError};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

type Key = (u32, Op, u64, u64);

/// Drops a request equal in volume, operation, offset and length to one delivered within a window.
///
/// Recorders that hook several layers, or log both queueing and dispatch, list one request several
/// times. The window counts from the request that was kept, so that a page rewritten repeatedly at
/// short intervals does not vanish completely. Memory is that of the requests within a window.
pub struct Dedup<S> {
    source: S,
    recent: Recent,
    dropped: u64,
    contents: Contents,
}

struct Recent {
    window_ns: u64,
    kept: FxHashMap<Key, u64>,
    order: VecDeque<(u64, Key)>,
}

impl Recent {
    fn keep(&mut self, request: &Request) -> bool {
        let now = request.time_ns;
        while let Some(&(time, key)) = self.order.front() {
            if now.saturating_sub(time) <= self.window_ns {
                break;
            }
            self.order.pop_front();
            if self.kept.get(&key) == Some(&time) {
                self.kept.remove(&key);
            }
        }
        let key = (request.volume, request.op, request.offset, request.len);
        if self.kept.get(&key).is_some_and(|then| now.abs_diff(*then) <= self.window_ns) {
            return false;
        }
        self.kept.insert(key, now);
        self.order.push_back((now, key));
        true
    }
}

impl<S: Source> Dedup<S> {
    /// Drops duplicates within `window_ns` nanoseconds.
    pub fn new(source: S, window_ns: u64) -> Self {
        let recent = Recent { window_ns, kept: FxHashMap::default(), order: VecDeque::new() };
        Dedup { source, recent, dropped: 0, contents: Contents::default() }
    }

    /// Number of requests dropped so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl<S: Source> Source for Dedup<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        let (recent, dropped) = (&mut self.recent, &mut self.dropped);
        retain_batch(&mut self.source, batch, limit, &mut self.contents, |request| {
            let keep = recent.keep(request);
            *dropped += u64::from(!keep);
            keep
        })
    }

    fn volumes(&self) -> &[String] {
        self.source.volumes()
    }

    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        self.source.volume_bytes(volume)
    }
}
