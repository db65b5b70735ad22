//! Replays a trace several times.

use crate::{Contents, Request, Source, TraceError};

/// Opens a source `times` times, one after another.
///
/// Each pass begins at the latest time of the one before it: its first request arrives at that
/// time, the others at their distance from it.
pub struct Repeat<S, F> {
    open: F,
    source: Option<S>,
    /// Number of passes not yet opened.
    left: u64,
    /// Time of the first request in the current pass, before and after the shift.
    origin: Option<(u64, u64)>,
    end_ns: u64,
    opened_before: bool,
    pass_was_empty: bool,
    volumes: Vec<String>,
}

impl<S: Source, F: FnMut() -> Result<S, TraceError>> Repeat<S, F> {
    /// Repeats the result of `open`; 0 times is an empty source.
    pub fn new(open: F, times: u64) -> Self {
        Repeat {
            open,
            source: None,
            left: times,
            origin: None,
            end_ns: 0,
            opened_before: false,
            pass_was_empty: false,
            volumes: Vec::new(),
        }
    }

    fn stamp(&mut self, batch: &mut [Request]) {
        let Some(first) = batch.first() else { return };
        let (from, to) = *self.origin.get_or_insert((first.time_ns, self.end_ns));
        for request in batch {
            let before = from.saturating_sub(request.time_ns);
            let after = request.time_ns.saturating_sub(from);
            request.time_ns = to.saturating_add(after).saturating_sub(before);
            self.end_ns = self.end_ns.max(request.time_ns);
        }
    }
}

impl<S: Source, F: FnMut() -> Result<S, TraceError>> Source for Repeat<S, F> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        loop {
            let Some(source) = &mut self.source else {
                // A trace without requests stays empty however often it is repeated.
                if self.left == 0 || self.pass_was_empty {
                    return Ok(());
                }
                self.left -= 1;
                // The first pass keeps its times.
                self.origin = (!self.opened_before).then_some((0, 0));
                self.opened_before = true;
                self.pass_was_empty = true;
                self.source = Some((self.open)()?);
                continue;
            };
            source.next_batch(batch, limit)?;
            let names = source.volumes();
            if names.len() > self.volumes.len() {
                self.volumes.extend_from_slice(&names[self.volumes.len()..]);
            }
            if !batch.is_empty() {
                self.pass_was_empty = false;
                self.stamp(batch);
                return Ok(());
            }
            self.source = None;
        }
    }

    fn volumes(&self) -> &[String] {
        &self.volumes
    }

    fn contents(&self) -> &Contents {
        self.source.as_ref().map_or(Contents::NONE, Source::contents)
    }
}
