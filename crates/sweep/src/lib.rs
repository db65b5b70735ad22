//! Many simulations: the base of `thermocline sweep`, `compare --per-volume` and `reproduce`.
//!
//! A [`Grid`] is settings by name with lists of values; its [`Cell`]s are single simulations. The
//! [`Digest`](digest) of a cell covers everything that its result depends on, and the [`Store`] keeps
//! results by it, so that no cell is computed twice. [`run_all`] runs the caller's [`Job`]s on all
//! cores and reads each input once. A [`Table`] has a row for each cell. [`Volumes`] splits a trace,
//! and [`fleet`] sums up the results of its volumes.
//!
//! Invariants:
//! - The order of rows is that of the grid, whatever ran first.
//! - A result in the store is whole, or it is not there.
//! - An input is in memory only while jobs that need it run.

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod digest;
mod file;
pub mod fleet;
mod grid;
mod run;
mod settings;
mod shard;
mod store;
mod table;
mod until;
mod values;
mod volumes;

pub use file::read_file;
pub use grid::{Axis, Cell, Grid};
pub use run::{Job, Work, run_all};
pub use settings::{Setting, Settings, quoted, typed};
pub use shard::Shard;
pub use store::Store;
pub use table::{Column, Table, csv_line};
pub use until::{Bisection, Condition, Found};
pub use values::{Values, listed};
pub use volumes::{Volume, VolumeSource, Volumes};
