//! Which device explains what was measured of a drive: its over-provisioning, the number of its superblocks, what it
//! programs beside its pages, and the family of its translation layer.
//!
//! A candidate is simulated under the workload of each measurement, on a scaled-down device: as many superblocks,
//! fewer pages in each. [`curve`] compares what the host wrote and what was programmed, over the whole run.
//! `search` finds the over-provisioning by a coarse grid and then by narrowing for each family, then the
//! number of superblocks of the best ones. `next` finds the measurement that would tell apart what is left.
//!
//! Invariants:
//! - One seed gives one result on any number of threads.
//! - A search that is stopped gives what it has, as soon as there is anything.

pub mod curve;
mod family;
mod minimum;
mod model;
mod next;
pub mod page;
mod run;
mod search;

pub use family::{Family, families};
pub use model::Model;
pub use next::Next;
pub use run::{MeasuredRun, RunInput};
pub use search::{Fit, Identified, Ranked, RunFit, Settings, Simulated, identify, scale, simulate};
