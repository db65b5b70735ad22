//! Finds the device that explains a drive's measurements: its over-provisioning, the number of its
//! superblocks, the overhead that it programs beside its pages, and the family of its translation
//! layer.
//!
//! A candidate is simulated under the workload of each measurement, on a scaled-down device with as
//! many superblocks and fewer pages in each. [`curve`] compares host writes and flash programs over
//! the whole run. `search` finds the over-provisioning of each family by a coarse grid and then by
//! narrowing, then the number of superblocks of the best families. `next` finds the measurement
//! that would distinguish the remaining candidates.
//!
//! Invariants:
//! - One seed gives one result on any number of threads.
//! - A search that is stopped returns what it has, as soon as there is anything.

mod cache;
pub mod curve;
mod family;
mod found;
mod minimum;
mod model;
mod next;
pub mod page;
mod run;
mod search;
mod settings;

pub use family::{Family, families};
pub use found::{Fit, Identified, Ranked, RunFit};
pub use model::Model;
pub use next::Next;
pub use run::{MeasuredRun, RunInput};
pub use search::{Simulated, identify, simulate};
pub use settings::{Settings, scale};
