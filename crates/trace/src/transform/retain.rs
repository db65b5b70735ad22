//! Keeps some requests of a batch with their contents.

use crate::{Contents, Request, Source, TraceError};

/// Takes batches from `source` until a request is kept, because an empty batch would mean the end.
/// The contents of kept requests go to `contents`.
pub(super) fn retain_batch(
    source: &mut impl Source,
    batch: &mut Vec<Request>,
    limit: usize,
    contents: &mut Contents,
    mut keep: impl FnMut(&Request) -> bool,
) -> Result<(), TraceError> {
    contents.clear();
    loop {
        source.next_batch(batch, limit)?;
        if batch.is_empty() {
            return Ok(());
        }
        retain(batch, source.contents(), contents, &mut keep);
        if !batch.is_empty() {
            return Ok(());
        }
    }
}

/// Keeps some requests of a batch with their contents.
pub(super) fn retain(
    batch: &mut Vec<Request>,
    known: &Contents,
    contents: &mut Contents,
    mut keep: impl FnMut(&Request) -> bool,
) {
    if known.is_empty() {
        return batch.retain(keep);
    }
    let (mut before, mut after) = (0, 0);
    batch.retain(|request| {
        let kept = keep(request);
        if kept {
            if let Some(bytes) = known.of(before) {
                contents.push(after, bytes);
            }
            after += 1;
        }
        before += 1;
        kept
    });
}
