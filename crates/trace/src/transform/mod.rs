//! Transformations: sources around sources.
//!
//! Each streams, and keeps no more than its window. They compose in any order, but mind what each
//! sees: `Rebase` after `SelectVolumes` starts at the first request of the chosen volume.

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

use crate::{Request, Source, TraceError};

/// Takes batches from `source` until one keeps a request, lest an empty one be taken for the end.
fn retain_batch(
    source: &mut impl Source,
    batch: &mut Vec<Request>,
    limit: usize,
    mut keep: impl FnMut(&Request) -> bool,
) -> Result<(), TraceError> {
    loop {
        source.next_batch(batch, limit)?;
        if batch.is_empty() {
            return Ok(());
        }
        batch.retain(&mut keep);
        if !batch.is_empty() {
            return Ok(());
        }
    }
}
