//! Transformations: sources around sources.
//!
//! Each streams, and keeps no more than its window. They compose in any order, but mind what each
//! sees: `Rebase` after `SelectVolumes` starts at the first request of the chosen volume.
//!
//! All but [`SortWindow`] and [`Footprint`] pass on what requests wrote and read.

mod dedup;
mod footprint;
mod join;
mod limit;
mod ops;
pub(crate) mod pages;
mod rebase;
mod repeat;
mod select;
mod shift;
mod sort;

pub use dedup::Dedup;
pub use footprint::{Access, DenseIndex, Footprint};
pub use join::JoinVolumes;
pub use limit::Limit;
pub use ops::{KeepOps, OpSet};
pub use rebase::Rebase;
pub use repeat::Repeat;
pub use select::SelectVolumes;
pub use shift::{Shift, ShiftBy};
pub use sort::{SortWindow, Window};

use crate::{Contents, Request, Source, TraceError};

/// Takes batches from `source` until one keeps a request, lest an empty one be taken for the end.
/// The contents of those that are kept go to `contents`.
fn retain_batch(
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

/// Keeps some requests of a batch, and their contents.
fn retain(
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
