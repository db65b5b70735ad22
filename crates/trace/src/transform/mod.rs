//! Transformations: sources that wrap sources.
//!
//! Each is a stream that stores no more than its window. They compose in any order, but each sees
//! the output of the one inside it: `Rebase` after `SelectVolumes` starts at the first request of
//! the chosen volume.
//!
//! All but [`SortWindow`] and [`Footprint`] pass on the data of requests.

mod dedup;
mod footprint;
mod hint;
mod join;
mod limit;
mod ops;
pub(crate) mod pages;
mod rebase;
mod repeat;
mod retain;
mod sample;
mod select;
mod shift;
mod sort;

pub use dedup::Dedup;
pub use footprint::{Access, DenseIndex, Footprint};
pub use hint::{HintRule, Hints};
pub use join::JoinVolumes;
pub use limit::Limit;
pub use ops::{KeepOps, OpSet};
pub use pages::touched as pages_touched;
pub use rebase::Rebase;
pub use repeat::Repeat;
pub use sample::PageSample;
pub use select::SelectVolumes;
pub use shift::{Shift, ShiftBy};
pub use sort::{SortWindow, Window};
